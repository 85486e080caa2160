"""A run keeps its own summary while it trains, and goes on with it when it is resumed."""

from __future__ import annotations

from pathlib import Path

from engine.events import Alert, Eval, Event, EventWriter, ModelInfo, Start
from engine.events.summary import RunSummary, summary_of_text
from engine.rundir import RunDir
from engine.session.summary import INTERVAL_SECONDS, SummaryWriter
from tests.pgs_tui.making import step

START = Start(run="r", command="", config="c", model=ModelInfo(name="m", params=1, trainable=1), device="cpu")


class Engine:
    """Tells its events to the log and then to the summary, at times of the test's choice."""

    def __init__(self, folder: Path) -> None:
        self.run = RunDir(folder)
        self.now = 1000.0
        self.writer = SummaryWriter(self.run, lambda: self.now, lambda: self.now)
        self.events = EventWriter(self.run.events, lambda: self.now)

    def emit(self, *events: Event) -> None:
        for event in events:
            self.events.write(event)
            self.writer(event)

    @property
    def written(self) -> RunSummary | None:
        path = self.run.path / "summary.json"
        return summary_of_text(path.read_bytes()) if path.exists() else None


def test_it_is_written_at_once_where_that_matters_and_else_now_and_then(tmp_path: Path) -> None:
    engine = Engine(tmp_path)
    engine.emit(START, step(1), step(2))
    assert engine.written is not None and engine.written.step is None
    engine.now += INTERVAL_SECONDS
    engine.emit(step(3))
    assert engine.written.step == 3
    engine.emit(step(4), Eval(step=4, loss=1.5))
    assert engine.written.eval_loss == 1.5 and engine.written.log_bytes == engine.run.events.stat().st_size


def test_the_next_process_goes_on_where_the_log_ends(tmp_path: Path) -> None:
    first = Engine(tmp_path)
    first.emit(START, step(1, 3.0), step(2, 2.0))  # the summary ends before the steps
    second = Engine(tmp_path)
    second.emit(START, step(3, 2.5))
    assert (second.written is not None and (second.written.step, second.written.best) == (None, None)) or second.written
    second.emit(Eval(step=3, loss=2.9))
    assert second.written is not None and second.written.lows == ((1, 3.0), (2, 2.0)) and second.written.step == 3


def test_a_log_that_was_emptied_and_a_summary_that_is_none_begin_anew(tmp_path: Path) -> None:
    Engine(tmp_path).emit(START, step(1, 0.5), Eval(step=1, loss=0.4))
    (tmp_path / "events.jsonl").write_text("")
    (tmp_path / "summary.json").write_text('{"v": 1, "log_bytes": 99999}')
    engine = Engine(tmp_path)
    engine.emit(START, step(1, 3.0), Eval(step=1, loss=2.0))
    assert engine.written is not None and engine.written.best == (1, 2.0) and engine.written.lows == ((1, 3.0),)


def test_what_another_thread_tells_counts_too(tmp_path: Path) -> None:
    engine = Engine(tmp_path)
    lost = Alert(id="gpu", state="open", code="GPU_LOST", severity="critical", meaning="gone")
    engine.writer.note(lost)
    engine.emit(Eval(step=1, loss=2.0))
    assert engine.written is not None and engine.written.alerts == {"critical": 1}


def test_a_folder_that_cannot_be_written_ends_nothing(tmp_path: Path) -> None:
    engine = Engine(tmp_path)
    (tmp_path / "summary.json.tmp").mkdir()
    engine.emit(START, Eval(step=1, loss=2.0))
    assert engine.written is None

"""A log that is emptied, cut, replaced or written anew while somebody watches the run."""

from pathlib import Path

import pytest

from engine.events import Ack, Alert, Audit, AuditFlag, Checkpoint, Eval, Event, Gpu, Resume, Stamped, encode
from engine.rundir import RunDir
from pgs_tui.history.history import History
from pgs_tui.runs.follow import Follower
from pgs_tui.runs.source import LocalRun
from screens.dashboard.live import LiveRun
from tests.pgs_tui.making import ScriptedEngine, ScriptedLog, stamped, step
from tests.screens.scenes import START

NOTE = "log was emptied, reading from the start"
SPIKE = Alert(id="s", state="open", code="LOSS_SPIKE", severity="warning", meaning="far", step=2, metric="loss")
FLAG = AuditFlag(code="DUPLICATES", severity="warning", count=2, first_rows=(1,), message="twice")
RUN: tuple[Event, ...] = (
    START,
    Audit(flags=(FLAG,)),
    Eval(step=0, loss=3.0, seconds=5.0),
    step(1, 2.0),
    step(2, 9.0, rows=(7, 8)),
    SPIKE,
    Gpu(index=0, uuid="u", utilisation=90.0),
    Eval(step=2, loss=1.5, best=True, seconds=5.0),
    Checkpoint(step=2, path="c", bytes=9, seconds=4.0),
    Ack(id="ab", ok=True, message="done"),
    step(3, 1.8),
    step(4, 1.7),
)


class Watched:
    """A run's log that things happen to, and the dashboard's view of it."""

    def __init__(self, folder: Path) -> None:
        self.run = RunDir(folder)
        self.live = LiveRun(LocalRun(self.run, "a run"))
        self.notes: list[str] = []
        self._following = Follower.of(self.run)
        self._following._log, self._following._look = ScriptedLog(), ScriptedEngine().look

    def append(self, *told: Stamped) -> None:
        with self.run.events.open("ab") as file:
            file.write(b"".join(encode(one.event, one.t).encode() + b"\n" for one in told))

    def empty(self) -> None:
        self.run.events.write_bytes(b"")

    def look(self) -> History:
        while (updates := list(self._following.poll())) or self._following.pause == 0.0:
            for update in updates:
                self.live.take(update)
                self.notes += update.notes
        return self.live.history


@pytest.fixture
def watched(tmp_path: Path) -> Watched:
    watched = Watched(tmp_path)
    watched.append(*stamped(*RUN))
    watched.look()
    return watched


def losses(history: History) -> dict[int, float | None]:
    return {number: history.series["loss"].at(place) for place, number in enumerate(history.steps)}


def told(history: History) -> object:
    """All that must be the same however often it was told."""
    seconds = history.table.parts.seconds(history.steps, 0, len(history.steps))
    return (
        losses(history),
        [(one.step, one.loss) for one in history.evals.values()],
        history.best,
        history.incidents.all(),
        tuple(history.marks.between(0, 100)),
        {index: list(card.t) for index, card in history.cards.items()},
        seconds["eval"],
        seconds["checkpoint"],
        history.tokens,
        [list(history.positions(axis)) for axis in ("step", "tokens", "time", "epoch")],
        history.acks,
        history.superseded,
    )


def test_what_was_told_stays_and_what_comes_is_drawn_behind_it(watched: Watched) -> None:
    watched.empty()
    watched.append(*stamped(step(5, 1.6), step(6, 1.5), start=2000.0))
    history = watched.look()
    assert watched.notes == [NOTE]
    assert losses(history) == {1: 2.0, 2: 9.0, 3: 1.8, 4: 1.7, 5: 1.6, 6: 1.5}
    assert [one.code for one in watched.live.incidents()] == ["DUPLICATES", "LOSS_SPIKE"]
    assert history.best is not None and history.best.step == 2
    assert [mark.kind for mark in history.marks.at(2)] == ["spike", "best", "eval", "checkpoint"]


def test_an_emptied_log_in_which_nothing_stands_yet_changes_nothing(watched: Watched) -> None:
    before = told(watched.look())
    watched.empty()
    assert told(watched.look()) == before and watched.notes == [NOTE]


def test_a_line_that_is_no_more_is_not_read_from_what_stands_in_its_place(watched: Watched) -> None:
    at = watched.look().at(2)
    assert at is not None and at.rows == (7, 8)
    offset = watched.live.history.table.offsets[1]
    watched.empty()
    filling = len(encode(step(5, 1.6, rows=(1,)), 2000.0)) + 1
    with watched.run.events.open("ab") as file:
        file.write(b" " * (offset - filling - 1) + b"\n")
    watched.append(*stamped(step(5, 1.6, rows=(1,)), step(2, 9.0, rows=(66,)), start=2000.0))
    history = watched.look()
    assert history.table.offsets[0] == -1
    first, second = history.at(1), history.at(2)
    assert first is not None and (first.line, first.rows) == (None, None)
    assert second is not None and second.rows == (66,), "told anew"


def test_an_engine_that_resumes_into_an_emptied_log_goes_on_where_it_says(watched: Watched) -> None:
    watched.empty()
    watched.append(*stamped(START, Resume(from_step=2, checkpoint="c"), step(3, 1.75), step(4, 1.65), start=2000.0))
    history = watched.look()
    assert losses(history) == {1: 2.0, 2: 9.0, 3: 1.75, 4: 1.65}
    assert [mark.kind for mark in history.marks.at(2)][-2:] == ["eval", "checkpoint"]


def test_a_run_that_begins_at_its_first_step_again_takes_the_place_of_the_old_one(watched: Watched) -> None:
    watched.append(*stamped(Resume(from_step=3, checkpoint="c"), step(4, 1.69), start=1500.0))
    watched.look()
    watched.empty()
    watched.append(*stamped(START, step(1, 2.1), start=2000.0))
    history = watched.look()
    assert losses(history) == {1: 2.1}
    assert {mark.step for mark in history.marks.between(0, 100)} == {0}, "what was known before the first step"
    assert watched.live.incidents()[0].code == "DUPLICATES", "nothing of the log says that it is over"


def test_what_is_written_once_more_is_not_taken_in_twice(watched: Watched) -> None:
    before = told(watched.look())
    for _ in range(2):
        watched.empty()
        watched.look()
        watched.append(*stamped(*RUN))
        assert told(watched.look()) == before
    at = watched.live.history.at(2)
    assert at is not None and at.rows == (7, 8), "and its lines can be read back"


@pytest.mark.parametrize("place", range(1, len(RUN)))
def test_a_log_whose_older_lines_were_taken_out_is_not_taken_in_twice(watched: Watched, place: int) -> None:
    before = told(watched.look())
    watched.empty()
    watched.look()
    watched.append(*stamped(*RUN)[place:])
    assert told(watched.look()) == before


def test_what_was_drawn_stays_until_a_long_log_is_read_once_more(tmp_path: Path) -> None:
    watched = Watched(tmp_path)
    events = stamped(*(step(number) for number in range(1, 1001)))
    watched.append(*events)
    watched.look()
    watched.empty()
    watched.append(*events[:-1])
    for update in watched._following.poll():
        watched.live.take(update)
        assert len(watched.live.history.steps) == (1000 if update.loading else 999)


def test_another_log_with_older_events_takes_its_place(watched: Watched) -> None:
    other = watched.run.path / "other"
    other.write_bytes(
        b"".join(encode(one.event, one.t).encode() + b"\n" for one in stamped(START, step(1, 5.0), start=1.0))
    )
    other.replace(watched.run.events)
    history = watched.look()
    assert losses(history) == {1: 5.0} and watched.live.incidents() == ()
    assert "replaced by another file" in watched.notes[0]


def test_a_log_that_tells_of_steps_alone_is_that_of_a_run_that_trains(tmp_path: Path) -> None:
    """It was emptied before anybody looked."""
    watched = Watched(tmp_path)
    assert watched.live.status().state.endswith("starting")
    watched.append(*stamped(step(41, 1.6), step(42, 1.5)))
    watched.look()
    assert watched.live.status().state.endswith("training")

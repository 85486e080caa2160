"""`pgs monitor` of logs that are emptied, cut or written anew while they are followed."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from engine.events import Alert, Eval, Event, Phase, Resume, encode
from engine.monitoring.log_source import LogFile, LogSource
from engine.monitoring.run_source import RunSource
from engine.monitoring.source import Source
from engine.rundir import RunDir
from tests.monitoring.test_runs import start_of, step_of

NOTE = "log was emptied, reading from the start"
SPIKE = Alert(id="s", state="open", code="LOSS_SPIKE", severity="warning", meaning="far", step=2, metric="loss")
OVER = Alert(id="s", state="closed", code="LOSS_SPIKE", severity="warning", meaning="far", step=3, metric="loss")
RUN: tuple[Event, ...] = (
    start_of(),
    Phase(name="training"),
    step_of(1),
    step_of(2, 9.0),
    SPIKE,
    Eval(step=2, loss=1.5, best=True),
    step_of(3),
    OVER,
    step_of(4),
)


def lines_of(events: Sequence[Event], start: float = 1000.0) -> bytes:
    return b"".join(encode(event, start + place).encode() + b"\n" for place, event in enumerate(events))


def words_of(source: Source) -> list[str]:
    told = tuple(source.poll())
    return [one.words or f"{one.incident.code if one.incident else ''} {one.change}" for one in told]


def standing(source: Source) -> object:
    summary = source.summary
    return summary.last_step, summary.best, summary.skipped, summary.incidents.all(), summary.total_steps


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = RunDir(tmp_path).events
    path.write_bytes(lines_of(RUN))
    return path


@pytest.fixture
def source(log: Path) -> RunSource:
    source = RunSource(RunDir(log.parent), clock=lambda: 3000.0)
    list(source.poll())
    return source


def emptied(source: Source, log: Path) -> list[str]:
    log.write_bytes(b"")
    return words_of(source)


def test_what_is_known_of_a_run_stays_and_goes_on(source: RunSource, log: Path) -> None:
    before = standing(source)
    assert NOTE in emptied(source, log) and standing(source) == before
    log.write_bytes(lines_of([step_of(5), step_of(6)], 2000.0))
    words_of(source)
    summary = source.summary
    assert summary.last_step == 6 and summary.best is not None and summary.best.step == 2
    assert [one.code for one in summary.incidents.all()] == ["LOSS_SPIKE"]


@pytest.mark.parametrize("place", range(len(RUN)))
def test_what_a_log_tells_once_more_is_told_to_nobody(source: RunSource, log: Path, place: int) -> None:
    before = standing(source)
    emptied(source, log)
    log.write_bytes(lines_of(RUN[place:], 1000.0 + place))
    assert words_of(source) == [] and standing(source) == before


def test_a_run_that_begins_anew_in_the_same_log_is_told_as_going_back(source: RunSource, log: Path) -> None:
    emptied(source, log)
    log.write_bytes(lines_of([start_of(), step_of(1)], 2000.0))
    assert "continues after step 0" in words_of(source)
    assert source.summary.last_step == 1 and source.summary.best is None


def test_an_engine_that_resumes_into_an_emptied_log_goes_on(source: RunSource, log: Path) -> None:
    emptied(source, log)
    log.write_bytes(lines_of([start_of(), Resume(from_step=2, checkpoint="c"), step_of(3)], 2000.0))
    assert [words for words in words_of(source) if "continues" in words] == ["continues after step 2"]
    assert source.summary.last_step == 3 and source.summary.best is not None


def test_another_log_with_older_events_makes_void_what_is_known(source: RunSource, log: Path) -> None:
    (log.parent / "other").write_bytes(lines_of([start_of(), step_of(1)], 10.0))
    (log.parent / "other").replace(log)
    words_of(source)
    assert (source.summary.last_step, source.summary.incidents.all(), source.summary.best) == (1, (), None)


def console(steps: range, skipped: int = 0) -> str:
    return "".join(f"{'SPIKE SKIPPED ' * (step == skipped)}step={step} loss=2.0 lr=1e-05\n" for step in steps)


@pytest.mark.parametrize(("again", "skipped"), [(range(41, 43), 1), (range(1, 41), 0)])
def test_a_console_log_goes_on_or_begins_anew(tmp_path: Path, again: range, skipped: int) -> None:
    log = tmp_path / "train.log"
    log.write_text(console(range(1, 41), skipped=7))
    source = LogSource(LogFile(log), "train.log", follows=True)
    list(source.poll())
    assert source.summary.skipped == 1
    log.write_text(console(again))
    assert any("reading from the start" in words for words in words_of(source))
    assert (source.summary.last_step, source.summary.skipped) == (again[-1], skipped)

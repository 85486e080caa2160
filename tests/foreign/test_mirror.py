"""Training of another tool written as the log of a run."""

from __future__ import annotations

import math
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import pytest

from engine.events import Eval, Event, EventReader, Stamped, Step, encode
from engine.events.foreign.recognised import recognised
from engine.foreign.judged import ForeignEvents
from engine.foreign.lines import line_of, said_of
from pgs_tui.foreign.foreign_run import ForeignRun
from pgs_tui.runs.follow import Update
from tests.foreign.samples import BOARD, STATE, scalar

PATIENCE = 6.0
STEP = Step(step=3, epoch=0.5, loss=1.5, lr=1e-5, grad_norm=2.0, dt=1.0, tokens=5, slots=5, loss_tokens=0, tok_s=3.0)
UNTOLD = Step(
    step=4,
    epoch=math.nan,
    loss=math.inf,
    lr=math.nan,
    grad_norm=None,
    dt=math.nan,
    tokens=0,
    slots=0,
    loss_tokens=0,
    tok_s=math.nan,
)


@pytest.mark.parametrize("event", (STEP, UNTOLD, Eval(step=3, loss=1.0)))
@pytest.mark.parametrize("t", (1.0, 1796058081.449051))
def test_its_lines_are_those_of_the_encoder(event: Event, t: float) -> None:
    assert line_of(Stamped(t, event)) == encode(event, t)


def test_people_read_what_is_told_and_nothing_else() -> None:
    assert said_of(STEP) == "step=3  loss=1.5 lr=1e-05 tok/s=3 grad_norm=2 dt=1"
    assert said_of(UNTOLD) == "step=4  loss=inf"


def read_whole(source: ForeignRun) -> list[Update]:
    """All updates until what was there has been told."""
    follower, updates = source.follower(), []
    deadline = time.monotonic() + PATIENCE
    while not updates or updates[-1].loading:
        assert time.monotonic() < deadline, "it is not read"
        updates += follower.poll()
    follower.stop()
    return updates


def test_while_much_is_written_a_sample_is_shown_with_the_share(tmp_path: Path) -> None:
    lines = (f"step={step}  loss={2 + 1 / step:.4f} lr=1e-4 dt=0.5\n" for step in range(1, 12_001))
    (tmp_path / "train.log").write_text("".join(lines))
    source = ForeignRun(tmp_path / "train.log")
    updates = read_whole(source)
    assert any(0 < (update.progress or 0) < 1 for update in updates if update.loading)
    told = EventReader(source.run.events, chunk_bytes=2**30).poll().events
    times = [one.t for one in told if isinstance(one.event, Step)]
    assert len(times) == 12_000
    assert times == sorted(times)
    assert times[-1] == pytest.approx((tmp_path / "train.log").stat().st_mtime, abs=1.0)
    assert times[-1] - times[0] == pytest.approx(6_000, rel=0.01), "each took half a second, as its line says"
    source.close()


@pytest.mark.parametrize(
    ("line", "seconds"),
    (
        ("2026-01-01 10:{m:02d}:30,250 INFO train: step={n} loss=2.0", 60.0),
        ("[2026-01-01T10:{m:02d}:30Z] step={n} loss=2.0 dt=1s", 60.0),
        ("step={n} loss=2.0 dt=5s", 5.0),
        ("step={n} loss=2.0", 0.0),
        ('{{"step": {n}, "loss": 2.0, "timestamp": 17000000{m:02d}}}', 1.0),
    ),
)
def test_lines_of_the_past_lie_as_far_apart_as_the_log_says(line: str, seconds: float, tmp_path: Path) -> None:
    path = tmp_path / "train.log"
    path.write_text("".join(f"{line.format(n=n, m=n)}\n" for n in range(1, 11)))
    batch = ForeignEvents(recognised(path)).poll()
    times = [one.t for one in batch.events if isinstance(one.event, Step)]
    assert [after - before for before, after in pairwise(times)] == pytest.approx([seconds] * 9, abs=1e-5)
    newest = 1_700_000_010.0 if "timestamp" in line else path.stat().st_mtime
    assert times[-1] == pytest.approx(newest)


def test_where_there_are_no_lines_for_people_the_steps_are_some() -> None:
    source = ForeignRun(STATE)
    updates = read_whole(source)
    first = next(line for update in updates for line in update.log)
    assert first.startswith("step=2  loss=3.91 lr=0.0098")
    source.close()


class Told:
    """What a follower tells, until something has happened."""

    def __init__(self, source: ForeignRun) -> None:
        self.follower = source.follower()
        self.updates: list[Update] = []

    def until(self, happened: Callable[[], bool]) -> None:
        deadline = time.monotonic() + PATIENCE
        while not happened():
            assert time.monotonic() < deadline, "it has not happened"
            self.updates.extend(self.follower.poll())

    def until_trouble(self, is_there: bool) -> None:
        self.until(lambda: bool(self.updates and not self.last.loading and bool(self.last.trouble) == is_there))

    @property
    def last(self) -> Update:
        return self.updates[-1]

    @property
    def notes(self) -> list[str]:
        return [note for update in self.updates for note in (*update.notes, *update.log) if "from the start" in note]


@pytest.mark.parametrize("is_log", [False, True])
def test_what_vanishes_is_told_of_and_its_coming_back_too(tmp_path: Path, is_log: bool) -> None:
    path = tmp_path / "board"
    if is_log:
        path.write_text("step=1 loss=1.0\nstep=2 loss=1.0\n")
    else:
        path.mkdir()
        (path / "events.out.tfevents.1.box.1").write_bytes(scalar(1, "loss", 1.0) + scalar(2, "loss", 1.0))
    source = ForeignRun(path)
    told = Told(source)
    told.until_trouble(False)
    path.rename(tmp_path / "away")
    told.until_trouble(True)
    assert "No such file" in str(told.last.trouble)
    (tmp_path / "away").rename(path)
    told.until_trouble(False)
    told.follower.stop()
    source.close()


def test_that_a_log_was_emptied_is_said_once(tmp_path: Path) -> None:
    path = tmp_path / "train.log"
    path.write_text("".join(f"step={step} loss=1.0\n" for step in range(1, 9)))
    source = ForeignRun(path)
    told = Told(source)
    told.until_trouble(False)
    path.write_text("step=1 loss=7.0\n")
    told.until(lambda: any("loss=7.0" in line for update in told.updates for line in update.log))
    told.until(lambda: any(update.restarted for update in told.updates) and bool(told.notes))
    with path.open("a") as log:
        log.write("step=2 loss=6.0\n")
    told.until(lambda: any("loss=6.0" in line for update in told.updates for line in update.log))
    assert told.notes == ["log was emptied, reading from the start"]
    told.follower.stop()
    source.close()


def test_of_a_program_that_is_killed_no_folder_is_left(tmp_path: Path) -> None:
    program = f"""
import time
from pathlib import Path
from pgs_tui.foreign.foreign_run import ForeignRun
source = ForeignRun(Path({str(BOARD)!r}))
print(source.run.path, flush=True)
time.sleep(60)
"""
    environment = {**os.environ, "PYTHONPATH": str(Path.cwd()), "TMPDIR": str(tmp_path)}
    with subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, env=environment, text=True
    ) as process:
        assert process.stdout is not None
        folder = Path(process.stdout.readline().strip())
        assert folder.is_dir() and folder.is_relative_to(tmp_path)
        process.send_signal(signal.SIGKILL)
    deadline = time.monotonic() + PATIENCE
    while list(tmp_path.iterdir()):
        assert time.monotonic() < deadline, "the folder is still there"
        time.sleep(0.01)

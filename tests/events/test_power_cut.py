"""The power goes at any moment while events are written: what was flushed is there, and the log can be gone on with."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from engine.events import EventReader, EventWriter, Phase, Step
from tests.power_cut import Cut, Promise, Work, cuts_of, quick_folder, states_after

pytestmark = pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="needs Linux's /proc")
STEPS = 24
EVERY = 6
"""So many steps are told between two flushes, as between two checkpoints."""


def step(number: int) -> Step:
    about = {"lr": 1e-5, "grad_norm": 0.3, "dt": 0.5, "tok_s": 18.0, "tokens": 9, "slots": 9, "loss_tokens": 9}
    return Step(step=number, epoch=0.1, loss=1.0 + number, **about)  # type: ignore[arg-type]


def telling(log: Path, first: int) -> Work:
    """An engine's log: steps, flushed before each checkpoint, and closed at the end."""

    def work(promise: Callable[[Promise], None]) -> None:
        writer = EventWriter(log, now=lambda: 1.0)
        for number in range(first, first + STEPS):
            writer.write(step(number))
            if number % EVERY == 0:
                writer.flush_to_disk()
                promise(("told", number))
        writer.close()
        promise(("told", first + STEPS - 1))

    return work


def check_after_the_cut(log: Path, promised: list[Promise]) -> None:
    """All that was flushed is there in order, and nothing that never happened; what comes next is read too."""
    kept = max((number for _, number in promised), default=0)
    if kept:
        assert log.exists()
    writer = EventWriter(log, now=lambda: 2.0)
    writer.write(Phase(name="after the cut"))
    writer.close()
    batch = EventReader(log).poll()
    told = [stamped.event.step for stamped in batch.events if isinstance(stamped.event, Step)]
    assert told == list(range(1, len(told) + 1)) and len(told) >= kept
    assert batch.bad_lines <= 1
    last = batch.events[-1].event
    assert isinstance(last, Phase) and last.name == "after the cut"


@pytest.mark.parametrize("before", [0, 3], ids=["a new log", "a log that is gone on with"])
def test_a_power_cut_at_any_write_leaves_all_that_was_flushed(before: int) -> None:
    with quick_folder() as folder:
        log = folder / "run" / "events.jsonl"
        log.parent.mkdir()
        if before:
            earlier = EventWriter(log, now=lambda: 1.0)
            for number in range(1, before + 1):
                earlier.write(step(number))
            earlier.close()
        cuts = cuts_of(log.parent, telling(log, before + 1))
        states = sum(tried(cut, folder / str(number)) for number, cut in enumerate(cuts))
    assert len(cuts) > 2 * STEPS and states > 4 * STEPS, "the cuts went through all of it"


def tried(cut: Cut, folder: Path) -> int:
    """How many states there may be after the cut; the log can be read and gone on with in each."""
    count = 0
    for what, state in states_after(cut, folder):
        try:
            check_after_the_cut(state / "events.jsonl", cut.promised)
        except Exception as error:
            raise AssertionError(f"{what}; promised by then: {cut.promised}") from error
        count += 1
    return count

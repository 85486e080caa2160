"""The best checkpoint is kept beyond the count, and the display says so."""

from __future__ import annotations

from pathlib import Path

from engine.checkpoint.store import CheckpointStore
from engine.events import Checkpoint, End, Eval, Event, Resume
from engine.rundir import RunDir
from pgs_tui.runs.follow import Update
from tests.pgs_tui.making import stamped, step
from tests.screens.hosting import hosted
from tests.screens.scenes import START


def saved(store: CheckpointStore, run: RunDir, number: int, best: bool) -> list[Event]:
    """A step, its evaluation and its checkpoint, on the disk and as events."""
    path = store.save(number, lambda folder: (folder / "model.safetensors").write_bytes(b"w") and None, 1)
    if best:
        store.mark_best(path)
    told = Checkpoint(
        step=number,
        path=str(path.relative_to(run.path)),
        seconds=1.0,
        bytes=1,
        checkpoint_kind="best" if best else "step",
    )
    return [step(number, 2.0), Eval(step=number, loss=1.9 if best else 2.5, tokens=10, best=best), told]


async def test_k03_the_best_is_kept_beyond_the_count_and_the_display_says_so(tmp_path: Path) -> None:
    run = RunDir(tmp_path / "run")
    run.path.mkdir()
    store = CheckpointStore(run, keep=2)
    events: list[Event] = [START]
    for number in (850, 900, 950, 1000):
        events += saved(store, run, number, best=number == 850)
    assert {path.name for path in run.checkpoints.iterdir()} == {"best", "step-850", "step-950", "step-1000"}
    async with hosted(run.path) as (host, pilot):
        await host.deliver(pilot, Update(events=stamped(*events), life="live"))
        assert "best 1.900 @ 850 kept" in host.texts["loss"]
        over = End(status="finished", reason="all 1000 steps are done", exit_code=0, last_step=1000)
        await host.deliver(pilot, Update(events=stamped(over, start=5000.0), life="gone"))
        assert "best eval 1.900 at step 850, in checkpoints/best" in host.texts["banner"]
        assert "checkpoint checkpoints/step-1000" in host.texts["banner"]


async def test_k03_a_best_that_was_not_saved_is_not_said_to_be_kept(tmp_path: Path) -> None:
    run = RunDir(tmp_path / "run")
    run.path.mkdir()
    events = [START, step(20, 2.0), Eval(step=20, loss=1.9, tokens=10, best=True)]
    async with hosted(run.path) as (host, pilot):
        await host.deliver(pilot, Update(events=stamped(*events), life="live"))
        assert "best 1.900 @ 20" in host.texts["loss"] and "kept" not in host.texts["loss"]


async def test_after_a_resume_from_before_the_best_the_one_that_counts_is_told(tmp_path: Path) -> None:
    run = RunDir(tmp_path / "run")
    run.path.mkdir()
    store = CheckpointStore(run, keep=2)
    first = saved(store, run, 100, best=True)
    again = [Resume(from_step=50, checkpoint="checkpoints/step-50"), step(51, 2.0)]
    async with hosted(run.path) as (host, pilot):
        await host.deliver(pilot, Update(events=stamped(START, step(50, 2.0), *first, *again), life="live"))
        assert "kept" not in host.texts["loss"]

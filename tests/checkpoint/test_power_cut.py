"""The power goes at any moment of saving: a whole checkpoint is there, and the next start goes on from it."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from engine.checkpoint.store import CheckpointStore, find_checkpoint, is_complete, step_of
from engine.rundir import RunDir
from tests.power_cut import Cut, Promise, Work, cuts_of, quick_folder, states_after

pytestmark = pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="needs Linux's /proc")


def writes(step: int) -> Callable[[Path], None]:
    """A small checkpoint whose files say which step they are of."""

    def write(folder: Path) -> None:
        (folder / "model.safetensors").write_bytes(b"%04d" % step * 8)
        (folder / "trainer_state").mkdir()
        (folder / "trainer_state" / "progress.json").write_text(f"{step:04d}")

    return write


def is_whole(checkpoint: Path, step: int) -> bool:
    """All of it is there, byte for byte."""
    state = checkpoint / "trainer_state" / "progress.json"
    model = checkpoint / "model.safetensors"
    return is_complete(checkpoint) and state.read_text() == f"{step:04d}" and model.read_bytes() == b"%04d" % step * 8


def step_in(checkpoint: Path) -> int:
    return int((checkpoint / "trainer_state" / "progress.json").read_text())


def saving(run: RunDir) -> Work:
    """What a run does: saves, a new best, the same step once more after a resume, the end."""

    def work(promise: Callable[[Promise], None]) -> None:
        store = CheckpointStore(run, keep=1)
        store.save(200, writes(200), 100)
        promise(("newest", 200))
        store.mark_best(store.save(300, writes(300), 100))
        promise(("newest", 300))
        promise(("best", 300))
        store.save(300, writes(300), 100)
        store.save(400, writes(400), 100)
        promise(("newest", 400))
        final = store.save_final(writes(500), 100)
        promise(("final", 500))
        store.mark_best(final)
        promise(("best", 500))

    return work


def begun(folder: Path) -> RunDir:
    """A run with one checkpoint, the best one."""
    run = RunDir(folder / "run")
    run.path.mkdir()
    store = CheckpointStore(run, keep=1)
    store.mark_best(store.save(100, writes(100), 100))
    return run


def check_after_the_cut(run: RunDir, promised: list[Promise]) -> None:
    """What the next engine finds, and that it can go on and save."""
    kept = {"newest": 100, "best": 100, "final": 0} | dict(promised)
    store = CheckpointStore(run, keep=1)
    store.discard_leftovers()
    assert not [path.name for path in run.path.rglob(".*")]
    newest = store.newest()
    assert newest is not None and is_whole(newest, step_of(newest) or 0)
    assert (step_of(newest) or 0) >= kept["newest"]
    assert run.best.exists(), "the link to the best one leads nowhere"
    assert is_whole(run.best.resolve(), step_in(run.best)) and step_in(run.best) >= kept["best"]
    if kept["final"]:
        assert is_whole(run.final, 500)
    assert is_whole(find_checkpoint(run.path), step_in(find_checkpoint(run.path)))
    saved = store.save(600, writes(600), 100)
    store.mark_best(saved)
    assert store.newest() == saved and run.best.resolve() == saved.resolve()
    steps = [step for path in run.checkpoints.iterdir() if (step := step_of(path)) is not None]
    assert steps == [600], "nothing that is old, or half there, is left"


def test_a_power_cut_at_any_change_of_the_disk_leaves_a_whole_checkpoint(monkeypatch: pytest.MonkeyPatch) -> None:
    with quick_folder() as folder:
        run = begun(folder)
        cuts = cuts_of(run.path, saving(run))
        monkeypatch.setattr(os, "fsync", lambda descriptor: None)  # the real disk need not wait for what is tried now
        states = sum(tried(cut, folder / str(number)) for number, cut in enumerate(cuts))
    assert len(cuts) > 80 and states > 200, "the cuts went through all of it"


def tried(cut: Cut, folder: Path) -> int:
    """How many states there may be after the cut; the next engine can go on from each."""
    count = 0
    for what, state in states_after(cut, folder):
        try:
            check_after_the_cut(RunDir(state), cut.promised)
        except Exception as error:
            raise AssertionError(f"{what}; promised by then: {cut.promised}") from error
        count += 1
    shutil.rmtree(folder)
    return count

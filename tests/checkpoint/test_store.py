"""Complete or absent, newest by number, never an old one gone before a new one stands."""

import errno
import shutil
from collections import namedtuple
from pathlib import Path

import pytest

from engine.checkpoint.store import CheckpointStore, NotEnoughSpaceError, find_checkpoint, is_complete
from engine.errors import UserError
from engine.rundir import RunDir

Usage = namedtuple("Usage", "total used free")


def write(folder: Path) -> None:
    (folder / "model.safetensors").write_bytes(b"w" * 100)
    (folder / "trainer_state").mkdir()
    (folder / "trainer_state" / "progress.json").write_text("{}")


def half(folder: Path) -> None:
    (folder / "model.safetensors").write_bytes(b"w" * 50)
    raise OSError(errno.ENOSPC, "No space left on device")


def steps(run: RunDir) -> list[str]:
    return sorted(path.name for path in run.checkpoints.iterdir())


@pytest.fixture
def run(tmp_path: Path) -> RunDir:
    return RunDir(tmp_path)


def test_the_newest_by_number_are_kept(run: RunDir) -> None:
    store = CheckpointStore(run, keep=2)
    for step in (900, 950, 1000):
        store.save(step, write, 100)
    assert steps(run) == ["step-1000", "step-950"]
    newest = store.newest()
    assert newest is not None and newest.name == "step-1000"


def test_a_failed_save_leaves_the_old_one_and_nothing_half_written(run: RunDir) -> None:
    store = CheckpointStore(run, keep=1)
    store.save(1000, write, 100)
    with pytest.raises(NotEnoughSpaceError, match=r"step-1050 needs .* GiB"):
        store.save(1050, half, 100)
    assert steps(run) == ["step-1000"]


def test_space_is_checked_before_anything_is_written(run: RunDir, monkeypatch: pytest.MonkeyPatch) -> None:
    store = CheckpointStore(run, keep=1)
    store.save(100, write, 100)
    monkeypatch.setattr(shutil, "disk_usage", lambda path: Usage(2**40, 0, 6 * 2**30))

    def never(folder: Path) -> None:
        raise AssertionError("written without space")

    with pytest.raises(NotEnoughSpaceError, match=r"needs 10\.00 GiB, 6\.00 GiB are free"):
        store.save(200, never, 10 * 2**30)
    assert steps(run) == ["step-100"]


def test_the_best_one_stays_beyond_the_count(run: RunDir) -> None:
    store = CheckpointStore(run, keep=1)
    store.mark_best(store.save(1, write, 100))
    for step in (2, 3):
        store.save(step, write, 100)
    assert steps(run) == ["best", "step-1", "step-3"]
    assert not run.best.readlink().is_absolute() and run.best.resolve().name == "step-1"
    store.mark_best(run.checkpoints / "step-3")
    assert steps(run) == ["best", "step-3"]


def test_other_errors_leave_nothing_either(run: RunDir) -> None:
    def broken(folder: Path) -> None:
        (folder / "x").write_text("x")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        CheckpointStore(run, keep=1).save(1, broken, 100)
    assert steps(run) == []


def test_a_damaged_or_half_written_checkpoint_is_never_taken(run: RunDir) -> None:
    store = CheckpointStore(run, keep=3)
    for step in (1, 2, 3):
        store.save(step, write, 100)
    (run.checkpoints / "step-3" / "model.safetensors").write_bytes(b"cut")
    (run.checkpoints / "step-4").mkdir()
    write(run.checkpoints / "step-4")  # no manifest: it was never finished
    newest = store.newest()
    assert newest is not None and newest.name == "step-2"
    with pytest.raises(UserError, match=r"damaged: model.safetensors has 3 bytes instead of 100"):
        find_checkpoint(run.checkpoints / "step-3")


def test_what_an_interrupted_save_left_is_cleared_away(run: RunDir) -> None:
    store = CheckpointStore(run, keep=1)
    store.save(1, write, 100)
    for leftover in (".writing-step-2", ".replaced-step-1"):
        (run.checkpoints / leftover).mkdir()
    (run.checkpoints / ".removed-step-0").mkdir()
    (run.path / ".writing-final").mkdir()
    store.discard_leftovers()
    assert steps(run) == ["step-1"] and not (run.path / ".writing-final").exists()


def test_a_checkpoint_that_was_only_moved_aside_comes_back(run: RunDir) -> None:
    store = CheckpointStore(run, keep=1)
    path = store.save(1, write, 100)
    path.rename(path.with_name(".replaced-step-1"))
    store.discard_leftovers()
    assert store.newest() == path


@pytest.mark.parametrize(("expected_bytes", "room"), [(2**40, True), (100, False)])
def test_a_full_disk_is_told_from_errors_that_hide_it(
    run: RunDir, expected_bytes: int, room: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    free = [2**41, 2**30]
    monkeypatch.setattr(shutil, "disk_usage", lambda path: Usage(2**42, 0, free.pop(0)))
    monkeypatch.setattr("engine.checkpoint.store._takes_a_file", lambda folder: room)

    def hidden(folder: Path) -> None:
        (folder / "optimizer.pt").write_bytes(b"w" * 50)
        raise RuntimeError("[enforce fail at inline_container.cc] . unexpected pos 704 vs 598")

    with pytest.raises(NotEnoughSpaceError):
        CheckpointStore(run, keep=1).save(1, hidden, expected_bytes)
    assert steps(run) == []


def test_an_error_with_space_left_stays_what_it_is(run: RunDir) -> None:
    def broken(folder: Path) -> None:
        raise RuntimeError("a tensor that cannot be saved")

    with pytest.raises(RuntimeError, match="cannot be saved"):
        CheckpointStore(run, keep=1).save(1, broken, 100)


def test_a_step_saved_again_after_a_resume_replaces_the_earlier_one(run: RunDir) -> None:
    store = CheckpointStore(run, keep=2)
    store.save(5, write, 100)

    def other(folder: Path) -> None:
        write(folder)
        (folder / "new").write_text("new")

    store.save(5, other, 100)
    assert steps(run) == ["step-5"] and (run.checkpoints / "step-5" / "new").exists()
    assert is_complete(run.checkpoints / "step-5")


def test_a_person_may_name_a_checkpoint_its_link_or_its_run(run: RunDir) -> None:
    store = CheckpointStore(run, keep=2)
    step = store.save(7, write, 100)
    store.mark_best(step)
    assert find_checkpoint(step) == step
    assert find_checkpoint(run.best) == step
    assert find_checkpoint(run.path) == step
    assert find_checkpoint(store.save_final(write, 100)) == run.final
    assert find_checkpoint(run.path) == run.final
    with pytest.raises(UserError, match="there is no folder"):
        find_checkpoint(run.path / "nothing")
    (run.path / "plain").mkdir()
    with pytest.raises(UserError, match=r"give it as model\.name_or_path"):
        find_checkpoint(run.path / "plain")


def test_a_manifest_that_lists_no_files_means_damaged(run: RunDir) -> None:
    store = CheckpointStore(run, keep=2)
    first, second = store.save(10, write, 100), store.save(20, write, 100)
    (second / "trainer_state" / "manifest.json").write_text("[1]")
    assert store.newest() == first


def test_a_copied_run_whose_best_became_a_folder_gets_a_new_link(run: RunDir) -> None:
    store = CheckpointStore(run, keep=2)
    shutil.copytree(store.save(10, write, 100), run.best)
    store.mark_best(store.save(20, write, 100))
    assert run.best.is_symlink() and run.best.resolve().name == "step-20"

"""A run that was interrupted ends with the very numbers of one that was not."""

import dataclasses
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from engine.cli import main
from engine.events import End, EventWriter, Resume, Step
from engine.rundir import RunDir, create_run_dir, read_run_info, this_process, write_run_info
from engine.train.commands import CommandDesk

from .conftest import Outcome, read_events

Train = Callable[..., Outcome]


@pytest.mark.parametrize("optimizer", ["adamw", "adamw8bit", "lion", "lion8bit"])
def test_the_next_twenty_losses_equal_the_uninterrupted_ones_bit_for_bit(
    train: Train, optimizer: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    common = ("--train.max_steps", 45, "--train.optimizer", optimizer, "--data.eval_every", 10)
    whole = train(*common)

    def stop_after_25(desk: CommandDesk) -> None:
        if desk._trainer.progress.step == 25:
            desk._session.stop.request("the test stops here")

    with monkeypatch.context() as patch:
        patch.setattr("engine.train.commands.CommandDesk.obey_all", stop_after_25)
        first = train(*common)
    assert (first.code, first.end.status, first.end.last_step) == (0, "stopped", 25)
    resumed = train(*common, "--train.resume_from", "auto")
    assert resumed.run == first.run, "auto goes on in the run's own directory"
    assert [event.from_step for event in resumed.of(Resume)] == [25]
    assert resumed.losses == whole.losses
    for one, other in zip(resumed.of(Step)[-20:], whole.of(Step)[-20:], strict=True):
        assert (one.step, one.loss, one.grad_norm, one.lr, one.rows, one.epoch) == (
            other.step,
            other.loss,
            other.grad_norm,
            other.lr,
            other.rows,
            other.epoch,
        )


def test_the_log_of_all_steps_is_on_the_disk_before_a_checkpoint_stands(
    train: Train, monkeypatch: pytest.MonkeyPatch
) -> None:
    honest_flush, honest_rename = EventWriter.flush_to_disk, Path.rename
    flushed: list[int] = []
    renamed: list[tuple[str, int]] = []

    def flush(writer: EventWriter) -> None:
        honest_flush(writer)
        flushed.append(os.fstat(writer._descriptor).st_size)

    def rename(path: Path, target: Path) -> Path:
        if path.name.startswith(".writing-step-"):
            steps = (target.parents[1] / "events.jsonl").read_bytes()[: flushed[-1]].count(b'"event":"step"')
            renamed.append((target.name, steps))
        return honest_rename(path, target)

    monkeypatch.setattr(EventWriter, "flush_to_disk", flush)
    monkeypatch.setattr(Path, "rename", rename)
    train("--train.save_steps", 5, "--data.eval_dataset", "null")
    assert renamed == [("step-5", 5), ("step-10", 10)]


def test_a_checkpoints_path_starts_a_new_run_with_a_parent(train: Train) -> None:
    first = train("--train.save_steps", 5)
    assert sorted(path.name for path in first.run.checkpoints.iterdir()) == ["best", "step-10", "step-5"]
    second = train("--train.max_steps", 14, "--train.resume_from", first.run.checkpoints / "step-5")
    assert second.run != first.run and second.code == 0
    info = read_run_info(second.run)
    assert info is not None and info.parent == first.run.id
    assert [step.step for step in second.of(Step)] == list(range(6, 15))
    third = train("--train.max_steps", 14, "--train.resume_from", first.run.final)
    assert [step.step for step in third.of(Step)] == [13, 14]


def test_a_run_with_a_parent_saves_its_own_checkpoint_and_keeps_its_parent(
    train: Train, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = train("--train.save_steps", 5)
    monkeypatch.setattr(
        "engine.train.loop.Trainer.go_on_training", lambda trainer: trainer.session.stop.request("enough")
    )
    second = train("--train.max_steps", 14, "--train.resume_from", first.run.checkpoints / "step-5")
    assert (second.end.status, second.end.last_step) == ("stopped", 5)
    assert (second.run.checkpoints / "step-5").is_dir()
    monkeypatch.undo()
    third = train("--train.max_steps", 14, "--train.resume_from", "auto")
    assert third.run == second.run and third.of(Step)[0].step == 6
    info = read_run_info(third.run)
    assert info is not None and info.parent == first.run.id


def test_auto_does_not_start_over_what_began_at_a_checkpoint(
    config_file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = create_run_dir(tmp_path / "runs", "tiny")
    write_run_info(run, dataclasses.replace(this_process(run, "tiny", parent="earlier"), pid_start="gone"))
    code = main(["train", "--config", str(config_file), "--train.resume_from", "auto"])
    assert code == 1 and "from a checkpoint of earlier" in capsys.readouterr().err


def test_a_folder_with_a_run_in_it_is_not_used_again(
    train: Train, config_file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    done = train()
    code = main(["train", "--config", str(config_file), "--run-dir", str(done.run.path)])
    assert code == 1 and "holds a run already" in capsys.readouterr().err


def test_auto_without_an_unfinished_run_starts_a_new_one(train: Train, capsys: pytest.CaptureFixture[str]) -> None:
    first = train()
    second = train("--train.resume_from", "auto")
    assert second.run != first.run
    assert "no unfinished run of tiny" in capsys.readouterr().out


def test_resuming_with_other_data_is_refused(
    train: Train, config_file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first = train("--train.save_steps", 5)
    data = config_file.with_name("train.jsonl")
    data.write_text("".join(data.read_text().splitlines(keepends=True)[:30]))
    second = train("--train.resume_from", first.run.checkpoints / "step-5")
    assert second.code == 1 and "count 60" in second.end.reason
    assert second.end.reason.startswith("train.resume_from: ")


def test_a_checkpoint_that_is_not_there_is_bad_usage(config_file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code = main(["train", "--config", str(config_file), "--train.resume_from", "nowhere/step-9"])
    assert code == 2 and "nowhere/step-9" in capsys.readouterr().err


def test_a_run_that_goes_on_is_not_started_twice(
    config_file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = create_run_dir(tmp_path / "runs", "tiny")
    write_run_info(run, this_process(run, "tiny"))
    code = main(["train", "--config", str(config_file), "--run-dir", str(run.path)])
    assert code == 1 and f"pgs-tui attach {run.id}" in capsys.readouterr().err
    assert not any(isinstance(event, End) for event in read_events(RunDir(run.path)))

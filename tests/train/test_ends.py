"""Whatever ends a run is told in one sentence, with its exit code, and costs no good checkpoint."""

import errno
import json
import math
import os
import shutil
import signal
import time
from collections import namedtuple
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from engine.backward.cut import CutForward, forward_to_cut
from engine.checkpoint.store import CheckpointStore, NotEnoughSpaceError, WriteFiles
from engine.cli import main
from engine.events import Ack, Alert, Checkpoint, End, Phase, Step
from engine.events.control_file import append_command
from engine.events.control_line import CommandName, new_command, who
from engine.model.head import LossHead
from engine.rundir import RunDir, create_run_dir, liveness

from .conftest import Outcome, read_events

Train = Callable[..., Outcome]
Engine = Callable[..., Any]
Usage = namedtuple("Usage", "total used free")

OOM = (
    "CUDA out of memory. Tried to allocate 4.69 GiB. GPU 0 has a total capacity of 39.39 GiB "
    "of which 921.60 MiB is free."
)


def alerts(done: Outcome, code: str) -> list[Alert]:
    return [alert for alert in done.of(Alert) if alert.code == code]


def break_loss(monkeypatch: pytest.MonkeyPatch, at: Callable[[int], bool], spoil: Callable[[Tensor], Tensor]) -> None:
    """Let the loss of the training steps for which `at` holds go through `spoil`."""
    calls = 0

    def spoiled(head: LossHead, batch: Any) -> CutForward:
        nonlocal calls
        forward = forward_to_cut(head, batch)
        calls += 1
        return replace(forward, loss=spoil(forward.loss)) if at(calls) else forward

    monkeypatch.setattr("engine.backward.gate.forward_to_cut", spoiled)  # the rehearsal goes by another way


def test_out_of_memory_names_the_step_the_sizes_and_the_last_good_checkpoint(
    train: Train, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def raise_oom(loss: Tensor) -> Tensor:
        raise torch.OutOfMemoryError(OOM)

    break_loss(monkeypatch, lambda step: step == 7, raise_oom)
    done = train("--train.save_steps", 5)
    assert (done.code, done.end.status, done.end.exit_code) == (3, "failed", 3)
    for part in ("step 7", "4.7 GiB", "0.9 GiB free", "checkpoints/step-5"):
        assert part in done.end.reason
    [alert] = alerts(done, "OUT_OF_MEMORY")
    assert alert.severity == "critical" and len(alert.advice) >= 2 and alert.rows
    printed = capsys.readouterr().out
    assert "Traceback" not in printed and "try data.max_seq_length" in printed
    assert "Traceback" in done.run.console_log.read_text()
    assert (done.run.checkpoints / "step-5" / "model.safetensors").exists()


def test_a_step_of_nan_is_skipped_and_changes_no_weight(train: Train, monkeypatch: pytest.MonkeyPatch) -> None:
    break_loss(monkeypatch, lambda step: step == 4, lambda loss: loss * math.nan)
    done = train()
    assert done.code == 0
    skipped = [step.step for step in done.of(Step) if step.skipped]
    assert skipped == [4]
    assert [alert.state for alert in alerts(done, "NON_FINITE_LOSS")] == ["open", "closed"]
    assert "SPIKE SKIPPED step=4 loss=nan" in done.run.console_log.read_text()
    record = json.loads(done.run.spike(4).read_text())
    assert record["loss"] == "NaN" and len(record["rows"]) == 2
    row = record["rows"][0]
    assert len(row["input_ids"]) == len(row["has_loss"]) == len(row["losses"])
    assert [loss is not None for loss in row["losses"]] == row["has_loss"] and any(row["has_loss"])
    assert done.losses[5] is not None and math.isfinite(done.losses[5])


def test_a_spike_is_skipped_and_named(train: Train, monkeypatch: pytest.MonkeyPatch) -> None:
    break_loss(monkeypatch, lambda step: step == 40, lambda loss: loss * 5)
    done = train("--train.max_steps", 45, "--train.learning_rate", 1e-4)
    assert [step.step for step in done.of(Step) if step.skipped] == [40]
    [opened] = alerts(done, "SPIKE_SKIPPED")  # five steps later nobody knows whether spikes are over
    assert (opened.step, opened.state) == (40, "open") and opened.advice


def test_too_many_skipped_steps_end_the_run_with_advice(train: Train, monkeypatch: pytest.MonkeyPatch) -> None:
    break_loss(monkeypatch, lambda step: step > 6, lambda loss: loss * math.inf)
    done = train("--train.max_skipped_in_a_row", 4, "--train.save_steps", 5)
    assert (done.code, done.end.status, done.end.last_step) == (1, "failed", 10)
    assert "4 steps in a row" in done.end.reason and "checkpoints/step-5" in done.end.reason
    assert [alert.severity for alert in alerts(done, "SKIPPED_IN_A_ROW")] == ["critical"]


def test_weights_that_are_not_finite_never_replace_a_good_checkpoint(
    train: Train, monkeypatch: pytest.MonkeyPatch
) -> None:
    from engine.train.loop import Trainer

    honest = Trainer.update_after_backward

    def poison(trainer: Trainer, *arguments: Any) -> Any:
        done = honest(trainer, *arguments)
        if trainer.progress.step >= 5:
            next(iter(trainer.head.model.parameters())).data[0, 0] = math.nan
        return done

    monkeypatch.setattr(Trainer, "update_after_backward", poison)
    done = train("--train.save_steps", 4, "--train.keep_checkpoints", 1)
    [alert, *_] = alerts(done, "WEIGHTS_NOT_FINITE")
    assert alert.severity == "critical" and "model.embed_tokens.weight" in alert.meaning
    assert (done.run.checkpoints / "step-4").is_dir()
    assert not (done.run.checkpoints / "step-8").exists() and not done.run.final.exists()
    assert done.code == 1


def test_a_full_disk_while_saving_costs_only_that_save(train: Train, monkeypatch: pytest.MonkeyPatch) -> None:
    honest, calls = shutil.disk_usage, []

    def usage(path: Path) -> Any:
        if "checkpoints" not in str(path):
            return honest(path)
        calls.append(path)
        return Usage(2**40, 2**40 - 1024, 1024) if len(calls) == 2 else Usage(2**40, 0, 2**39)

    monkeypatch.setattr("engine.checkpoint.store.shutil.disk_usage", usage)
    done = train("--train.save_steps", 3, "--train.keep_checkpoints", 1, "--data.eval_dataset", "null")
    assert done.code == 0
    assert [alert.state for alert in alerts(done, "DISK_FULL")] == ["open", "closed"]
    assert [event.step for event in done.of(Checkpoint)] == [3, 9, 12]


def test_a_save_that_fails_for_another_reason_does_not_end_the_run(
    train: Train, monkeypatch: pytest.MonkeyPatch
) -> None:
    honest, failures = CheckpointStore.save, [OSError(errno.EIO, "Input/output error")]

    def save(store: CheckpointStore, step: int, write: Callable[[Path], None], size: int) -> Path:
        if failures:
            raise failures.pop()
        return honest(store, step, write, size)

    monkeypatch.setattr(CheckpointStore, "save", save)
    done = train("--train.save_steps", 5, "--data.eval_dataset", "null")
    assert done.code == 0 and [event.step for event in done.of(Checkpoint)] == [10, 12]
    told = alerts(done, "SAVE_FAILED")
    assert [alert.state for alert in told] == ["open", "closed"] and "Input/output error" in told[0].meaning


def test_a_full_disk_at_the_last_save_ends_with_its_own_code_when_no_space_comes(
    train: Train, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("engine.checkpoint.store.shutil.disk_usage", lambda path: Usage(1024, 0, 1024))
    monkeypatch.setattr("engine.train.saver.FINAL_WAIT_SECONDS", 0)
    done = train("--data.eval_dataset", "null")
    assert (done.code, done.end.status) == (4, "failed") and "needs" in done.end.reason


def test_the_last_save_waits_for_space(train: Train, monkeypatch: pytest.MonkeyPatch) -> None:
    honest, failures = CheckpointStore.save_final, [NotEnoughSpaceError("final needs 9 GiB.")] * 2

    def save_final(store: CheckpointStore, write: WriteFiles, expected_bytes: int) -> Path:
        if failures:
            raise failures.pop()
        return honest(store, write, expected_bytes)

    monkeypatch.setattr(CheckpointStore, "save_final", save_final)
    monkeypatch.setattr("engine.train.saver.FINAL_RETRY_SECONDS", 0)
    done = train("--data.eval_dataset", "null")
    assert (done.code, done.end.status) == (0, "finished") and done.run.final.is_dir()
    assert [alert.state for alert in alerts(done, "DISK_FULL")] == ["open", "update", "closed"]


@pytest.mark.parametrize(
    ("overrides", "said"),
    [
        (("--model.name_or_path", "owner/not-cached"), "not in the local cache"),
        (("--data.max_seq_length", 3), "NO_TRAINABLE_TOKENS"),
        (("--train.warmup_steps", 50, "--train.max_steps", "null", "--train.epochs", 1), "30 optimizer steps"),
    ],
)
def test_what_cannot_start_says_why_in_one_sentence(
    train: Train,
    overrides: tuple[Any, ...],
    said: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    done = train(*overrides)
    assert (done.code, done.end.status, done.end.last_step) == (1, "failed", 0)
    assert said in done.end.reason
    assert "Traceback" not in "".join(capsys.readouterr())


def test_a_broken_row_stops_the_run_before_training(
    train: Train, config_file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = config_file.with_name("train.jsonl")
    lines = data.read_text().splitlines(keepends=True)
    data.write_text("".join([lines[0], lines[1].rstrip("}\n") + ",}\n", *lines[2:]]))
    stopped = train()
    assert stopped.code == 1 and "train.jsonl, line 2, column" in stopped.end.reason
    skipped = train("--data.on_bad_row", "skip")
    assert skipped.code == 0 and "line 2" in skipped.run.console_log.read_text()


def test_a_broken_config_is_bad_usage_and_starts_nothing(
    config_file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["train", "--config", str(config_file), "--train.learning_rat", "1e-3"]) == 2
    assert "learning_rate" in capsys.readouterr().err
    assert not (tmp_path / "runs").exists()


def test_the_first_signal_finishes_the_step_and_saves(engine: Engine, tmp_path: Path) -> None:
    process = engine("--train.max_steps", 100_000, "--train.logging_steps", 1)
    wait_for_step(process)
    process.send_signal(signal.SIGTERM)
    output, _ = process.communicate(timeout=60)
    assert process.returncode == 0
    [folder] = (tmp_path / "runs").iterdir()
    run = RunDir(folder)
    assert liveness(run) == "stopped"
    end = read_events(run)[-1]
    assert (run.checkpoints / f"step-{end.last_step}" / "trainer_state").is_dir()  # type: ignore[union-attr]
    assert "stopped: SIGTERM received after step" in output


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_signal_amid_a_step_lets_it_end_and_saves(
    train: Train, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], number: signal.Signals
) -> None:
    def signalled(loss: Tensor) -> Tensor:
        signal.raise_signal(number)
        return loss

    break_loss(monkeypatch, lambda step: step == 3, signalled)
    done = train("--train.max_steps", 100_000, "--train.logging_steps", 1)
    assert done.code == 0 and liveness(done.run) == "stopped"
    assert done.end.last_step == 3 == max(step.step for step in done.of(Step))
    assert (done.run.checkpoints / "step-3" / "trainer_state").is_dir()
    assert f"stopped: {number.name} received after step 3" in capsys.readouterr().out


def test_a_second_interrupt_leaves_at_once(engine: Engine, tmp_path: Path) -> None:
    process = engine("--train.max_steps", 100_000, "--train.per_device_batch_size", 8)
    wait_for_step(process)
    os.kill(process.pid, signal.SIGSTOP)
    process.send_signal(signal.SIGINT)
    os.kill(process.pid, signal.SIGCONT)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)
    assert process.returncode in (130, 0), "either the second signal came in time, or the step was over first"


def test_a_signal_before_the_first_step_ends_the_run_where_it_stands(engine: Engine, tmp_path: Path) -> None:
    process = engine()
    runs = tmp_path / "runs"
    wait_until(lambda: runs.is_dir() and any((folder / "run.json").exists() for folder in runs.iterdir()))
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=60)
    [folder] = runs.iterdir()
    assert process.returncode == 0 and liveness(RunDir(folder)) == "stopped"


def test_a_killed_engine_leaves_whole_lines_and_a_run_that_goes_on(
    engine: Engine, train: Train, tmp_path: Path
) -> None:
    process = engine("--train.max_steps", 100_000, "--train.save_steps", 5)
    [folder] = wait_for_step(process, 8, tmp_path / "runs")
    process.kill()
    process.communicate()
    run = RunDir(folder)
    assert liveness(run) == "killed"
    last = max(event.step for event in read_events(run) if isinstance(event, Step))
    resumed = train("--train.max_steps", last + 3, "--train.resume_from", "auto")
    assert resumed.run == run and resumed.code == 0 and resumed.end.last_step == last + 3


def test_people_may_ask_for_a_checkpoint_an_evaluation_a_pause_and_a_stop(engine: Engine, tmp_path: Path) -> None:
    process = engine("--train.max_steps", 100_000)
    [folder] = wait_for_step(process, 3, tmp_path / "runs")
    run = RunDir(folder)
    asked = {cmd: send(run, cmd) for cmd in ("checkpoint", "evaluate", "pause")}
    with run.control.open("a") as file:
        file.write("dance\n")
    wait_until(lambda: any(isinstance(e, Phase) and e.name == "paused" for e in read_events(run)))
    paused_at = sum(isinstance(event, Step) for event in read_events(run))
    asked["scale_lr"] = send(run, "scale_lr", factor=0.5)
    wait_until(lambda: any(isinstance(event, Ack) and event.id == asked["scale_lr"] for event in read_events(run)))
    assert sum(isinstance(event, Step) for event in read_events(run)) == paused_at
    asked["resume"] = send(run, "resume")
    wait_until(lambda: sum(isinstance(event, Step) for event in read_events(run)) > paused_at)
    asked["stop"] = send(run, "stop")
    process.communicate(timeout=60)
    answers = [event for event in read_events(run) if isinstance(event, Ack)]
    assert {event.cmd: event.id for event in answers if event.ok} == asked
    assert {event.by for event in answers if event.ok} == {who()}, "who asked stands there for the others to see"
    assert [event.message for event in answers if not event.ok] == ["not a command: 'dance'"]
    assert process.returncode == 0 and liveness(run) == "stopped"


def test_a_command_that_came_before_the_engine_was_up_is_obeyed(config_file: Path, tmp_path: Path) -> None:
    run = create_run_dir(tmp_path / "runs", "tiny")
    send(run, "stop")
    assert main(["train", "--config", str(config_file), "--run-dir", str(run.path)]) == 0
    end = read_events(run)[-1]
    assert isinstance(end, End) and (end.status, end.last_step) == ("stopped", 0)


def send(run: RunDir, cmd: CommandName, **args: float) -> str:
    command = new_command(cmd, **args)
    append_command(run.control, command)
    return command.id


def wait_for_step(process: Any, step: int = 1, runs: Path | None = None) -> list[Path]:
    """Read the engine's output up to the line of this step; return the runs' folders."""
    for line in process.stdout:
        if line.startswith("step=") and int(line.split()[0].removeprefix("step=")) >= step:
            break
    else:
        raise AssertionError("the engine ended before that step")
    return list(runs.iterdir()) if runs else []


def wait_until(condition: Callable[[], bool], seconds: float = 60) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.02)


def test_a_gpu_that_torch_cannot_use_is_not_passed_over_in_silence(
    train: Train, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("engine.train.assemble.visible_card_names", lambda environment: ("NVIDIA A100",))
    done = train("--train.max_steps", 2)
    [alert] = alerts(done, "GPU_NOT_USED")
    assert alert.severity == "warning" and "NVIDIA A100" in alert.meaning
    assert "warning: Training on the CPU although" in capsys.readouterr().out

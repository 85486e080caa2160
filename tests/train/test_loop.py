"""What a run writes down is what it did."""

import math
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from engine.config import load_config
from engine.events import Ack, Audit, Checkpoint, Eval, Host, Phase, Start, Step
from engine.events.console import parse_step
from engine.events.control_line import Command, CommandName
from engine.rundir import liveness, read_run_info

from .asking import ask_after
from .conftest import Outcome

Train = Callable[..., Outcome]


def test_a_whole_run_is_told_from_start_to_end(
    train: Train, config_file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    done = train("--data.eval_every", 5, "--train.save_steps", 4)
    assert (done.code, done.end.status, done.end.last_step) == (0, "finished", 12)
    assert liveness(done.run) == "finished"

    steps = done.of(Step)
    assert [step.step for step in steps] == list(range(1, 13))
    assert [event.step for event in done.of(Eval)] == [0, 5, 10, 12]
    assert {event.checkpoint_kind for event in done.of(Checkpoint)} == {"step", "best", "final"}
    assert done.of(Start)[0].total_steps == 12
    assert done.of(Audit)[0].counts["train_rows"] == 60
    assert done.of(Host), "no host event came in the whole run"
    phases = [phase.name for phase in done.of(Phase)]
    assert phases[0] == "loading model" and {"tokenizing", "evaluating", "training", "saving"} <= set(phases)

    printed = [parsed for line in capsys.readouterr().out.splitlines() if (parsed := parse_step(line))]
    assert [line.step for line in printed] == list(range(1, 13))
    assert printed[4].eval_loss == pytest.approx(done.of(Eval)[1].loss, rel=1e-3)
    assert (done.run.console_log).read_text().count("step=") >= 12

    info = read_run_info(done.run)
    assert info is not None and info.name == "tiny" and info.versions["torch"] == torch.__version__
    assert {Path(path).name for path in info.data_hashes} == {"train.jsonl", "eval.jsonl"}
    assert (
        load_config(done.run.config_yaml).config
        == load_config(config_file, ["--data.eval_every", "5", "--train.save_steps", "4"]).config
    )


def test_the_numbers_of_a_step_belong_together(train: Train) -> None:
    for step in train("--train.max_grad_norm", 0.5, "--train.gradient_accumulation_steps", 2).of(Step):
        assert step.loss is not None and step.grad_norm is not None and step.clip_scale is not None
        assert step.tok_s == pytest.approx(step.tokens / step.dt)
        assert step.slots >= step.tokens > step.loss_tokens > 0
        assert len(step.rows) == 4
        assert step.clip_scale == pytest.approx(min(1.0, 0.5 / step.grad_norm))
        parts = [step.time.data, step.time.forward, step.time.backward, step.time.optimizer]
        assert sum(part or 0.0 for part in parts) <= step.dt


@pytest.mark.parametrize("split", [(1, 4), (2, 2), (4, 1)])
def test_the_split_into_micro_batches_changes_neither_loss_nor_gradient(train: Train, split: tuple[int, int]) -> None:
    sizes = ("--train.per_device_batch_size", split[0], "--train.gradient_accumulation_steps", split[1])
    first = train("--train.max_steps", 3, *sizes).of(Step)
    whole = train("--train.max_steps", 3, "--train.per_device_batch_size", 4).of(Step)
    for one, other in zip(first, whole, strict=True):
        assert one.rows == other.rows
        assert one.loss == pytest.approx(other.loss, rel=1e-5)
        assert one.grad_norm == pytest.approx(other.grad_norm, rel=1e-4)


def test_chunks_of_the_loss_change_nothing(train: Train) -> None:
    chunked = train("--train.max_steps", 4, "--memory.loss_chunk_tokens", 5)
    full = train("--train.max_steps", 4, "--memory.chunked_loss", "false")
    assert list(chunked.losses.values()) == pytest.approx(list(full.losses.values()), rel=1e-5)


def test_epochs_see_each_row_once_and_in_another_order(train: Train) -> None:
    done = train("--train.max_steps", "null", "--train.epochs", 2, "--train.per_device_batch_size", 8)
    rows = [step.rows for step in done.of(Step)]
    assert len(rows) == 16 and done.of(Step)[-1].epoch == 2.0
    first, second = ([row for batch in epoch for row in batch] for epoch in (rows[:8], rows[8:]))
    assert sorted(first) == sorted(second) == list(range(60)) and first != second


def test_the_loss_falls_and_the_best_weights_are_kept(train: Train) -> None:
    done = train("--train.max_steps", 60, "--data.eval_every", 20, "--train.learning_rate", 1e-2)
    losses = list(done.losses.values())
    assert losses[-1] is not None and losses[0] is not None and losses[-1] < 0.8 * losses[0]
    evaluations = done.of(Eval)
    assert [event.best for event in evaluations] == [
        event.loss < min([math.inf, *(earlier.loss for earlier in evaluations[:index])])
        for index, event in enumerate(evaluations)
    ]
    best = min(evaluations, key=lambda event: event.loss)
    assert done.run.best.resolve().name == ("final" if best.step == 60 else f"step-{best.step}")


@pytest.mark.parametrize("optimizer", ["adamw8bit", "lion", "lion8bit"])
def test_every_optimizer_trains(train: Train, optimizer: str) -> None:
    rate = 1e-3 if optimizer.startswith("lion") else 1e-2
    losses = list(
        train("--train.max_steps", 40, "--train.optimizer", optimizer, "--train.learning_rate", rate).losses.values()
    )
    assert losses[-1] is not None and losses[0] is not None and losses[-1] < losses[0] - 0.5


def test_logging_steps_thin_the_console_only(train: Train, capsys: pytest.CaptureFixture[str]) -> None:
    done = train("--train.logging_steps", 5)
    printed = [parsed.step for line in capsys.readouterr().out.splitlines() if (parsed := parse_step(line))]
    assert printed == [1, 5, 10, 12]
    assert len(done.of(Step)) == 12


def test_commands_that_came_together_are_obeyed_in_their_order(train: Train, monkeypatch: pytest.MonkeyPatch) -> None:
    names: list[CommandName] = ["pause", "checkpoint", "resume", "stop"]
    ask_after(monkeypatch, 1, [Command(name, 0.0, "lena@box", name) for name in names])
    done = train()
    assert [(ack.id, ack.ok, ack.cmd, ack.by) for ack in done.of(Ack)] == [
        (name, True, name, "lena@box") for name in names
    ]
    assert (done.end.status, done.end.last_step) == ("stopped", 1)


def test_a_loss_that_is_no_number_is_never_the_best(train: Train, monkeypatch: pytest.MonkeyPatch) -> None:
    found = [math.nan, 3.0, 2.0]
    monkeypatch.setattr("engine.train.loop.evaluate", lambda *_, **__: (found.pop(0), 10))
    done = train("--data.eval_every", 6)
    assert [event.best for event in done.of(Eval)] == [False, True, True]


def test_a_product_of_epochs_and_steps_is_not_rounded_up_for_noise(train: Train) -> None:
    started = train("--train.max_steps", "null", "--train.epochs", 1.1, "--train.per_device_batch_size", 6).of(Start)
    assert started[0].total_steps == 11, "1.1 x 10 is 11.000000000000002 in floating point"

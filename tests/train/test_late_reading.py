"""On a GPU the last numbers of a step are read with the next gate: told one step late, once, and as its own."""

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
import torch

from engine.backward.cut import CutForward, forward_to_cut
from engine.backward.gate import AtGate, go_to_gate
from engine.events import Ack, Alert, Checkpoint, End, Eval, Phase, Step
from engine.events.console import parse_step
from engine.events.control_line import Command, CommandName
from engine.model.load import load_model
from engine.train.loop import Trainer
from engine.train.telling.step_teller import StepTeller

from .asking import ask_after
from .conftest import Outcome

Train = Callable[..., Outcome]
RELEASE = ("--memory.gradient_release", "true", "--train.max_grad_norm", "null")
MODES = pytest.mark.parametrize("mode", [(), RELEASE], ids=["plain", "release"])


@pytest.fixture
def reads_late(monkeypatch: pytest.MonkeyPatch) -> None:
    """The loop takes the device for a GPU, while everything is computed on the CPU."""
    honest = Trainer.run

    def run(trainer: Trainer) -> End:
        trainer.device = torch.device("cuda")
        return honest(trainer)

    monkeypatch.setattr(Trainer, "run", run)


def numbers(step: Step) -> tuple[Any, ...]:
    """All of a step but the times."""
    return (
        *(step.step, step.epoch, step.loss, step.lr, step.grad_norm, step.hidden_norm, step.clip_scale, step.moved),
        *(step.tokens, step.slots, step.loss_tokens, step.skipped, step.rows),
    )


def at_once_and_late(train: Train, request: pytest.FixtureRequest, *settings: Any) -> tuple[Outcome, Outcome]:
    at_once = train(*settings)
    request.getfixturevalue("reads_late")
    return at_once, train(*settings)


def order(done: Outcome, *kinds: type) -> list[str]:
    """The events of these kinds in the order of the log, as `Step 3`."""
    return [f"{type(e).__name__} {getattr(e, 'step', '')}".strip() for e in done.events if isinstance(e, kinds)]


def spoil(monkeypatch: pytest.MonkeyPatch, at: int, factor: float) -> None:
    steps = iter(range(1, 1000))

    def spoiled(*arguments: Any) -> CutForward:
        forward = forward_to_cut(*arguments)
        return replace(forward, loss=forward.loss * factor) if next(steps) == at else forward

    monkeypatch.setattr("engine.backward.gate.forward_to_cut", spoiled)


@MODES
def test_each_step_is_told_once_with_its_own_numbers(
    train: Train, request: pytest.FixtureRequest, mode: tuple[Any, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    settings = (*mode, "--data.eval_every", 5, "--train.logging_steps", 2)
    at_once, late = at_once_and_late(train, request, *settings)
    assert [numbers(step) for step in late.of(Step)] == [numbers(step) for step in at_once.of(Step)]
    assert [step.step for step in late.of(Step)] == list(range(1, 13))
    assert all(step.grad_norm is not None for step in late.of(Step))
    assert [step.moved is not None for step in late.of(Step)] == [step.lr > 0 for step in late.of(Step)]
    lines = [(p.step, p.loss, p.eval_loss) for line in capsys.readouterr().out.splitlines() if (p := parse_step(line))]
    assert lines[: len(lines) // 2] == lines[len(lines) // 2 :] and lines
    assert order(late, Step, Eval) == order(at_once, Step, Eval)


@MODES
def test_a_step_is_told_after_the_gate_of_the_next_and_before_its_update(
    train: Train, monkeypatch: pytest.MonkeyPatch, reads_late: None, mode: tuple[Any, ...]
) -> None:
    seen: list[str] = []
    honest, begin, tell = go_to_gate, Trainer.next_batches, StepTeller.tell_last_step

    def gate(*arguments: Any) -> AtGate:
        at_gate = honest(*arguments)
        seen.append("gate")
        return at_gate

    def next_batches(trainer: Trainer) -> Any:
        seen.append(f"begin {trainer.progress.step + 1}")
        return begin(trainer)

    def told(teller: StepTeller, *arguments: Any) -> None:
        if teller.untold is not None:
            seen.append(f"tell {teller.untold.event.step}")
        tell(teller, *arguments)

    monkeypatch.setattr("engine.train.loop.go_to_gate", gate)
    monkeypatch.setattr(Trainer, "next_batches", next_batches)
    monkeypatch.setattr(StepTeller, "tell_last_step", told)
    train("--train.max_steps", 3, *mode)
    assert seen == ["begin 1", "gate", "begin 2", "gate", "tell 1", "begin 3", "gate", "tell 2", "tell 3"]


@MODES
def test_evaluations_and_saves_come_after_their_step(train: Train, reads_late: None, mode: tuple[Any, ...]) -> None:
    done = train("--train.max_steps", 6, "--data.eval_every", 2, "--train.save_steps", 3, *mode)
    told = order(done, Step, Eval, Checkpoint)
    for step in (2, 4, 6):
        assert told.index(f"Eval {step}") == told.index(f"Step {step}") + 1
    for event in done.of(Checkpoint):
        assert told.index(f"Step {event.step}") < told.index(f"Checkpoint {event.step}")
        if event.step < 6:
            assert told.index(f"Checkpoint {event.step}") < told.index(f"Step {event.step + 1}")
    assert [e for e in told if e.startswith("Step")] == [f"Step {step}" for step in range(1, 7)]


@pytest.mark.parametrize("command", ["pause", "stop", "checkpoint", "evaluate"])
def test_a_command_is_answered_when_its_step_is_told(
    train: Train, monkeypatch: pytest.MonkeyPatch, reads_late: None, command: CommandName
) -> None:
    go_on = [Command("again", 0.0, "anna", "resume")] if command == "pause" else []
    ask_after(monkeypatch, 2, [Command("asked", 0.0, "anna", command)], go_on)
    done = train("--train.max_steps", 4, *RELEASE)
    steps_before = [e.step for e in done.events[: done.events.index(done.of(Ack)[0])] if isinstance(e, Step)]
    assert done.of(Ack)[0].ok
    if command == "stop":  # answered at once; the step is told before the run saves and ends
        assert [step.step for step in done.of(Step)] == [1, 2] and done.end.status == "stopped"
        assert order(done, Step, Checkpoint, End)[-3:] == ["Step 2", "Checkpoint 2", "End"]
        return
    assert steps_before == [1, 2]
    assert [step.step for step in done.of(Step)] == [1, 2, 3, 4] and done.end.status == "finished"
    if command == "pause":
        paused = next(i for i, e in enumerate(done.events) if isinstance(e, Phase) and e.name == "paused")
        assert [e.step for e in done.events[:paused] if isinstance(e, Step)] == [1, 2]


@MODES
def test_a_skipped_step_stands_in_its_place(
    train: Train, monkeypatch: pytest.MonkeyPatch, reads_late: None, mode: tuple[Any, ...]
) -> None:
    spoil(monkeypatch, 4, math.nan)
    done = train("--train.max_steps", 6, *mode)
    assert [(step.step, step.skipped) for step in done.of(Step)] == [(step, step == 4) for step in range(1, 7)]
    [opened, closed] = [alert for alert in done.of(Alert) if alert.code == "NON_FINITE_LOSS"]
    assert (opened.step, opened.state, closed.state) == (4, "open", "closed")
    told = [e.step for e in done.events[: done.events.index(opened)] if isinstance(e, Step)]
    assert told == [1, 2, 3, 4]


def test_a_gradient_that_is_not_finite_is_told_with_its_own_step_and_name(
    train: Train, monkeypatch: pytest.MonkeyPatch, reads_late: None
) -> None:
    passes = iter(range(1000))  # the rehearsal is pass 0

    def poisoned(*arguments: Any) -> Any:
        model = load_model(*arguments)
        weight = model.model.layers[1].mlp.up_proj.weight
        weight.register_hook(lambda gradient: gradient * math.inf if next(passes) == 3 else gradient)
        return model

    monkeypatch.setattr("engine.train.assemble.load_model", poisoned)
    done = train("--train.max_steps", 5, *RELEASE)
    opened, *_ = [alert for alert in done.of(Alert) if alert.code == "NON_FINITE_GRAD"]
    assert opened.step == 3 and "model.layers.1.mlp.up_proj.weight" in opened.meaning
    norms = [step.grad_norm is not None and math.isfinite(step.grad_norm) for step in done.of(Step)]
    assert norms == [True, True, False, True, True] and done.code == 0


@MODES
def test_a_step_that_was_taken_is_told_though_the_next_one_fails(
    train: Train, monkeypatch: pytest.MonkeyPatch, reads_late: None, mode: tuple[Any, ...]
) -> None:
    steps = iter(range(1, 1000))

    def fails(*arguments: Any) -> CutForward:
        if next(steps) == 4:
            raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 4.69 GiB.")
        return forward_to_cut(*arguments)

    monkeypatch.setattr("engine.backward.gate.forward_to_cut", fails)
    done = train(*mode)
    assert done.code == 3 and "at step 4" in done.end.reason
    assert [step.step for step in done.of(Step)] == [1, 2, 3]

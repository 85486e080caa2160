"""The memory stack in real runs: resumed with all of it on, frozen weights, spheres, movement, rates."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from engine.events import Alert, Resume, Step
from engine.train.commands import CommandDesk
from engine.train.loop import Trainer

from .conftest import Outcome
from .stack import BF16, OPTIMIZERS, PACKED, PLAIN, RELEASE, Left, assert_same, small_model

Train = Callable[..., Outcome]
NO_EVAL = ("--data.eval_dataset", "null")
CONSTANT = ("--train.lr_scheduler", "constant", "--train.warmup_steps", 0)
ALL_OF_IT = (
    *(*RELEASE, *BF16, *PACKED, *NO_EVAL),
    *("--train.freeze_non_attention", "true", "--train.gradient_checkpointing", "selective"),
    *("--train.hyperball", "true", "--train.hyperball_lr", 0),
)


@pytest.fixture
def initial(monkeypatch: pytest.MonkeyPatch) -> dict[str, Tensor]:
    """The weights of the run before its first step; filled by the run."""
    found: dict[str, Tensor] = {}
    run = Trainer.run

    def note(trainer: Trainer) -> Any:
        found.clear()
        found.update({name: p.detach().clone() for name, p in trainer.head.model.named_parameters()})
        found.update({f"trained {name}": p for name, p in found.items() if _is_trained(trainer, name)})
        return run(trainer)

    monkeypatch.setattr(Trainer, "run", note)
    return found


def _is_trained(trainer: Trainer, name: str) -> bool:
    return any(name == trained for trained, _ in trainer.trained_parameters())


def stop_after(step: int, monkeypatch: pytest.MonkeyPatch) -> None:
    def stop(desk: CommandDesk) -> None:
        if desk._trainer.progress.step == step:
            desk._session.stop.request("the test stops here")

    monkeypatch.setattr("engine.train.commands.CommandDesk.obey_all", stop)


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_a_run_with_all_of_it_goes_on_bit_for_bit(
    train: Train, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, optimizer: str
) -> None:
    model = small_model(tmp_path / "models", "hybrid")
    settings = (*ALL_OF_IT, "--train.max_steps", 8, "--train.optimizer", optimizer, "--model.name_or_path", model)
    whole = train(*settings)
    with monkeypatch.context() as patch:
        stop_after(4, patch)
        stopped = train(*settings)
    assert (stopped.code, stopped.end.status, stopped.end.last_step) == (0, "stopped", 4)
    resumed = train(*settings, "--train.resume_from", "auto")
    assert resumed.run == stopped.run and [event.from_step for event in resumed.of(Resume)] == [4]
    assert [numbers(step) for step in resumed.of(Step)] == [numbers(step) for step in whole.of(Step)]
    one, other = Left.by(resumed), Left.by(whole)
    assert_same(one.weights, other.weights, "weights")
    assert_same(one.optimizer, other.optimizer, "optimizer")


def numbers(step: Step) -> tuple[Any, ...]:
    return (step.step, step.loss, step.grad_norm, step.hidden_norm, step.moved, step.lr, step.rows, step.epoch)


@pytest.mark.parametrize("how", ["none", "selective", "full"])
@pytest.mark.parametrize("kind", [PLAIN, RELEASE], ids=["plain", "release"])
def test_frozen_weights_stay_and_every_other_one_moves(
    train: Train, tmp_path: Path, initial: dict[str, Tensor], how: str, kind: tuple[Any, ...]
) -> None:
    settings = (*kind, *BF16, *NO_EVAL, *CONSTANT, "--train.freeze_non_attention", "true", "--train.max_steps", 3)
    model = small_model(tmp_path / "models", "hybrid")
    done = train(*settings, "--train.gradient_checkpointing", how, "--model.name_or_path", model)
    after = Left.by(done).weights
    stayed = {name for name, tensor in after.items() if torch.equal(tensor, initial[name])}
    trained = {name for name in after if f"trained {name}" in initial}
    assert trained and stayed and stayed == after.keys() - trained


def test_every_matrix_keeps_the_norm_that_it_began_with(
    train: Train, tmp_path: Path, initial: dict[str, Tensor], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rounding at random moves a number by less than 2^-7 of itself, and the norm of many by much less."""
    model = small_model(tmp_path / "models", "llama-untied")
    settings: tuple[Any, ...] = (
        *RELEASE,
        *BF16,
        *NO_EVAL,
        *CONSTANT,
        "--train.hyperball",
        "true",
        "--train.max_steps",
        8,
    )
    settings += ("--train.hyperball_lr", 0.02, "--model.name_or_path", model)
    with monkeypatch.context() as patch:
        stop_after(4, patch)
        assert train(*settings).end.last_step == 4
    before = dict(initial)
    left = Left.by(train(*settings, "--train.resume_from", "auto"))
    matrices = [name for name, tensor in left.weights.items() if "_proj" in name]
    norms = {name: float(before[name].double().norm()) for name in matrices}
    assert len(matrices) == 14
    for name in matrices:
        assert float(left.weights[name].double().norm()) == pytest.approx(norms[name], rel=2e-3), name
        assert not torch.equal(left.weights[name], before[name])
    radii = [float(state["radius"][0]) for state in left.optimizer["state"].values() if "radius" in state]
    assert sorted(radii) == pytest.approx(sorted(norms.values()), rel=1e-6)


@pytest.mark.parametrize(
    ("settings", "low", "high"),
    [
        (("--model.torch_dtype", "float32"), 0.999, 1.001),
        (BF16, 0.8, 1.2),
        ((*BF16, "--train.stochastic_rounding", "false"), -0.05, 0.2),
    ],
    ids=["float32", "at-random", "nearest"],
)
def test_how_much_of_the_movement_arrives_is_told(
    train: Train, settings: tuple[Any, ...], low: float, high: float
) -> None:
    rate = ("--train.learning_rate", 3.0e-6, "--train.optimizer", "lion8bit")
    done = train(*settings, *NO_EVAL, *CONSTANT, *rate, "--train.max_steps", 25)
    shares = [step.moved for step in done.of(Step) if step.moved is not None]
    assert len(shares) == 25
    mean = sum(shares) / len(shares)
    assert low < mean < high, mean
    stale = [alert for alert in done.of(Alert) if alert.code == "STALE_WEIGHTS"]
    assert bool(stale) == (high == 0.2)


@pytest.mark.parametrize(
    ("scheduler", "last"),
    [("cosine", 1e-4), ("linear", 1e-4), ("constant", 1e-3), ("wsd", 1e-4), ("power_decay", 1e-4)],
)
def test_rates_at_both_ends_and_after_the_warm_up(train: Train, scheduler: str, last: float) -> None:
    settings = ("--train.lr_scheduler", scheduler, "--train.warmup_steps", 4, "--train.max_steps", 10)
    done = train(*settings, "--train.min_learning_rate", 1e-4, *RELEASE, *BF16, *NO_EVAL)
    rates = [step.lr for step in done.of(Step)]
    assert len(rates) == 10
    assert rates[:4] == pytest.approx([2.5e-4, 5e-4, 7.5e-4, 1e-3])
    assert rates[-1] == pytest.approx(last)
    assert max(rates) == pytest.approx(1e-3)

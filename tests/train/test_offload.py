"""Runs whose layer inputs wait in main memory: the same weights as without."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from engine.events import Step
from engine.model.offload.copies import AtOnce

from .conftest import Outcome
from .stack import BF16, PACKED, RELEASE, Left, assert_same, small_model
from .test_ends import break_loss

Train = Callable[..., Outcome]
OFFLOAD = ("--memory.offload_activations", "true")


@pytest.fixture
def copies(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The bytes of each copy, in both directions."""
    seen: list[int] = []
    start = AtOnce.start

    def count(self: AtOnce, source: Any, target: Any) -> None:
        seen.append(source.nbytes)
        start(self, source, target)

    monkeypatch.setattr(AtOnce, "start", count)
    return seen


@pytest.mark.parametrize(
    ("family", "settings"),
    [
        ("llama-tied", ("--train.gradient_accumulation_steps", 2, "--train.gradient_checkpointing", "full")),
        ("llama-untied", (*RELEASE, *BF16, "--train.gradient_checkpointing", "full")),
        ("hybrid", (*RELEASE, *BF16, *PACKED, "--train.gradient_checkpointing", "selective")),
    ],
)
def test_the_weights_are_bit_for_bit_those_without_it(
    train: Train,
    tmp_path: Path,
    copies: list[int],
    capsys: pytest.CaptureFixture[str],
    family: str,
    settings: tuple[Any, ...],
) -> None:
    more = {"layer_types": ["linear_attention"] * 3 + ["full_attention"]} if family == "hybrid" else {}
    model = small_model(tmp_path / "models", family, num_hidden_layers=4, **more)
    settings = (*settings, "--train.max_steps", 3, "--model.name_or_path", model, "--train.optimizer", "lion8bit")
    without = train(*settings)
    assert not copies
    done = train(*settings, *OFFLOAD)
    told = capsys.readouterr().out
    assert "the inputs of 3 layers wait in main memory" in told
    assert told.count("note: memory.offload_activations saves nothing on the CPU") == 1
    assert done.losses == without.losses and len(done.of(Step)) == 3
    assert_same(Left.by(done).weights, Left.by(without).weights, "weights")
    passes = len(copies) // 5  # three inputs leave, two come back: the last of them has not been let go yet
    assert len(copies) == 5 * passes and passes >= 4


def test_a_step_that_is_skipped_leaves_nothing_behind(train: Train, monkeypatch: pytest.MonkeyPatch) -> None:
    """It has no backward pass, so what was parked for that is never taken."""
    settings = ("--train.gradient_checkpointing", "full", "--train.max_steps", 6)
    runs = []
    for more in ((), OFFLOAD):
        with monkeypatch.context() as patch:
            break_loss(patch, lambda step: step == 3, lambda loss: loss * math.nan)
            runs.append(train(*settings, *more))
    without, done = runs
    assert [step.step for step in done.of(Step) if step.skipped] == [3]
    assert_same(Left.by(done).weights, Left.by(without).weights, "weights")


def test_a_run_goes_on_with_it_after_a_checkpoint_without(train: Train) -> None:
    settings = ("--train.gradient_checkpointing", "full", "--train.max_steps", 6)
    whole = train(*settings, "--train.save_steps", 3)
    resumed = train(*settings, *OFFLOAD, "--train.resume_from", whole.run.checkpoints / "step-3")
    assert [step.loss for step in resumed.of(Step)] == [step.loss for step in whole.of(Step)][3:]


def test_it_is_refused_where_nothing_is_computed_again(train: Train, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(IndexError):
        train(*OFFLOAD)
    error = capsys.readouterr().err
    assert "memory.offload_activations: it is the inputs of recomputed layers that go to main memory" in error
    assert "set train.gradient_checkpointing: full, mixers or selective" in error

"""Training in float8: the losses of bfloat16, about, with all weights and with frozen ones, compiled and not."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from engine.events import Step
from tests.train.conftest import Outcome
from tests.train.stack import RELEASE, Left

from .machine import on_gpu_alone
from .small import write_config

pytestmark = [pytest.mark.gpu, on_gpu_alone]
STEPS = 20
FLOAT8 = ("--memory.float8_training", "true")
COMMON = (
    *("--train.max_steps", STEPS, "--train.learning_rate", 3e-4, "--train.lr_scheduler", "constant"),
    *("--data.packing", "true", "--data.max_seq_length", 256),
)
CLOSE = 3e-2
"""Share of a loss: numbers in float8 have 3 bits of mantissa, and their errors mostly cancel out in a product."""


@pytest.fixture
def config_file(tmp_path: Path) -> Path:
    return write_config(tmp_path, intermediate_size=2048)  # matrices large enough to be worth it


@pytest.fixture(autouse=True)
def needs_float8() -> None:
    if torch.cuda.get_device_capability() < (8, 9):
        pytest.skip("this GPU knows no float8")


@pytest.mark.parametrize(
    "settings",
    [
        (*RELEASE, "--train.gradient_checkpointing", "selective"),
        ("--train.freeze_non_attention", "true"),
        (*RELEASE, "--train.gradient_checkpointing", "full", "--model.compile", "true"),
    ],
    ids=["release-selective", "frozen", "release-full-compiled"],
)
def test_it_learns_as_bfloat16_does(
    train: Callable[..., Outcome], settings: tuple[Any, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    plain, found = train(*COMMON, *settings), train(*COMMON, *settings, *FLOAT8)
    assert "matrices multiply in float8" in capsys.readouterr().out
    Left.by(found)
    losses, wanted = list(found.losses.values()), list(plain.losses.values())
    assert len(losses) == STEPS and None not in losses
    assert losses != wanted, "nothing was multiplied in float8"
    assert losses[0] == pytest.approx(wanted[0], rel=CLOSE / 10)
    assert losses == pytest.approx(wanted, rel=CLOSE)
    assert losses[0] - losses[-1] >= 0.9 * (wanted[0] - wanted[-1]) > 0.4, "it learns as much"
    first, its_first = found.of(Step)[0], plain.of(Step)[0]
    assert first.hidden_norm == pytest.approx(its_first.hidden_norm, rel=0.1)

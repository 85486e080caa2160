"""What is read back of a checkpoint, or why it cannot be."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from bitsandbytes.optim import AdamW8bit
from torch import nn

from engine.checkpoint.trainer_state import load_progress, restore_optimizer_and_random_state, save_trainer_state
from engine.errors import UserError


def trained(kind: type[torch.optim.Optimizer], dtype: torch.dtype = torch.float32) -> torch.optim.Optimizer:
    """An optimizer that has taken a step."""
    model = nn.Linear(4, 4).to(dtype)
    optimizer = kind(model.parameters(), lr=0.1)  # type: ignore[call-arg]
    model(torch.ones(1, 4, dtype=dtype)).sum().backward()
    optimizer.step()
    return optimizer


@pytest.fixture
def checkpoint(tmp_path: Path) -> Path:
    save_trainer_state(tmp_path, {}, trained(torch.optim.AdamW))
    return tmp_path


def test_the_state_of_another_optimizer_is_refused(checkpoint: Path) -> None:
    with pytest.raises(UserError, match=r"trained with train\.optimizer: adamw, this run has adam;"):
        restore_optimizer_and_random_state(checkpoint, trained(torch.optim.Adam))


def test_the_8_bit_state_of_an_earlier_version_is_refused_in_a_sentence(tmp_path: Path) -> None:
    save_trainer_state(tmp_path, {}, trained(AdamW8bit))
    with pytest.raises(UserError, match=r"saved by an earlier version .* give the checkpoint as model\.name_or_path"):
        restore_optimizer_and_random_state(tmp_path, trained(AdamW8bit))


def test_the_state_for_another_type_of_weights_is_refused(checkpoint: Path) -> None:
    with pytest.raises(UserError, match=r"model\.torch_dtype: float32, this run has bfloat16;"):
        restore_optimizer_and_random_state(checkpoint, trained(torch.optim.AdamW, torch.bfloat16))


@pytest.mark.parametrize("name", ["optimizer.pt", "random.pt"])
@pytest.mark.parametrize("damage", ["zeros", "cut"])
def test_a_damaged_file_is_named(checkpoint: Path, name: str, damage: str) -> None:
    file = checkpoint / "trainer_state" / name
    content = file.read_bytes()
    file.write_bytes(bytes(len(content)) if damage == "zeros" else content[: len(content) // 2])
    with pytest.raises(UserError, match=rf"trainer_state/{name} of the checkpoint .* is damaged"):
        restore_optimizer_and_random_state(checkpoint, trained(torch.optim.AdamW))


@pytest.mark.parametrize("content", ["", "{", "[]", "{}"])
def test_a_damaged_progress_is_named(checkpoint: Path, content: str) -> None:
    (checkpoint / "trainer_state" / "progress.json").write_text(content)
    with pytest.raises(UserError, match=r"trainer_state/progress\.json of the checkpoint .* is damaged"):
        load_progress(checkpoint)

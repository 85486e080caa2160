"""Everything besides the weights that the next step depends on: `trainer_state/` of a checkpoint."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import torch

from engine.checkpoint.store import TRAINER_STATE
from engine.errors import UserError
from engine.optim.state import load_optimizer_state


def save_trainer_state(folder: Path, progress: dict[str, Any], optimizer: torch.optim.Optimizer) -> None:
    """Write the loop's progress (JSON), the optimizer's state and the random generators below `folder`."""
    target = folder / TRAINER_STATE
    target.mkdir(exist_ok=True)
    (target / "progress.json").write_text(json.dumps(progress, indent=1) + "\n", encoding="utf-8")
    torch.save(optimizer.state_dict(), target / "optimizer.pt")
    torch.save(_random_state(), target / "random.pt")


def load_progress(checkpoint: Path) -> dict[str, Any]:
    """The loop's progress as it was saved. Raises UserError when it cannot be read."""
    try:
        progress: dict[str, Any] = json.loads(
            (checkpoint / TRAINER_STATE / "progress.json").read_text(encoding="utf-8")
        )
    except (OSError, ValueError) as error:
        raise UserError(f"train.resume_from: the checkpoint {checkpoint} cannot be read: {error}") from error
    return progress


def restore_optimizer_and_random_state(checkpoint: Path, optimizer: torch.optim.Optimizer) -> None:
    """Put the optimizer and the random generators back to where they were. Raises UserError on a mismatch."""
    source = checkpoint / TRAINER_STATE
    state = torch.load(source / "optimizer.pt", map_location="cpu", weights_only=True)
    try:
        load_optimizer_state(optimizer, state)
    except ValueError as error:
        raise UserError(f"train.resume_from: {checkpoint}: {error}") from error
    _restore_random_state(torch.load(source / "random.pt", map_location="cpu", weights_only=True))


def _random_state() -> dict[str, Any]:
    version, numbers, gauss = random.getstate()
    return {
        "python": [version, list(numbers), gauss],
        "torch": torch.get_rng_state(),
        "cuda": torch.cuda.get_rng_state_all() if torch.cuda.is_available() else [],
    }


def _restore_random_state(state: dict[str, Any]) -> None:
    version, numbers, gauss = state["python"]
    random.setstate((version, tuple(numbers), gauss))
    torch.set_rng_state(state["torch"])
    if torch.cuda.is_available() and len(state["cuda"]) == torch.cuda.device_count():
        torch.cuda.set_rng_state_all(state["cuda"])

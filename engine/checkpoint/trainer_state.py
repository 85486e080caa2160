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
from engine.pickles import what_was_refused

PROGRESS_KEYS = {"progress", "sampler", "health"}
"""The parts of the loop's progress, as `Trainer.state` gives them."""


def save_trainer_state(folder: Path, progress: dict[str, Any], optimizer: torch.optim.Optimizer) -> None:
    """Write the loop's progress (JSON), the optimizer's state and the random generators below `folder`."""
    target = folder / TRAINER_STATE
    target.mkdir(exist_ok=True)
    (target / "progress.json").write_text(json.dumps(progress, indent=1) + "\n", encoding="utf-8")
    torch.save({"made_by": _maker(optimizer), "state": optimizer.state_dict()}, target / "optimizer.pt")
    torch.save(_random_state(), target / "random.pt")


def load_progress(checkpoint: Path) -> dict[str, Any]:
    """The loop's progress as it was saved. Raises UserError when it cannot be read."""
    try:
        progress: dict[str, Any] = json.loads(
            (checkpoint / TRAINER_STATE / "progress.json").read_text(encoding="utf-8")
        )
    except (OSError, ValueError) as error:
        raise _damaged(checkpoint, "progress.json") from error
    if not isinstance(progress, dict) or not progress.keys() >= PROGRESS_KEYS:
        raise _damaged(checkpoint, "progress.json")
    return progress


def restore_optimizer_and_random_state(checkpoint: Path, optimizer: torch.optim.Optimizer) -> None:
    """Put the optimizer and the random generators back to where they were.

    Raises UserError when they cannot be read, or were saved with another optimizer, type of weights or model.
    """
    saved, random_state = (_load(checkpoint, name) for name in ("optimizer.pt", "random.pt"))
    try:
        _check_maker(saved["made_by"], _maker(optimizer))
        _check_form(saved["state"])
        _widen_moments(saved["state"])
        load_optimizer_state(optimizer, saved["state"])
    except ValueError as error:
        raise UserError(f"train.resume_from: {checkpoint}: {error}") from error
    _restore_random_state(random_state)


def _load(checkpoint: Path, name: str) -> dict[str, Any]:
    """One file of the trainer's state, nothing but tensors and numbers; whatever torch says of a damaged one."""
    try:
        content: dict[str, Any] = torch.load(checkpoint / TRAINER_STATE / name, map_location="cpu", weights_only=True)
    except Exception as error:
        if refused := what_was_refused(error):
            raise _not_only_tensors(checkpoint, name, refused) from error
        raise _damaged(checkpoint, name) from error
    return content


def _not_only_tensors(checkpoint: Path, name: str, refused: str) -> UserError:
    return UserError(
        f"train.resume_from: {TRAINER_STATE}/{name} of the checkpoint {checkpoint} would run code ({refused}), so it "
        "is not loaded; give another one, or this one as model.name_or_path to start from its weights alone."
    )


def _damaged(checkpoint: Path, name: str) -> UserError:
    return UserError(
        f"train.resume_from: {TRAINER_STATE}/{name} of the checkpoint {checkpoint} is damaged; give an earlier "
        "checkpoint, or move this one away and resume again."
    )


def _maker(optimizer: torch.optim.Optimizer) -> dict[str, str]:
    """What the form of an optimizer's state depends on, by the config's key for it."""
    dtypes = {str(parameter.dtype) for group in optimizer.param_groups for parameter in group["params"]}
    return {
        "train.optimizer": getattr(optimizer, "name", type(optimizer).__name__.lower()),
        "train.hyperball": "true" if getattr(optimizer, "hyperball", None) is not None else "false",
        "model.torch_dtype": ", ".join(sorted(dtypes)).replace("torch.", ""),
    }


def _check_maker(saved: dict[str, str], here: dict[str, str]) -> None:
    saved = {"train.hyperball": "false"} | saved  # checkpoints from before the key
    for key, value in here.items():
        if saved[key] != value:
            raise ValueError(
                f"it was trained with {key}: {saved[key]}, this run has {value}; set that back, or give the checkpoint "
                "as model.name_or_path to start from its weights alone"
            )


def _check_form(state: dict[str, Any]) -> None:
    """Earlier versions used the classes of bitsandbytes, which keep a parameter's tensors in a dict of their own."""
    if any(isinstance(value, dict) for of_parameter in state["state"].values() for value in of_parameter.values()):
        raise ValueError(
            "its 8-bit optimizer state was saved by an earlier version in a form that this one does not read; give the "
            "checkpoint as model.name_or_path to start from its weights alone"
        )


def _widen_moments(state: dict[str, Any]) -> None:
    """Moments are float32; those of bfloat16 weights were bfloat16 in earlier versions, and lose nothing by it."""
    for of_parameter in state["state"].values():
        for name, value in of_parameter.items():
            if isinstance(value, torch.Tensor) and value.dtype in (torch.bfloat16, torch.float16):
                of_parameter[name] = value.float()


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

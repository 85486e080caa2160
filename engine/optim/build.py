"""The optimizer of a run, its parameter groups, and its learning rate."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any

import torch
from torch import Tensor

from engine.config.schema import Train

POSITION_EMBEDDING_NAMES = frozenset({"wte", "wpe"})


def build_optimizer(named_parameters: Iterable[tuple[str, Tensor]], train: Train) -> torch.optim.Optimizer:
    """Return `train.optimizer` over the trainable parameters: torch's AdamW, or one of bitsandbytes.

    Matrices decay, everything else does not (see `takes_weight_decay`). Raises ValueError if nothing is trainable, or
    if the optimizer needs bitsandbytes and it cannot be imported.
    """
    groups = parameter_groups(named_parameters, train.weight_decay)
    if not groups:
        raise ValueError("no weight of the model is trainable: nothing to optimize (see train.freeze_non_attention)")
    rate, betas = train.learning_rate, train.effective_betas
    if train.optimizer == "adamw":
        return torch.optim.AdamW(groups, lr=rate, betas=betas, fused=_runs_fused(groups))
    optimizers = _import_bitsandbytes(train.optimizer).optim
    build = {"adamw8bit": optimizers.AdamW8bit, "lion": optimizers.Lion, "lion8bit": optimizers.Lion8bit}
    optimizer: torch.optim.Optimizer = build[train.optimizer](groups, lr=rate, betas=betas)
    return optimizer


def parameter_groups(named_parameters: Iterable[tuple[str, Tensor]], weight_decay: float) -> list[dict[str, Any]]:
    """Return up to two groups, those that decay first, with trainable parameters only; a shared one appears once."""
    decayed: list[Tensor] = []
    undecayed: list[Tensor] = []
    seen: set[int] = set()
    for name, parameter in named_parameters:
        if parameter.requires_grad and id(parameter) not in seen:
            seen.add(id(parameter))
            (decayed if takes_weight_decay(name, parameter) else undecayed).append(parameter)
    groups = [{"params": decayed, "weight_decay": weight_decay}, {"params": undecayed, "weight_decay": 0.0}]
    return [group for group in groups if group["params"]]


def takes_weight_decay(name: str, parameter: Tensor) -> bool:
    """Tensors of two and more dimensions decay, unless a part of the name says embedding or norm.

    Biases, norm weights and other vectors set a scale or an offset, for which zero is no natural centre; rows of an
    embedding that the data never use would only shrink. A head tied to the embedding counts as the embedding.
    """
    parts = name.lower().split(".")
    is_embedding = any("embed" in part or part in POSITION_EMBEDDING_NAMES for part in parts)
    is_norm = any("norm" in part for part in parts)
    return parameter.ndim >= 2 and not is_embedding and not is_norm


def set_learning_rate(optimizer: torch.optim.Optimizer, learning_rate: float) -> None:
    """Give every group of the optimizer this learning rate."""
    for group in optimizer.param_groups:
        group["lr"] = learning_rate


def _runs_fused(groups: list[dict[str, Any]]) -> bool:
    """Whether torch has one kernel for the whole step on the devices of these parameters."""
    return all(parameter.device.type in ("cuda", "cpu") for group in groups for parameter in group["params"])


def _import_bitsandbytes(optimizer: str) -> ModuleType:
    try:
        with _quiet_missing_kernels():
            import bitsandbytes
    except (ImportError, OSError, RuntimeError) as error:
        raise ValueError(
            f"train.optimizer: {optimizer} needs the package bitsandbytes, which cannot be imported ({error}); "
            "install it (pip install bitsandbytes) or set train.optimizer: adamw"
        ) from error
    module: ModuleType = bitsandbytes
    return module


@contextmanager
def _quiet_missing_kernels() -> Iterator[None]:
    """Keep bitsandbytes from warning, on import, about 4-bit matrix kernels that no optimizer uses."""
    logger = logging.getLogger("bitsandbytes.backends.cpu.ops")
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        yield
    finally:
        logger.setLevel(level)

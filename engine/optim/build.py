"""The optimizer of a run, its parameter groups, and its learning rate."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any

from torch import Tensor

from engine.config.schema import Train
from engine.optim.hyperball import Hyperball
from engine.optim.rules.adamw import AdamW
from engine.optim.rules.blockwise import bitsandbytes_rule
from engine.optim.tensor_optimizer import TensorOptimizer

POSITION_EMBEDDING_NAMES = frozenset({"wte", "wpe"})


def build_optimizer(
    named_parameters: Iterable[tuple[str, Tensor]], train: Train, matrices: Collection[str] = ()
) -> TensorOptimizer:
    """Return `train.optimizer` over the trainable parameters, those named in `matrices` under Hyperball.

    Matrices decay, everything else does not (see `takes_weight_decay`). Raises ValueError if nothing is trainable, or
    if the optimizer needs bitsandbytes and it cannot be imported.
    """
    named = list(named_parameters)
    groups = parameter_groups(named, train.weight_decay)
    if not groups:
        raise ValueError("no weight of the model is trainable: nothing to optimize (see train.freeze_non_attention)")
    on_sphere = [parameter for name, parameter in named if name in matrices]
    return TensorOptimizer(
        groups,
        AdamW() if train.optimizer == "adamw" else bitsandbytes_rule(train.optimizer),
        train.optimizer,
        learning_rate=train.learning_rate,
        betas=train.effective_betas,
        seed=train.seed,
        stochastic_rounding=bool(train.stochastic_rounding),
        hyperball=Hyperball(on_sphere, train.hyperball_lr or 0.0, train.learning_rate) if on_sphere else None,
    )


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

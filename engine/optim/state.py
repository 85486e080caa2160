"""The state of an optimizer: what it holds, and how it comes back from a checkpoint bit for bit."""

from __future__ import annotations

from typing import Any

import torch

IMPLEMENTATION_OPTIONS = ("fused", "foreach", "capturable", "differentiable")
"""Options of a group that say how a step is computed on this device, not what it computes."""
PARAMETER_SHAPED = frozenset({"exp_avg", "exp_avg_sq", "state1", "state2"})
"""The state tensors, of torch and of bitsandbytes, that have their parameter's shape."""


def state_tensors(state: Any) -> list[torch.Tensor]:
    """All tensors in an optimizer's state, however deep, each once."""
    found: dict[int, torch.Tensor] = {}
    waiting = [state]
    while waiting:
        value = waiting.pop()
        if isinstance(value, torch.Tensor):
            found[id(value)] = value
        elif isinstance(value, dict):
            waiting.extend(value.values())
        elif isinstance(value, list | tuple):
            waiting.extend(value)
    return list(found.values())


def load_optimizer_state(optimizer: torch.optim.Optimizer, state: dict[str, Any]) -> None:
    """Load what `optimizer.state_dict()` returned, keeping every tensor's type and this device's implementation.

    `load_state_dict` by itself casts the state to the parameters' type, which would round float32 moments of bfloat16
    weights, and takes over how the saving machine computed its steps. Raises ValueError if the state belongs to other
    parameters.
    """
    _check_sizes(optimizer, state)
    here = [{key: group[key] for key in IMPLEMENTATION_OPTIONS if key in group} for group in optimizer.param_groups]
    groups = [saved | options for saved, options in zip(state["param_groups"], here, strict=True)]
    optimizer.load_state_dict({**state, "param_groups": groups})
    _restore_types(optimizer, state)


def _check_sizes(optimizer: torch.optim.Optimizer, state: dict[str, Any]) -> None:
    expected = [len(group["params"]) for group in optimizer.param_groups]
    found = [len(group["params"]) for group in state["param_groups"]]
    if expected != found:
        raise ValueError(
            f"the optimizer state is of another model or config: it holds groups of {found} parameters, the optimizer "
            f"has {expected}; check train.optimizer, train.freeze_non_attention and model.name_or_path"
        )
    for parameter, saved in _pairs(optimizer, state):
        for name, value in _tensors(saved).items():
            if name in PARAMETER_SHAPED and value.shape != parameter.shape:
                raise ValueError(
                    f"the optimizer state is of another model: {name} has the shape {tuple(value.shape)}, "
                    f"its parameter {tuple(parameter.shape)}; check model.name_or_path"
                )


def _restore_types(optimizer: torch.optim.Optimizer, state: dict[str, Any]) -> None:
    """Replace each tensor that was cast on loading by the saved one."""
    for parameter, saved in _pairs(optimizer, state):
        loaded = optimizer.state[parameter]
        for name, value in _tensors(saved).items():
            if loaded[name].dtype != value.dtype:
                loaded[name] = value.to(loaded[name].device, copy=True)


def _pairs(optimizer: torch.optim.Optimizer, state: dict[str, Any]) -> list[tuple[torch.Tensor, dict[str, Any]]]:
    """Return each parameter with its saved state; parameters without one are left out."""
    parameters = [parameter for group in optimizer.param_groups for parameter in group["params"]]
    keys = [key for group in state["param_groups"] for key in group["params"]]
    return [(p, state["state"][key]) for p, key in zip(parameters, keys, strict=True) if key in state["state"]]


def _tensors(saved: dict[str, Any]) -> dict[str, torch.Tensor]:
    """Return the tensors of one parameter's state, those that bitsandbytes wraps in an inner dict among them."""
    found: dict[str, torch.Tensor] = {}
    for name, value in saved.items():
        if isinstance(value, torch.Tensor):
            found[name] = value
        elif isinstance(value, dict):
            found |= _tensors(value)
    return found

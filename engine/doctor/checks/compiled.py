"""Compiled layers compute what the eager ones do, and other lengths compile nothing again."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from engine.doctor.checks.numbers import relative_error
from engine.doctor.checks.tiny import VOCABULARY, tiny_model
from engine.doctor.result import Outcome, Patient, failed, ok
from engine.model.decoder import decoder_of
from engine.model.delta_rule.install import use_delta_rule_operator
from engine.model.load import pick_device

if TYPE_CHECKING:
    from transformers import PreTrainedModel

LIMITS = {torch.float32: 1e-4, torch.bfloat16: 3e-2}
"""Fused operations round at other places; a graph that computes something else is off by far more."""
_LENGTHS = (24, 41, 33)
_FIX = "model.compile: false"
Compile = Callable[["PreTrainedModel"], None]


def check_compiled(patient: Patient) -> Outcome:
    """Where the config compiles: the gradient of a small model, with compiled layers and without. Raises UserError."""
    if patient.loaded is None or not patient.loaded.config.model.compile:
        return ok("model.compile is false: nothing is compiled but the kernels")
    from engine.model.compiled.compiler import require_compiler  # here, as the compiler takes seconds to import

    device = pick_device()
    require_compiler(device)
    return judge(as_a_run_does, device.type)


def as_a_run_does(model: PreTrainedModel) -> None:
    """Compile the layers for batches whose length varies."""
    from engine.model.compiled import compile_layers

    compile_layers(model, fixed_length=False)


def judge(compile_model: Compile, device: str = "cpu") -> Outcome:
    """The verdict on a function that lets a model run compiled."""
    from engine.model.compiled.watch import Compiled

    dtype = torch.bfloat16 if device == "cuda" else torch.float32
    model = tiny_model(dtype)
    model.to(device)
    use_delta_rule_operator(model)
    wanted = [_gradient(model, length) for length in _LENGTHS]
    before = Compiled.so_far()
    compile_model(model)
    found = [_gradient(model, _LENGTHS[0])]
    made = Compiled.so_far().since(before)
    found += [_gradient(model, length) for length in _LENGTHS[1:]]
    again = Compiled.so_far().since(before).graphs - made.graphs
    error = max(map(relative_error, found, wanted))
    if not error <= LIMITS[dtype]:
        return failed(f"compiled layers give a gradient that is {error:.1e} off (allowed {LIMITS[dtype]:.0e})", _FIX)
    if not made.graphs:
        return failed("the compiler was asked and has compiled nothing", _FIX)
    if again:
        return failed(
            f"lines of another length are compiled anew: {again} graphs more than the first {made.graphs}", _FIX
        )
    return ok(
        f"{made.graphs} graphs, compiled in {made.seconds:.0f} s, give the gradient of the eager layers to {error:.0e}"
    )


def _gradient(model: PreTrainedModel, length: int) -> Tensor:
    """The gradient of all weights for two lines of so many tokens, one after another."""
    ids = torch.randint(VOCABULARY, (2, length), generator=torch.Generator().manual_seed(length)).to(model.device)
    hidden = decoder_of(model)(input_ids=ids, use_cache=False).last_hidden_state  # [B, S, H]
    weights = torch.linspace(-1, 1, hidden.numel(), device=hidden.device).view_as(hidden)
    trained = [parameter for parameter in decoder_of(model).parameters() if parameter.requires_grad]
    gradients = torch.autograd.grad((hidden.float() * weights).sum(), trained)
    return torch.cat([one.float().flatten() for one in gradients])

"""Runs a layer forward and backward on the meta device, and records it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from engine.memory.estimate.layers.imagined import IMAGINED
from engine.memory.estimate.layers.kinds import Told
from engine.memory.estimate.layers.outputs import Outputs, Remembering
from engine.memory.estimate.layers.tape import Imagined, Recording, Tape


def record(
    layer: nn.Module,
    hidden: Tensor,
    told: Told,
    *,
    frees_gradients: bool,
    imagined: Mapping[str, Imagined] = IMAGINED,
    outputs: Outputs | None = None,
) -> Recording:
    """The recording of a layer on `hidden` [B, S, H], of the meta device or, without `imagined` kernels, of any.

    With `frees_gradients` a weight's gradient is gone as soon as it is complete. `outputs` are those of recordings
    before.
    """
    tape, anchor = Tape(imagined, outputs), torch.empty((), dtype=hidden.dtype, device=hidden.device)
    weights = [weight for weight in layer.parameters() if weight.requires_grad]
    hooks = [
        weight.register_post_accumulate_grad_hook(_free)  # type: ignore[no-untyped-call]
        for weight in weights
        if frees_gradients
    ]
    try:
        with tape:
            _pass(layer, hidden, told, tape, anchor)
        tape.recording.gradients = _gradients(tape, weights)
        tape.recording.vector_gradients = _gradients(tape, [weight for weight in weights if weight.dim() == 1])
        return tape.ended()
    finally:
        for hook in hooks:
            hook.remove()
        for weight in weights:
            weight.grad = None


def pass_through(layer: nn.Module, hidden: Tensor, told: Told, outputs: Outputs) -> None:
    """A layer forward and backward, without a gradient of its weights."""
    with Remembering(outputs):
        leaf = hidden.detach().requires_grad_()
        output = output_of(layer(leaf, *told.args, **told.kwargs))
        torch.autograd.grad(output, leaf, torch.empty_like(output))


def output_of(returned: Any) -> Tensor:
    """The hidden states among what a layer returns."""
    output: Tensor = returned[0] if isinstance(returned, tuple) else returned
    return output


def _pass(layer: nn.Module, hidden: Tensor, told: Told, tape: Tape, anchor: Tensor) -> None:
    """Nothing here holds the input, the output or a gradient longer than a training step does."""
    below: Tensor = _Below.apply(hidden.detach().requires_grad_())  # type: ignore[no-untyped-call]
    tape.recording.input = _known(tape, below)
    end: Tensor = _Above.apply(  # type: ignore[no-untyped-call]
        output_of(layer(below, *told.args, **told.kwargs)), anchor, tape
    )
    del below
    tape.recording.boundary = len(tape.recording.operations)
    end.backward()  # type: ignore[no-untyped-call]


def _gradients(tape: Tape, weights: Sequence[Tensor]) -> tuple[int, ...]:
    """The storages of those gradients that are there."""
    found = (tape.number_of(weight.grad) for weight in weights if weight.grad is not None)
    return tuple(number for number in found if number is not None)


def _known(tape: Tape, tensor: Tensor) -> int:
    number = tape.number_of(tensor)
    assert number is not None, "memory that was made while the tape ran"
    return number


def _free(weight: Tensor) -> None:
    weight.grad = None


class _Below(torch.autograd.Function):
    """Makes the layer's input, as the layer below does, and takes its gradient."""

    @staticmethod
    def forward(ctx: Any, hidden: Tensor) -> Tensor:
        return hidden.clone()

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> None:
        return None


class _Above(torch.autograd.Function):
    """Takes the layer's output and makes its gradient, as the layer above does: neither is held here."""

    @staticmethod
    def forward(ctx: Any, output: Tensor, anchor: Tensor, tape: Tape) -> Tensor:
        """`anchor` [] is the end of the graph."""
        ctx.like, ctx.tape = (output.shape, output.dtype, output.device), tape
        tape.recording.output = _known(tape, output)
        return anchor.view(())

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None, None]:
        shape, dtype, device = ctx.like
        incoming = torch.empty(shape, dtype=dtype, device=device)
        ctx.tape.recording.incoming = _known(ctx.tape, incoming)
        return incoming, None, None

"""The forward pass cut at the last hidden state, so that a step can be judged before the model's body has gradients.

Everything above the cut (the head) is differentiated by `torch.autograd.grad`, which fires no hook of a parameter. The
gradients of the head go into `.grad` before the body's own backward pass: a head tied to the embedding gets both parts
of its gradient as one, and is complete once. The weight of a tiled head is left out of that (`tiled_head.py`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from engine.backward.tiled_head import UnmadeGradient, rows_looked_up_alone
from engine.data.feeding.batches import Batch
from engine.loss import HeadTokens
from engine.model.decoder import decoder_of
from engine.model.head import LossHead


@dataclass(frozen=True, slots=True)
class CutForward:
    """One micro-batch forward: the summed loss above the cut, the hidden states below it."""

    loss: Tensor
    """The cross-entropy summed over the loss tokens, a scalar."""
    hidden: Tensor
    """[B, S, H], the end of the body's graph."""
    leaf: Tensor
    """[B, S, H], the same values as the beginning of the head's graph."""
    tokens: HeadTokens | None = None
    """What the gradient of a tiled head's weight can be made from; the graph has none of it."""
    input_ids: Tensor | None = None
    """[B, S] on the host, beside `tokens`."""


@dataclass(frozen=True, slots=True)
class AtCut:
    """A micro-batch whose head is differentiated and whose body is not yet."""

    hidden: Tensor
    """[B, S, H], the end of the body's graph."""
    gradient: Tensor
    """[B, S, H], the gradient of the step's mean loss there."""
    head_parameters: tuple[Tensor, ...]
    """Trained weights above the cut; their gradient of this micro-batch is in `.grad` already."""
    unmade: UnmadeGradient | None = None
    """The gradient of a tiled head's weight, which is in no `.grad`."""

    def backward(self) -> None:
        """Differentiate the body, where any of its weights is trained."""
        if self.hidden.requires_grad:
            self.hidden.backward(self.gradient)  # type: ignore[no-untyped-call]


def forward_to_cut(head: LossHead, batch: Batch) -> CutForward:
    """The summed loss of a micro-batch, with the graph cut at the decoder's last hidden state."""
    given = (batch.input_ids, batch.labels, batch.packs)
    with _cutting(decoder_of(head.model)) as ends:
        if not head.is_tiled:
            return CutForward(head.summed_loss(*given), *_only(ends))
        with rows_looked_up_alone(head.model):
            loss, tokens = head.summed_loss_and_tokens(*given)
        return CutForward(loss, *_only(ends), tokens, batch.input_ids)


def differentiate_head(forward: CutForward, loss_tokens: int) -> AtCut:
    """Add the head's gradients of loss / loss_tokens to its `.grad`, and return the gradient at the cut."""
    parameters = tuple(leaf for leaf in _leaves_of(forward.loss) if leaf is not forward.leaf)
    gradient, *of_head = torch.autograd.grad(forward.loss / loss_tokens, (forward.leaf, *parameters))
    for parameter, its_gradient in zip(parameters, of_head, strict=True):
        _add_to_gradient(parameter, its_gradient)
    return AtCut(forward.hidden, gradient, parameters, _unmade(forward, loss_tokens))


def _unmade(forward: CutForward, loss_tokens: int) -> UnmadeGradient | None:
    if forward.tokens is None:
        return None
    assert forward.input_ids is not None
    return UnmadeGradient(forward.tokens, torch.ones_like(forward.loss) / loss_tokens, forward.input_ids)


@contextmanager
def _cutting(decoder: nn.Module) -> Iterator[list[tuple[Tensor, Tensor]]]:
    """Within, the decoder hands out its last hidden state detached; both ends of each cut are in the list."""
    ends: list[tuple[Tensor, Tensor]] = []

    def cut(module: nn.Module, arguments: Any, output: Any) -> Any:
        is_tuple = isinstance(output, tuple)
        hidden = output[0] if is_tuple else output.last_hidden_state
        leaf = hidden.detach().requires_grad_()
        ends.append((hidden, leaf))
        if is_tuple:
            return (leaf, *output[1:])
        output.last_hidden_state = leaf
        return output

    hook = decoder.register_forward_hook(cut)
    try:
        yield ends
    finally:
        hook.remove()


def _only(ends: Sequence[tuple[Tensor, Tensor]]) -> tuple[Tensor, Tensor]:
    assert len(ends) == 1, f"the decoder ran {len(ends)} times in one forward pass"
    return ends[0]


def _leaves_of(loss: Tensor) -> Sequence[Tensor]:
    """The tensors that the loss's graph accumulates gradients into, in the order in which the graph is walked."""
    leaves: list[Tensor] = []
    seen: set[Any] = set()
    waiting: list[Any] = [loss.grad_fn]
    while waiting:
        node = waiting.pop()
        if node is None or node in seen:
            continue
        seen.add(node)
        if hasattr(node, "variable"):
            leaves.append(node.variable)
        waiting.extend(function for function, _ in node.next_functions)
    return leaves


def _add_to_gradient(parameter: Tensor, gradient: Tensor) -> None:
    if parameter.grad is None:
        parameter.grad = gradient
    else:
        parameter.grad += gradient

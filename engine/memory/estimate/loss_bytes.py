"""What the pass through the head holds (`engine.loss`, `engine.model.head`), and what a tiled head does afterwards."""

from __future__ import annotations

from dataclasses import dataclass

from engine.config.schema import Memory
from engine.loss.chunked import TOKENS_WORTH_A_SUM
from engine.loss.passes import tiles_of
from engine.memory.estimate.phases import LossBytes, Worked

WIDE = 4
"""Bytes of a number that is accumulated."""


@dataclass(frozen=True, slots=True)
class Head:
    """A head's weight [V, H], its numbers of `element` bytes, and the tokens that it meets, all of them with loss."""

    vocabulary: int
    width: int
    element: int
    is_trained: bool
    tokens: int

    @property
    def weight(self) -> int:
        """Bytes of the weight, and of its gradient."""
        return self.vocabulary * self.width * self.element

    @property
    def states(self) -> int:
        """Bytes of the hidden states of all tokens."""
        return self.tokens * self.width * self.element

    @property
    def rounded(self) -> int:
        """Bytes of a number in the weight's own type, where that is not the one that sums have."""
        return self.element if self.element < WIDE else 0


def loss_bytes(head: Head, memory: Memory) -> LossBytes:
    """The loss and its gradients, as `differentiate_head` makes them."""
    if not memory.chunked_loss:
        return _of_full_logits(head)
    is_tiled = memory.tiled_head and head.is_trained
    makes_weight = head.is_trained and not is_tiled
    chunk = min(memory.loss_chunk_tokens, head.tokens)
    logits = chunk * head.vocabulary * (WIDE + head.rounded) + chunk * head.width * WIDE
    first = 2 * head.states + logits  # the states of the tokens with loss, and their gradient
    if not makes_weight:
        held = head.states * (2 if is_tiled else 1)
        return LossBytes((Worked(first),), held, 0)
    if head.rounded and head.tokens > chunk and chunk < TOKENS_WORTH_A_SUM:
        second = Worked(3 * head.states + _tile(head), head.weight)
        return LossBytes((Worked(first), second), head.states, head.weight)
    is_sum = bool(head.rounded) and head.tokens > chunk
    wide = head.vocabulary * head.width * WIDE if is_sum else 0
    moments = (Worked(first + wide, 0 if is_sum else head.weight), Worked(2 * head.states + wide, head.weight))
    return LossBytes(moments, head.states, head.weight)


def tiles_bytes(head: Head, tied: bool) -> Worked:
    """A tiled head's own pass: a tile at a time and, where it is the embedding too, the gradients of looked-up rows.

    Those are first one for each token, then one for each different token, of which there may be as many.
    """
    return Worked(_tile(head) + (2 * head.states if tied else 0))


def _of_full_logits(head: Head) -> LossBytes:
    """The log-softmax of all tokens and two gradients of its size; later the gradient of rounded logits alone."""
    logits = head.tokens * head.vocabulary
    gradients = head.weight if head.is_trained else 0
    moments = (Worked(3 * WIDE * logits), Worked(head.element * logits + head.states, gradients))
    return LossBytes(moments, head.states, gradients)


def _tile(head: Head) -> int:
    """The most that one tile holds: logits with their gradient, or this and the gradient of the tile's weights."""
    begin, end = tiles_of(head.vocabulary, head.width, head.tokens, head.element)[0]
    rows = end - begin
    rounded = head.rounded or WIDE  # the gradient of the logits takes the place of wide ones
    in_logits = head.tokens * (WIDE + head.rounded)
    in_weights = head.tokens * rounded + head.width * (WIDE + head.rounded)
    return rows * max(in_logits, in_weights)

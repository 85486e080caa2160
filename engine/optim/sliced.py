"""An update in torch: any rule, any device, on float32 slices of a tensor, so that no second copy of it exists."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from engine.optim.hyperball import Hyperball
from engine.optim.movement import Movement, watched
from engine.optim.random_bits import BitStream
from engine.optim.rounding import round_stochastically
from engine.optim.rules.rule import Rule, Settings, slice_of_state

RULE_TENSORS = frozenset({"exp_avg", "exp_avg_sq", "state1", "state2", "absmax1", "absmax2"})
"""The names under which rules keep tensors in the state."""


class SlicedUpdate:
    """One parameter's step, in slices of `limit` elements."""

    def __init__(
        self,
        rule: Rule,
        parameter: Tensor,
        state: dict[str, Any],
        settings: Settings,
        limit: int,
        keep: Tensor | None,
        writer: Writer,
    ) -> None:
        self._rule = rule
        self._weights = parameter.view(-1)
        self._state = state
        self._settings = settings
        self._limit = limit
        self._keep = keep
        self._writer = writer

    def freely(self, gradient: Tensor, first: int = 0) -> None:
        """Move the elements from `first` (a multiple of BLOCK) on by `gradient` [n]."""
        for begin, end in slices(first, first + len(gradient), self._limit):
            stored = self._weights[begin:end]
            before = self._writer.watch(stored, begin)
            in_place = stored.dtype == torch.float32 and self._keep is None
            moved = stored if in_place else stored.to(torch.float32, copy=True)
            self._move(moved, gradient[begin - first : end - first], begin, self._settings)
            self._writer.write(stored, moved, begin, before)

    def on_sphere(self, hyperball: Hyperball, parameter: Tensor, gradient: Tensor) -> None:
        """Turn the parameter's matrices on their spheres, as many at a time as fit into a slice, at least one."""
        pure = replace(self._settings, learning_rate=1.0, weight_decay=0.0)  # moves zeros by the direction itself
        limit, rate = self._limit, self._settings.learning_rate
        for bucket in hyperball.buckets(parameter, limit):
            direction = torch.zeros(bucket.end - bucket.begin, dtype=torch.float32, device=parameter.device)
            for begin, end in slices(bucket.begin, bucket.end, limit):
                part = direction[begin - bucket.begin : end - bucket.begin]
                self._move(part, gradient[begin:end], begin, pure)
            hyperball.turn(direction, self._weights, bucket, self._state, rate, limit, self._keep)
            for begin, end in slices(bucket.begin, bucket.end, limit):
                stored, moved = self._weights[begin:end], direction[begin - bucket.begin : end - bucket.begin]
                self._writer.write(stored, moved, begin, self._writer.watch(stored, begin))

    def _move(self, moved: Tensor, gradient: Tensor, begin: int, settings: Settings) -> None:
        """Move a float32 slice [n] of the parameter from element `begin` on, and the state that belongs to it."""
        names = tuple(name for name in self._state if name in RULE_TENSORS)
        part = slice_of_state(self._state, names, begin, begin + len(moved))
        if self._keep is None:
            self._rule.move(moved, gradient.to(torch.float32), part, settings)
            return
        before = {name: tensor.clone() for name, tensor in part.items()}
        self._rule.move(moved, gradient.to(torch.float32), part, settings)
        for name, tensor in part.items():
            tensor.copy_(torch.where(self._keep, tensor, before[name]))


class Writer:
    """Puts float32 slices into the stored weights of one tensor: rounded, or refused, and their movement counted."""

    def __init__(self, size: int, stream: BitStream | None, movement: Movement, keep: Tensor | None) -> None:
        self._size = size
        self._stream = stream
        self._movement = movement
        self._keep = keep

    def watch(self, values: Tensor, begin: int) -> Tensor:
        """A copy of the watched ones among `values`, the tensor's elements from `begin` on."""
        return watched(values, begin, self._size).clone()

    def write(self, stored: Tensor, moved: Tensor, begin: int, before: Tensor) -> None:
        """Store `moved` (float32 [n], used up), whose watched weights were `before`, as the elements from `begin`."""
        asked = self.watch(moved, begin)
        if self._stream is not None:
            moved = round_stochastically(moved, self._stream.draw(begin, len(moved), moved.device))
        if self._keep is not None:
            moved = torch.where(self._keep, moved.to(stored.dtype), stored)
        if moved is not stored:
            stored.copy_(moved)
        self._movement.add(before, asked, watched(stored, begin, self._size), self._keep)


def slices(begin: int, end: int, size: int) -> Iterator[tuple[int, int]]:
    """Yield the borders of consecutive slices of at most `size` elements that cover `begin` to `end`."""
    return ((start, min(start + size, end)) for start in range(begin, end, size))

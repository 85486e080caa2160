"""The optimizer of every run: it moves one tensor at a time, in slices; no second copy of the weights exists."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from engine.optim.hyperball import Hyperball
from engine.optim.movement import Movement, watched
from engine.optim.random_bits import BitStream
from engine.optim.rounding import round_stochastically
from engine.optim.rules.rule import Rule, Settings, slice_of_state

SLICE_ON_CPU = 2**18
"""Elements worked on at once: small enough for a core's cache, which halves the time."""
SLICE = 2**22
"""The same on other devices, where few and large kernels are fast."""


class TensorOptimizer(torch.optim.Optimizer):
    """Moves one tensor at a time, so that a step may also happen inside the backward pass.

    Weights of lower precision are updated in a temporary float32 copy of one slice, then rounded: at random if
    `stochastic_rounding`, else to the nearest number. The random bits depend on seed, step, parameter and element only.
    """

    def __init__(
        self,
        groups: Iterable[dict[str, Any]],
        rule: Rule,
        name: str,
        *,
        learning_rate: float,
        betas: tuple[float, float],
        seed: int = 0,
        stochastic_rounding: bool = False,
        hyperball: Hyperball | None = None,
        slice_size: int | None = None,
    ) -> None:
        super().__init__(groups, {"lr": learning_rate, "betas": betas, "eps": rule.eps, "weight_decay": 0.0})
        self.rule = rule
        self.name = name
        self.hyperball = hyperball
        self._seed = seed
        self._stochastic = stochastic_rounding
        self._slice_size = slice_size
        self._step = 0
        self._places = {id(parameter): place for place, parameter in enumerate(self._parameters())}
        self._unsettled: list[tuple[dict[str, Any], Tensor]] = []
        self._movement = Movement(next(self._parameters()).device)
        for parameter in self._parameters():
            if not parameter.is_contiguous():
                parameter.data = parameter.data.contiguous()

    def begin_step(self, step: int, learning_rate: float) -> None:
        """Start the run's step number `step`, from 1: its random bits, its learning rate, no movement yet."""
        self._settle_counts()
        self._step = step
        self._movement = Movement(self._movement.sums.device)
        for group in self.param_groups:
            group["lr"] = learning_rate

    @torch.no_grad()
    def update(self, parameter: Tensor, gradient: Tensor, keep: Tensor | None = None) -> None:
        """Take one parameter's whole step with `gradient` (of its shape). Never waits for the device.

        Where `keep`, a bool scalar on the device, is False, weights and state stay bit for bit as they were.
        """
        state = self._state_of(parameter)
        if self.rule.counts_updates:
            state["step"] += 1
            if keep is not None:
                self._unsettled.append((state, keep))
        if self.hyperball is not None and self.hyperball.has(parameter):
            self._update_on_sphere(self.hyperball, parameter, gradient, self._settings(parameter), keep)
        else:
            self._update_freely(parameter, gradient, self._settings(parameter), keep)

    @torch.no_grad()
    def step(self, closure: Callable[[], float] | None = None) -> None:  # type: ignore[override]
        """Update each parameter that has a gradient, in order."""
        assert closure is None, "the loss is not computed again here"
        for parameter in self._parameters():
            if parameter.grad is not None:
                self.update(parameter, parameter.grad)

    @torch.no_grad()
    def allocate_state(self) -> None:
        """Make the state of all parameters now, so that a rehearsal sees the run's true memory."""
        for parameter in self._parameters():
            self._state_of(parameter)

    def movement(self) -> Tensor:
        """Return sum(real * intended) and sum(intended^2) of the watched weights since begin_step: float64 [2]."""
        return self._movement.sums

    def state_dict(self) -> dict[str, Any]:
        self._settle_counts()
        return super().state_dict()

    def _parameters(self) -> Iterator[Tensor]:
        for group in self.param_groups:
            yield from group["params"]

    def _group_of(self, parameter: Tensor) -> dict[str, Any]:
        place = self._places[id(parameter)]
        for group in self.param_groups:
            if place < len(group["params"]):
                return group
            place -= len(group["params"])
        raise AssertionError(place)

    def _state_of(self, parameter: Tensor) -> dict[str, Any]:
        state: dict[str, Any] = self.state[parameter]
        if not state:
            state.update(self.rule.new_state(parameter))
            if self.rule.counts_updates:
                state["step"] = 0
            if self.hyperball is not None and self.hyperball.has(parameter):
                state.update(self.hyperball.new_state(parameter, self._slice_of(parameter)))
        return state

    def _settings(self, parameter: Tensor) -> Settings:
        group, count = self._group_of(parameter), int(self.state[parameter].get("step", 1))
        first, second = group["betas"]
        return Settings(group["lr"], (first, second), group["eps"], group["weight_decay"], count)

    def _settle_counts(self) -> None:
        """Take back the counts of updates that `keep` refused; here, because reading it waits for the device."""
        if self._unsettled:
            kept = torch.stack([keep for _, keep in self._unsettled]).tolist()
            for (state, _), was_kept in zip(self._unsettled, kept, strict=True):
                state["step"] -= not was_kept
            self._unsettled.clear()

    def _slice_of(self, parameter: Tensor) -> int:
        return self._slice_size or (SLICE_ON_CPU if parameter.device.type == "cpu" else SLICE)

    def _update_freely(self, parameter: Tensor, gradient: Tensor, settings: Settings, keep: Tensor | None) -> None:
        flat_gradient, writer = gradient.reshape(-1), self._writer(parameter, keep)
        for begin, end in slices(0, parameter.numel(), self._slice_of(parameter)):
            stored = parameter.view(-1)[begin:end]
            before = writer.watch(stored, begin)
            in_place = stored.dtype == torch.float32 and keep is None
            moved = stored if in_place else stored.to(torch.float32, copy=True)
            self._move_slice(moved, flat_gradient[begin:end], parameter, begin, settings, keep)
            writer.write(stored, moved, begin, before)

    def _move_slice(
        self, moved: Tensor, gradient: Tensor, parameter: Tensor, begin: int, settings: Settings, keep: Tensor | None
    ) -> None:
        """Move a float32 slice [n] of the parameter from element `begin` on, and the state that belongs to it."""
        state = self.state[parameter]
        names = tuple(name for name in state if name in RULE_TENSORS)
        part = slice_of_state(state, names, begin, begin + len(moved))
        if keep is None:
            self.rule.move(moved, gradient.to(torch.float32), part, settings)
            return
        before = {name: tensor.clone() for name, tensor in part.items()}
        self.rule.move(moved, gradient.to(torch.float32), part, settings)
        for name, tensor in part.items():
            tensor.copy_(torch.where(keep, tensor, before[name]))

    def _update_on_sphere(
        self, hyperball: Hyperball, parameter: Tensor, gradient: Tensor, settings: Settings, keep: Tensor | None
    ) -> None:
        """Turn the parameter's matrices on their spheres, as many at a time as fit into a slice, at least one."""
        weights, flat_gradient, limit = parameter.view(-1), gradient.reshape(-1), self._slice_of(parameter)
        writer = self._writer(parameter, keep)
        pure = replace(settings, learning_rate=1.0, weight_decay=0.0)  # moves zeros by the direction itself
        for bucket in hyperball.buckets(parameter, limit):
            direction = torch.zeros(bucket.end - bucket.begin, dtype=torch.float32, device=parameter.device)
            for begin, end in slices(bucket.begin, bucket.end, limit):
                part = direction[begin - bucket.begin : end - bucket.begin]
                self._move_slice(part, flat_gradient[begin:end], parameter, begin, pure, keep)
            hyperball.turn(direction, weights, bucket, self.state[parameter], settings.learning_rate, limit, keep)
            for begin, end in slices(bucket.begin, bucket.end, limit):
                stored, moved = weights[begin:end], direction[begin - bucket.begin : end - bucket.begin]
                writer.write(stored, moved, begin, writer.watch(stored, begin))

    def _writer(self, parameter: Tensor, keep: Tensor | None) -> _Writer:
        stream = None
        if self._stochastic and parameter.dtype == torch.bfloat16:
            stream = BitStream.of(self._seed, self._step, self._places[id(parameter)])
        return _Writer(parameter.numel(), stream, self._movement, keep)


class _Writer:
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


RULE_TENSORS = frozenset({"exp_avg", "exp_avg_sq", "state1", "state2", "absmax1", "absmax2"})
"""The names under which rules keep tensors in the state."""


def slices(begin: int, end: int, size: int) -> Iterator[tuple[int, int]]:
    """Yield the borders of consecutive slices of at most `size` elements that cover `begin` to `end`."""
    return ((start, min(start + size, end)) for start in range(begin, end, size))

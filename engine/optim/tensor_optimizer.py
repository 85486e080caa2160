"""The optimizer of every run: it moves one tensor at a time; no second copy of the weights exists."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import torch
from torch import Tensor

from engine.optim.fused.fused_lion import FusedLion
from engine.optim.hyperball import Hyperball
from engine.optim.movement import Movement
from engine.optim.random_bits import BitStream
from engine.optim.rules.blockwise import Blockwise
from engine.optim.rules.rule import BLOCK, Rule, Settings
from engine.optim.sliced import SlicedUpdate, Writer
from engine.triton_on import triton_on

SLICE_ON_CPU = 2**18
"""Elements worked on at once: small enough for a core's cache, which halves the time."""
SLICE = 2**22
"""The same on other devices, where few and large kernels are fast."""


class TensorOptimizer(torch.optim.Optimizer):
    """Moves one tensor at a time, so that a step may also happen inside the backward pass.

    Weights of lower precision are updated in float32, then rounded: at random if `stochastic_rounding`, else to the
    nearest number. The random bits depend on seed, step, parameter and element only. Lion on a GPU with Triton takes
    one kernel a tensor (`engine.optim.fused`), all else float32 slices (`engine.optim.sliced`), with the same result.
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
        self._groups = [place for place, group in enumerate(self.param_groups) for _ in group["params"]]
        self._unsettled: list[tuple[dict[str, Any], Tensor]] = []
        self._movement = Movement(next(self._parameters()).device)
        for parameter in self._parameters():
            if not parameter.is_contiguous():
                parameter.data = parameter.data.contiguous()
        self._fused = self._fused_where_possible()

    def begin_step(self, step: int, learning_rate: float) -> None:
        """Start the run's step number `step`, from 1: its random bits, its learning rate, no movement yet."""
        self._settle_counts()
        self._step = step
        self._movement.forget()
        if self._fused is not None:
            self._fused.begin_step()
        for group in self.param_groups:
            group["lr"] = learning_rate

    def update(self, parameter: Tensor, gradient: Tensor, keep: Tensor | None = None, begin: int = 0) -> None:
        """Take one parameter's whole step with `gradient` (of its shape). Never waits for the device.

        Where `keep`, a bool scalar on the device, is False, weights and state stay bit for bit as they were. A step may
        also come in parts, in order from element 0: `gradient` then holds the elements from `begin`, a multiple of
        BLOCK, on, and `keep` is about these. A matrix on a sphere takes no parts.
        """
        state, on_sphere = self._state_of(parameter), self._is_on_sphere(parameter)
        assert begin % BLOCK == 0 and begin + gradient.numel() <= parameter.numel(), (begin, gradient.shape)
        assert not on_sphere or gradient.numel() == parameter.numel(), "a matrix on a sphere moves as a whole"
        if self.rule.counts_updates and begin == 0:
            state["step"] += 1
            if keep is not None:
                self._unsettled.append((state, keep.clone()))  # it may be written again before it is read
        settings, stream = self._settings(parameter, state), self._stream(parameter)
        if self._fused is None or not self._fused.has(parameter):
            self._update_sliced(parameter, gradient, state, settings, stream, keep, begin)
        elif self.hyperball is not None and on_sphere:
            self._fused.update_on_sphere(self.hyperball, parameter, gradient, state, settings, stream, keep)
        else:
            self._fused.update(parameter, gradient, state, settings, stream, keep, begin=begin)

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
        sums = self._movement.sums()
        return sums if self._fused is None else sums + self._fused.movement()

    def describe(self) -> str:
        """How tensors are moved, for the console."""
        sliced = f"{self.rule.library}, slice by slice"
        if self._fused is None:
            return f"optimizer: {sliced}"
        others = sum(not self._fused.has(parameter) for parameter in self._parameters())
        return f"optimizer: {self._fused.describe()}" + (f"; {others} tensors by {sliced}" if others else "")

    def state_dict(self) -> dict[str, Any]:
        self._settle_counts()
        return super().state_dict()

    def _parameters(self) -> Iterator[Tensor]:
        for group in self.param_groups:
            yield from group["params"]

    @torch.no_grad()
    def _update_sliced(
        self,
        parameter: Tensor,
        gradient: Tensor,
        state: dict[str, Any],
        settings: Settings,
        stream: BitStream | None,
        keep: Tensor | None,
        begin: int,
    ) -> None:
        writer = Writer(parameter.numel(), stream, self._movement, keep)
        update = SlicedUpdate(self.rule, parameter, state, settings, self._slice_of(parameter), keep, writer)
        if self.hyperball is not None and self._is_on_sphere(parameter):
            update.on_sphere(self.hyperball, parameter, gradient.reshape(-1))
        else:
            update.freely(gradient.reshape(-1), begin)

    def _state_of(self, parameter: Tensor) -> dict[str, Any]:
        state: dict[str, Any] = self.state[parameter]
        if not state:
            self._fill(state, parameter)
        return state

    @torch.no_grad()
    def _fill(self, state: dict[str, Any], parameter: Tensor) -> None:
        state.update(self.rule.new_state(parameter))
        if self.rule.counts_updates:
            state["step"] = 0
        if self.hyperball is not None and self._is_on_sphere(parameter):
            state.update(self.hyperball.new_state(parameter, self._slice_of(parameter)))

    def _settings(self, parameter: Tensor, state: dict[str, Any]) -> Settings:
        group = self.param_groups[self._groups[self._places[id(parameter)]]]
        return Settings(group["lr"], group["betas"], group["eps"], group["weight_decay"], int(state.get("step", 1)))

    def _settle_counts(self) -> None:
        """Take back the counts of updates that `keep` refused; here, because reading it waits for the device."""
        if self._unsettled:
            kept = torch.stack([keep for _, keep in self._unsettled]).tolist()
            for (state, _), was_kept in zip(self._unsettled, kept, strict=True):
                state["step"] -= not was_kept
            self._unsettled.clear()

    def _slice_of(self, parameter: Tensor) -> int:
        return self._slice_size or (SLICE_ON_CPU if parameter.device.type == "cpu" else SLICE)

    def _stream(self, parameter: Tensor) -> BitStream | None:
        """The random bits of this parameter at this step, where it is rounded at random."""
        if self._stochastic and parameter.dtype == torch.bfloat16:
            return BitStream.of(self._seed, self._step, self._places[id(parameter)])
        return None

    def _is_on_sphere(self, parameter: Tensor) -> bool:
        return self.hyperball is not None and self.hyperball.has(parameter)

    def _fused_where_possible(self) -> FusedLion | None:
        """The kernels for those parameters that they can move, on the device of the first one."""
        parameters = list(self._parameters())
        device = parameters[0].device
        if not isinstance(self.rule, Blockwise) or not triton_on(device):
            return None
        taken = [p for p in parameters if p.device == device and FusedLion.takes(self.rule, p, self.hyperball)]
        return FusedLion(self.rule, taken) if taken else None

"""Lion's step with Triton: one launch a tensor, two more where Hyperball turns it."""

from __future__ import annotations

import ctypes
import importlib.metadata
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from engine.optim.fused.codebook import borders, follows_the_lines
from engine.optim.fused.launch import Launches
from engine.optim.hyperball import Hyperball
from engine.optim.movement import SAMPLES_IN_A_TENSOR, stride_of
from engine.optim.random_bits import BitStream
from engine.optim.rules.blockwise import Blockwise
from engine.optim.rules.rule import BLOCK, Rule, Settings

TILE = 4096
"""Elements of a program, which has WARPS warps: 16 elements a thread, whose bytes of state are one access."""
WARPS = 8
DTYPES = (torch.bfloat16, torch.float16, torch.float32)


@dataclass(frozen=True, slots=True)
class _Place:
    """What does not change about a parameter."""

    row: int
    size: int
    stride: int
    watched: Tensor
    """The watched weights before the update, from those of this parameter on."""


class FusedLion:
    """The kernels, with what they share: tables, room for sums, and the watched weights of each of `parameters`.

    They compute what bitsandbytes' CUDA kernels (compute capability 9.0, bitsandbytes 0.50.2) and the torch path around
    them compute, with the same order of operations and roundings: weights and state are bit for bit the same, but with
    Hyperball, where sums over a matrix run in another order and its last factor may differ by a unit in the last place.
    On a CPU they run in Triton's interpreter alone, for tests.
    """

    def __init__(self, rule: Blockwise, parameters: Sequence[Tensor]) -> None:
        from engine.optim.fused import hyperball_kernels, lion_kernel

        device = parameters[0].device
        code = rule.signed_map(device)
        assert follows_the_lines(code), "bitsandbytes has another dynamic map than 0.50.2"
        self._code = code.clone()  # bitsandbytes may write into its own
        self._borders = borders(code)
        self._in_ptx = device.type == "cuda"
        self._room = len(parameters) * SAMPLES_IN_A_TENSOR
        self._watched = torch.zeros(3, self._room, dtype=torch.float32, device=device)
        self._places = {id(parameter): self._place_of(parameter, row) for row, parameter in enumerate(parameters)}
        self._written: set[int] = set()
        self._outdated: set[int] = set()
        self._sums = torch.zeros(0, dtype=torch.float64, device=device)
        self._turn = torch.ones(2, dtype=torch.float32, device=device)
        self._steps = Launches(lion_kernel.new_launch)
        self._directions = Launches(hyperball_kernels.new_direction_launch)
        self._turns = Launches(hyperball_kernels.new_turn_launch)

    @staticmethod
    def takes(rule: Rule, parameter: Tensor, hyperball: Hyperball | None) -> bool:
        """Whether these kernels can move the parameter; a stack of matrices on spheres they cannot."""
        is_lion = isinstance(rule, Blockwise) and rule.kind == "lion"
        is_stack = hyperball is not None and hyperball.has(parameter) and parameter.ndim > 2
        return is_lion and parameter.dtype in DTYPES and not is_stack

    def has(self, parameter: Tensor) -> bool:
        return id(parameter) in self._places

    def describe(self) -> str:
        return f"one kernel a tensor (Triton {importlib.metadata.version('triton')})"

    def begin_step(self) -> None:
        self._outdated, self._written = self._outdated | self._written, set()

    def movement(self) -> Tensor:
        """Return sum(real * intended) and sum(intended^2) of what moved since begin_step: float64 [2]."""
        for row in self._outdated - self._written:
            begin = row * SAMPLES_IN_A_TENSOR
            self._watched[:, begin : begin + SAMPLES_IN_A_TENSOR] = 0.0
        self._outdated.clear()
        before, asked, after = self._watched.double()
        real, intended = after - before, asked - before
        return torch.stack((torch.dot(real, intended), torch.dot(intended, intended)))

    def update(
        self,
        parameter: Tensor,
        gradient: Tensor,
        state: dict[str, Tensor],
        settings: Settings,
        stream: BitStream | None,
        keep: Tensor | None,
        *,
        begin: int = 0,
        turn: Tensor | None = None,
    ) -> None:
        """Move the elements from `begin` on by `gradient`, in any shape. `stream` rounds bfloat16 weights at random;
        `turn` [2] float32 is the length of the step and the factor after it, in place of learning rate and decay."""
        place, tables = self._places[id(parameter)], self._tables(state)
        self._written.add(place.row)
        gradient = gradient.contiguous()
        count = gradient.numel()
        kind = (
            TILE,
            WARPS,
            (parameter.dtype, gradient.dtype),
            place.size,
            count,
            place.stride,
            "absmax1" in state,
            stream is not None,
            turn is not None,
            keep is not None,
            self._in_ptx,
        )
        first_key, second_key = (0, 0) if stream is None else stream.signed_keys()
        launch = self._steps.of(kind, parameter, gradient, *tables[:2])
        launch(
            parameter,
            gradient,
            *tables,
            tables[0] if keep is None else keep,
            self._turn if turn is None else turn,
            place.watched,
            self._room,
            place.stride,
            begin // BLOCK,
            count,
            settings.learning_rate,
            *settings.betas,
            settings.weight_decay if turn is None else 0.0,
            first_key,
            second_key,
        )

    def update_on_sphere(
        self,
        hyperball: Hyperball,
        parameter: Tensor,
        gradient: Tensor,
        state: dict[str, Tensor],
        settings: Settings,
        stream: BitStream | None,
        keep: Tensor | None,
    ) -> None:
        """Turn a matrix on its sphere."""
        gradient, tables = gradient.contiguous(), self._tables(state)[:3]
        count = parameter.numel()
        programs = -(-count // TILE)
        if len(self._sums) < 3 * programs:
            self._sums = self._sums.new_zeros(3 * programs)
        kind = (TILE, WARPS, (parameter.dtype, gradient.dtype), count, "absmax1" in state, self._in_ptx)
        direction = self._directions.of(kind, parameter, gradient, *tables[:2])
        direction(parameter, gradient, *tables, self._sums, count, *settings.betas)
        rate = hyperball.rate_of_step(settings.learning_rate)
        high = ctypes.c_float(rate).value
        radius, calibrated = state["radius"], state["calibrated_rate"]
        turn = self._turns.of((hyperball.calibrates, keep is not None), radius, calibrated)
        keep_or_any = radius if keep is None else keep
        turn(self._sums, programs, radius, calibrated, keep_or_any, self._turn, high, rate - high)
        self.update(parameter, gradient, state, settings, stream, keep, turn=self._turn)

    def _place_of(self, parameter: Tensor, row: int) -> _Place:
        watched = self._watched.view(-1)[row * SAMPLES_IN_A_TENSOR :]
        return _Place(row, parameter.numel(), stride_of(parameter.numel()), watched)

    def _tables(self, state: dict[str, Any]) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """State, scales, map and borders; float32 state has none of the last three, which then stand for nothing."""
        return state["state1"], state.get("absmax1", state["state1"]), self._code, self._borders


assert TILE % BLOCK == 0

"""Lion's step with Triton: one launch a tensor, two more where Hyperball turns it."""

from __future__ import annotations

import ctypes
import importlib.metadata
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from engine.optim.fused.codebook import borders, follows_the_lines
from engine.optim.fused.launch import Launch, are_aligned
from engine.optim.hyperball import Hyperball
from engine.optim.movement import SAMPLES_IN_A_TENSOR, stride_of
from engine.optim.random_bits import BitStream
from engine.optim.rules.blockwise import Blockwise
from engine.optim.rules.rule import BLOCK, Rule, Settings

TILE = 4096
"""Elements of a program, which has WARPS warps: 16 elements a thread, whose bytes of state are one access."""
WARPS = 8
FEW, MANY = 8, 1024
"""Watched weights that a program takes at a time: it has few of a large tensor, and nearly all of a small one."""
DTYPES = (torch.bfloat16, torch.float16, torch.float32)
CHUNK = 1024
"""Sums that are added up at a time."""


@dataclass(frozen=True, slots=True)
class _Place:
    """What does not change about a parameter: which weights are watched, its launches by what they are for."""

    row: int
    size: int
    stride: int
    watched: Tensor
    """From this parameter's on, of those before the update."""
    launches: dict[tuple[Any, ...], Launch] = field(default_factory=dict)


class FusedLion:
    """The kernels, with what they share: tables, room for sums, and the watched weights of each of `parameters`.

    They compute what bitsandbytes' CUDA kernels (compute capability 9.0, bitsandbytes 0.50.2) and the torch path around
    them compute, with the same order of operations and roundings: weights and state are bit for bit the same, but with
    Hyperball, where sums over a matrix run in another order and its last factor may differ by a unit in the last place.
    On a CPU they run in Triton's interpreter alone, for tests.
    """

    def __init__(self, rule: Blockwise, parameters: Sequence[Tensor]) -> None:
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
        launch = self._launch(
            place,
            (parameter, gradient, *tables[:2]),
            (count, gradient.dtype, "absmax1" in state, stream is not None, turn is not None, keep is not None),
        )
        first_key, second_key = (0, 0) if stream is None else stream.signed_keys()
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
        from engine.optim.fused.hyperball_kernels import direction_kernel, turn_kernel

        programs = -(-parameter.numel() // TILE)
        if len(self._sums) < 3 * programs:
            self._sums = self._sums.new_zeros(3 * programs)
        direction_kernel[(programs,)](
            parameter.detach(),
            gradient,
            *self._tables(state)[:3],
            self._sums,
            parameter.numel(),
            *settings.betas,
            TILE=TILE,
            IN_8BIT="absmax1" in state,
            IN_PTX=self._in_ptx,
            num_warps=WARPS,
            enable_fp_fusion=False,
        )
        rate = hyperball.rate_of_step(settings.learning_rate)
        high = ctypes.c_float(rate).value
        turn_kernel[(1,)](
            self._sums,
            programs,
            state["radius"],
            state["calibrated_rate"],
            state["radius"] if keep is None else keep,
            self._turn,
            high,
            rate - high,
            CALIBRATES=hyperball.calibrates,
            HAS_KEEP=keep is not None,
            CHUNK=CHUNK,
            num_warps=4,
            enable_fp_fusion=False,
        )
        self.update(parameter, gradient, state, settings, stream, keep, turn=self._turn)

    def _place_of(self, parameter: Tensor, row: int) -> _Place:
        watched = self._watched.view(-1)[row * SAMPLES_IN_A_TENSOR :]
        return _Place(row, parameter.numel(), stride_of(parameter.numel()), watched)

    def _launch(self, place: _Place, tensors: tuple[Tensor, ...], kind: tuple[Any, ...]) -> Launch:
        """The launch for these tensors: one that is kept, unless some lie where Triton has to look at each anew."""
        if not are_aligned(*tensors):
            return self._new_launch(place, *kind)
        launch = place.launches.get(kind)
        if launch is None:
            launch = place.launches[kind] = self._new_launch(place, *kind)
        return launch

    def _new_launch(
        self,
        place: _Place,
        count: int,
        dtype: torch.dtype,
        in_8bit: bool,
        at_random: bool,
        on_sphere: bool,
        has_keep: bool,
    ) -> Launch:
        """The kernel for `count` elements of a gradient of `dtype`."""
        from engine.optim.fused.lion_kernel import lion_kernel

        constants = {
            "TILE": TILE,
            "IS_WHOLE": count % TILE == 0,
            "IS_HUGE": place.size >= 2**30,
            "IN_8BIT": in_8bit,
            "AT_RANDOM": at_random,
            "ON_SPHERE": on_sphere,
            "HAS_KEEP": has_keep,
            "WATCHES": FEW if place.stride >= TILE // FEW else MANY,
            "IN_PTX": self._in_ptx,
        }
        return Launch(lion_kernel, -(-count // TILE), constants, num_warps=WARPS, enable_fp_fusion=False)

    def _tables(self, state: dict[str, Any]) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """State, scales, map and borders; float32 state has none of the last three, which then stand for nothing."""
        return state["state1"], state.get("absmax1", state["state1"]), self._code, self._borders


assert TILE % BLOCK == 0

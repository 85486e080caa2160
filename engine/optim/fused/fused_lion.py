"""Lion's step with Triton: one launch a tensor, two more where Hyperball turns it."""

from __future__ import annotations

import importlib.metadata
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from engine.optim.fused.codebook import borders, follows_the_lines
from engine.optim.hyperball import Hyperball
from engine.optim.movement import SAMPLES_IN_A_TENSOR, stride_of
from engine.optim.random_bits import BitStream, as_int32
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
        self._rows = {id(parameter): row for row, parameter in enumerate(parameters)}
        self._room = len(parameters) * SAMPLES_IN_A_TENSOR
        self._watched = torch.zeros(3, self._room, dtype=torch.float32, device=device)
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
        return id(parameter) in self._rows

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
        from engine.optim.fused.lion_kernel import lion_kernel

        size, count = parameter.numel(), gradient.numel()
        stride, row = stride_of(size), self._rows[id(parameter)]
        self._written.add(row)
        watched = self._watched.view(-1)[row * SAMPLES_IN_A_TENSOR :]
        lion_kernel[(-(-count // TILE),)](
            parameter.detach(),
            gradient,
            *self._tables(state),
            state["state1"] if keep is None else keep,
            self._turn if turn is None else turn,
            watched,
            self._room,
            stride,
            begin,
            count,
            settings.learning_rate,
            *settings.betas,
            settings.weight_decay if turn is None else 0.0,
            as_int32(stream.key0) if stream is not None else 0,
            as_int32(stream.key1) if stream is not None else 0,
            TILE=TILE,
            IS_WHOLE=count % TILE == 0,
            IS_HUGE=size >= 2**30,
            IN_8BIT="absmax1" in state,
            AT_RANDOM=stream is not None,
            ON_SPHERE=turn is not None,
            HAS_KEEP=keep is not None,
            WATCHES=FEW if stride >= TILE // FEW else MANY,
            IN_PTX=self._in_ptx,
            num_warps=WARPS,
            enable_fp_fusion=False,
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
        high = float(torch.tensor(rate, dtype=torch.float32))
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

    def _tables(self, state: dict[str, Any]) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """State, scales, map and borders; float32 state has none of the last three, which then stand for nothing."""
        return state["state1"], state.get("absmax1", state["state1"]), self._code, self._borders


assert TILE % BLOCK == 0

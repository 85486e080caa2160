"""The norm of a gradient in Triton: sums of squares of its parts, then their root, in the same order each time."""

# Triton has no types; constants of compilation are in capitals.
# mypy: disable-error-code="import-untyped, import-not-found, untyped-decorator, no-untyped-call, no-untyped-def, misc"
# ruff: noqa: N803

import torch
import triton
import triton.language as tl
from torch import Tensor

from engine.optim.fused.launch import Launch, Launches

TILE, WARPS = 4096, 8
PROGRAMS = 1024
"""At most; each adds up as many tiles as it takes, and one program can add up their sums at once."""
LARGEST_SQUARE = tl.constexpr(torch.finfo(torch.float32).max)


class NormKernels:
    """Measures gradients on one device, one after the other, into three tensors with a place for every parameter."""

    def __init__(self, norms: Tensor, last: Tensor, is_finite: Tensor) -> None:
        """`norms` and `last` are float64, `is_finite` bool: norm of all parts, norm of the last part, and whether that
        is finite."""
        self._results = norms, last, is_finite
        self._sums = torch.zeros(PROGRAMS, dtype=torch.float64, device=norms.device)
        self._arrived = torch.zeros(1, dtype=torch.int32, device=norms.device)
        self._launches = Launches(_new_launch)

    def measure(self, gradient: Tensor, place: int, *, adds: bool) -> None:
        """Note the gradient's norm at `place`, added to the one there if `adds`. One launch."""
        gradient = gradient.contiguous()
        count = gradient.numel()
        launch = self._launches.of((count, gradient.dtype, adds), gradient)
        launch(gradient, count, self._sums, self._arrived, *self._results, place)


def _new_launch(count: int, dtype: torch.dtype, adds: bool) -> Launch:
    """The kernel for `count` elements of a gradient of `dtype`."""
    programs = max(1, min(-(-count // TILE), PROGRAMS))
    constants = {
        "ADDS": adds,
        "IS_ALONE": programs == 1,
        "IS_WHOLE": count % TILE == 0,
        "TILE": TILE,
        "PROGRAMS": PROGRAMS,
    }
    return Launch(norm_kernel, programs, constants, num_warps=WARPS)


@triton.jit(do_not_specialize=["place"])
def norm_kernel(
    gradient,  # [count]
    count: tl.int64,
    sums,  # [programs] float64, stored unless IS_ALONE
    arrived,  # [1] int32, 0 before and after
    norms,  # each with an element at `place`, stored
    last,
    is_finite,
    place: tl.int32,
    ADDS: tl.constexpr,
    IS_ALONE: tl.constexpr,
    IS_WHOLE: tl.constexpr,  # no tile is shorter than TILE
    TILE: tl.constexpr,
    PROGRAMS: tl.constexpr,  # at most so many
):
    program = tl.program_id(0)
    programs = tl.num_programs(0)
    local = tl.arange(0, TILE)
    squares = tl.zeros([TILE], tl.float32)
    for begin in range(program.to(tl.int64) * TILE, count, programs.to(tl.int64) * TILE):
        if IS_WHOLE:
            values = tl.load(gradient + begin + local).to(tl.float32)
        else:
            values = tl.load(gradient + begin + local, mask=local < count - begin, other=0.0).to(tl.float32)
        squares += values * values
    total = tl.sum(squares.to(tl.float64), axis=0)
    if IS_ALONE:
        note(total, norms, last, is_finite, place, ADDS)
    else:
        tl.store(sums + program, total)
        # The sum is there before the program counts as arrived, and the last to arrive sees those of all others.
        tl.debug_barrier()
        before = tl.atomic_add(arrived, 1, sem="acq_rel", scope="gpu")
        if before == programs - 1:
            tl.debug_barrier()
            each = tl.arange(0, PROGRAMS)
            parts = tl.load(sums + each, mask=each < programs, other=0.0, cache_modifier=".cg")
            note(tl.sum(parts, axis=0), norms, last, is_finite, place, ADDS)
            tl.store(arrived, 0)


@triton.jit
def note(total, norms, last, is_finite, place, ADDS: tl.constexpr):
    """Store the root of `total`; one that float32 cannot hold is infinite."""
    total = tl.where(total > LARGEST_SQUARE, float("inf"), total)
    norm = tl.sqrt(total)
    tl.store(last + place, norm)
    tl.store(is_finite + place, norm < float("inf"))
    if ADDS:
        before = tl.load(norms + place)
        norm = tl.sqrt(before * before + total)
    tl.store(norms + place, norm)

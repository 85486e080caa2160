"""The norm of a gradient in Triton: sums of squares of its parts, then their root, in the same order each time."""

# Triton has no types; constants of compilation are in capitals.
# mypy: disable-error-code="import-untyped, import-not-found, untyped-decorator, no-untyped-call, no-untyped-def, misc"
# ruff: noqa: N803

import torch
import triton
import triton.language as tl
from torch import Tensor

TILE, WARPS = 4096, 8
PROGRAMS = 1024
"""At most; each adds up as many tiles as it takes, and one program can add up their sums at once."""
LARGEST_SQUARE = tl.constexpr(torch.finfo(torch.float32).max)


class NormKernels:
    """Measures gradients on one device into three tensors, each with a place for every parameter."""

    def __init__(self, norms: Tensor, last: Tensor, is_finite: Tensor) -> None:
        """`norms` and `last` are float64, `is_finite` bool: norm of all parts, norm of the last part, and whether that
        is finite."""
        self._norms = norms
        self._last = last
        self._is_finite = is_finite
        self._sums = torch.zeros(PROGRAMS, dtype=torch.float64, device=norms.device)

    def measure(self, gradient: Tensor, place: int, *, adds: bool) -> None:
        """Note the gradient's norm at `place`, added to the one there if `adds`. One launch, two for large ones."""
        flat = gradient.reshape(-1)
        tiles = -(-len(flat) // TILE)
        programs = max(1, min(tiles, PROGRAMS))
        results = self._norms, self._last, self._is_finite, place
        squares_kernel[(programs,)](
            flat, len(flat), self._sums, *results, ADDS=adds, IS_ALONE=programs == 1, TILE=TILE, num_warps=WARPS
        )
        if programs > 1:
            root_kernel[(1,)](self._sums, programs, *results, ADDS=adds, PROGRAMS=PROGRAMS, num_warps=4)


@triton.jit(do_not_specialize=["place"])
def squares_kernel(
    gradient,  # [count]
    count,
    sums,  # [programs] float64, stored unless IS_ALONE
    norms,
    last,
    is_finite,
    place,
    ADDS: tl.constexpr,
    IS_ALONE: tl.constexpr,
    TILE: tl.constexpr,
):
    program = tl.program_id(0)
    stride = tl.num_programs(0).to(tl.int64) * TILE
    squares = tl.zeros([TILE], tl.float32)
    for begin in range(program.to(tl.int64) * TILE, count, stride):
        local = tl.arange(0, TILE)
        values = tl.load(gradient + begin + local, mask=local < count - begin, other=0.0).to(tl.float32)
        squares += values * values
    total = tl.sum(squares.to(tl.float64), axis=0)
    if IS_ALONE:
        note(total, norms, last, is_finite, place, ADDS)
    else:
        tl.store(sums + program, total)


@triton.jit(do_not_specialize=["programs", "place"])
def root_kernel(
    sums,  # [programs] float64
    programs,
    norms,
    last,
    is_finite,
    place,
    ADDS: tl.constexpr,
    PROGRAMS: tl.constexpr,
):
    local = tl.arange(0, PROGRAMS)
    total = tl.sum(tl.load(sums + local, mask=local < programs, other=0.0), axis=0)
    note(total, norms, last, is_finite, place, ADDS)


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

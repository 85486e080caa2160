"""How far Lion's step turns a matrix on its sphere: three sums over the matrix, then two numbers for the step itself.

For W - t * u, with u of -1, 0 and 1, the length that brings it back to the radius follows from ||W||^2, <W, u> and
||u||^2, so that the step needs no second pass over what it wrote.
"""

# Triton has no types; constants of compilation are in capitals.
# mypy: disable-error-code="import-untyped, import-not-found, untyped-decorator, no-untyped-call, no-untyped-def, misc"
# ruff: noqa: N803

import torch
import triton
import triton.language as tl

from engine.optim.fused.arithmetic import ZERO_BYTE, look_up, move_8bit, move_32bit, multiply
from engine.optim.fused.launch import Launch
from engine.optim.fused.lion_kernel import BLOCK, of_each

CHUNK = 1024
"""Sums that are added up at a time."""


def new_direction_launch(
    tile: int, warps: int, dtypes: tuple[torch.dtype, torch.dtype], count: int, in_8bit: bool, in_ptx: bool
) -> Launch:
    """The first kernel for a matrix of `count` elements; `dtypes` are those of weights and gradient."""
    constants = {"TILE": tile, "IN_8BIT": in_8bit, "IN_PTX": in_ptx}
    return Launch(direction_kernel, -(-count // tile), constants, num_warps=warps, enable_fp_fusion=False)


def new_turn_launch(calibrates: bool, has_keep: bool) -> Launch:
    """The second."""
    constants = {"CALIBRATES": calibrates, "HAS_KEEP": has_keep, "CHUNK": CHUNK}
    return Launch(turn_kernel, 1, constants, num_warps=4, enable_fp_fusion=False)


@triton.jit
def direction_kernel(
    weights,  # [count]
    gradient,  # [count]
    state,  # [count]: uint8 where IN_8BIT, else float32
    scales,  # [blocks] float32, where IN_8BIT
    code,  # [256] float32
    sums,  # [3, programs] float64, stored: ||W||^2, <W, u> and ||u||^2 of each program's part
    count: tl.int64,
    beta1: tl.float32,
    beta2: tl.float32,
    TILE: tl.constexpr,
    IN_8BIT: tl.constexpr,
    IN_PTX: tl.constexpr,
):
    program = tl.program_id(0)
    start = program.to(tl.int64) * TILE
    left = count - start
    local = tl.arange(0, TILE)
    is_mine = local < left
    weight = tl.load(weights + start + local, mask=is_mine, other=0.0).to(tl.float32)
    slope = tl.load(gradient + start + local, mask=is_mine, other=0.0).to(tl.float32)
    if IN_8BIT:
        block = tl.arange(0, TILE // BLOCK)
        byte = tl.load(state + start + local, mask=is_mine, other=ZERO_BYTE)
        scale = tl.load(scales + start // BLOCK + block, mask=block * BLOCK < left, other=0.0)
        moment = multiply(look_up(code, byte.to(tl.int32), 256), of_each(scale, TILE), IN_PTX)
        blend, moment = move_8bit(moment, slope, beta1, beta2, IN_PTX)
    else:
        moment = tl.load(state + start + local, mask=is_mine, other=0.0)
        blend, moment = move_32bit(moment, slope, beta1, beta2, IN_PTX)
    direction = tl.where(is_mine, tl.where(blend > 0, 1.0, tl.where(blend < 0, -1.0, 0.0)), 0.0)
    programs = tl.num_programs(0)
    tl.store(sums + program, total(weight * weight, TILE))
    tl.store(sums + programs + program, total(weight * direction, TILE))
    tl.store(sums + 2 * programs + program, total(direction * direction, TILE))


@triton.jit
def total(values, TILE: tl.constexpr):
    """The sum of TILE float32 values, block by block in float32, then in float64."""
    return tl.sum(tl.sum(tl.reshape(values, [TILE // BLOCK, BLOCK]), axis=1).to(tl.float64), axis=0)


@triton.jit(do_not_specialize=["programs"], do_not_specialize_on_alignment=["keep"])
def turn_kernel(
    sums,  # [3, programs] float64
    programs: tl.int32,
    radius,  # [1] float32
    calibrated,  # [1] float32, stored where CALIBRATES and it is 0
    keep,  # [] bool, where HAS_KEEP
    turn,  # [2] float32, stored: length of the step, factor that follows it
    rate_high: tl.float32,  # the rate is the sum of these two, since a kernel is given float32 numbers
    rate_low: tl.float32,
    CALIBRATES: tl.constexpr,
    HAS_KEEP: tl.constexpr,
    CHUNK: tl.constexpr,
):
    square = tl.zeros([CHUNK], tl.float64)
    product = tl.zeros([CHUNK], tl.float64)
    length = tl.zeros([CHUNK], tl.float64)
    for begin in range(0, programs, CHUNK):
        place = begin + tl.arange(0, CHUNK)
        square += tl.load(sums + place, mask=place < programs, other=0.0)
        product += tl.load(sums + programs + place, mask=place < programs, other=0.0)
        length += tl.load(sums + 2 * programs + place, mask=place < programs, other=0.0)
    square, product, length = tl.sum(square, axis=0), tl.sum(product, axis=0), tl.sqrt(tl.sum(length, axis=0))
    around = tl.load(radius).to(tl.float64)
    rate = tl.cast(rate_high, tl.float64) + tl.cast(rate_low, tl.float64)
    can_move = (around > 0) & (length > 0)
    if CALIBRATES:
        known = tl.load(calibrated)
        may = can_move & (known == 0)
        if HAS_KEEP:
            may = may & (tl.load(keep) != 0)
        known = tl.where(may, (length / around).to(tl.float32), known)
        tl.store(calibrated, known)
        rate = rate * known.to(tl.float64)
    stretch = tl.where(can_move, rate * around / length, 0.0).to(tl.float32)
    step = stretch.to(tl.float64)
    moved = square - 2.0 * step * product + step * step * length * length
    shrink = tl.where((stretch != 0) & (moved > 0), around / tl.sqrt(moved), 1.0).to(tl.float32)
    tl.store(turn, stretch)
    tl.store(turn + 1, shrink)

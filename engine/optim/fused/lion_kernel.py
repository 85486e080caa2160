"""One step of Lion over a tensor: reads gradient, weights and state once, writes weights and state once."""

# Triton has no types; constants of compilation are in capitals.
# mypy: disable-error-code="import-untyped, import-not-found, untyped-decorator, no-untyped-call, no-untyped-def, misc"
# ruff: noqa: N803

import torch
import triton
import triton.language as tl

from engine.optim.fused.arithmetic import (
    ZERO_BYTE,
    look_up,
    move_8bit,
    move_32bit,
    multiply,
    multiply_add,
    random_halves,
    round_at_random,
    round_to_nearest,
    step_against,
    to_bytes,
)
from engine.optim.fused.launch import Launch

BLOCK = tl.constexpr(256)
FEW, MANY = 8, 1024
"""Watched weights that a program takes at a time: it has few of a large tensor, and nearly all of a small one."""


def new_launch(
    tile: int,
    warps: int,
    dtypes: tuple[torch.dtype, torch.dtype],
    size: int,
    count: int,
    stride: int,
    in_8bit: bool,
    at_random: bool,
    on_sphere: bool,
    has_keep: bool,
    in_ptx: bool,
) -> Launch:
    """The kernel for `count` elements, in tiles, of a tensor of `size`; `dtypes` are those of weights and gradient."""
    constants = {
        "TILE": tile,
        "IS_WHOLE": count % tile == 0,
        "IS_HUGE": size >= 2**30,
        "IN_8BIT": in_8bit,
        "AT_RANDOM": at_random,
        "ON_SPHERE": on_sphere,
        "HAS_KEEP": has_keep,
        "WATCHES": FEW if stride >= tile // FEW else MANY,
        "IN_PTX": in_ptx,
    }
    return Launch(lion_kernel, -(-count // tile), constants, num_warps=warps, enable_fp_fusion=False)


# Numbers of a fixed type that are not specialised on never make Triton compile anew. `count` is specialised on, as
# masked loads are wide where it is a multiple of 16.
@triton.jit(
    do_not_specialize=["room", "stride", "first_block", "first_key", "second_key"],
    do_not_specialize_on_alignment=["keep"],
)
def lion_kernel(
    weights,  # [size], stored: bfloat16, float16 or float32
    gradient,  # [count]: elements of the tensor's gradient, from `first_block` * BLOCK on
    state,  # [size], stored: uint8 where IN_8BIT, else float32
    scales,  # [blocks], stored: float32, where IN_8BIT
    code,  # [256] float32
    borders,  # [512] float32
    keep,  # [] bool, where HAS_KEEP: nothing is stored if it is False
    turn,  # [2] float32, where ON_SPHERE: length of the step, factor that follows it
    watched,  # [3, room] float32, stored: every stride-th weight before, as asked for, and after
    room: tl.int32,
    stride: tl.int32,
    first_block: tl.int32,
    count: tl.int64,
    rate: tl.float32,
    beta1: tl.float32,
    beta2: tl.float32,
    weight_decay: tl.float32,
    first_key: tl.int32,
    second_key: tl.int32,
    TILE: tl.constexpr,
    IS_WHOLE: tl.constexpr,  # every program has TILE elements
    IS_HUGE: tl.constexpr,  # places of elements need more than 32 bits
    IN_8BIT: tl.constexpr,
    AT_RANDOM: tl.constexpr,
    ON_SPHERE: tl.constexpr,
    HAS_KEEP: tl.constexpr,
    WATCHES: tl.constexpr,  # watched weights at a time
    IN_PTX: tl.constexpr,
):
    is_kept = True
    if HAS_KEEP:
        is_kept = tl.load(keep) != 0
    rate, weight_decay = tl.cast(rate, tl.float32), tl.cast(weight_decay, tl.float32)
    decay = multiply_add(-rate, weight_decay, 1.0, IN_PTX)
    size, shrink = rate, 1.0
    if ON_SPHERE:
        size, shrink = tl.load(turn), tl.load(turn + 1)
    start = tl.program_id(0).to(tl.int64) * TILE
    gradient += start
    left = count - start
    start += tl.cast(first_block, tl.int64) * BLOCK

    # The watched weights: a few of each program's own, computed by themselves before it stores anything.
    here = start if IS_HUGE else start.to(tl.int32)  # a division of 64 bits takes long
    first, last = tl.cdiv(here, stride), tl.cdiv(here + tl.minimum(left, TILE).to(here.dtype), stride)
    for place in range(first, last, WATCHES):
        watch = place + tl.arange(0, WATCHES)  # [WATCHES]
        is_mine = watch < last
        element = watch.to(tl.int64) * stride
        before = tl.load(weights + element, mask=is_mine, other=0.0).to(tl.float32)
        slope = tl.load(gradient + (element - start), mask=is_mine, other=0.0).to(tl.float32)
        if IN_8BIT:
            byte = tl.load(state + element, mask=is_mine, other=ZERO_BYTE)
            scale = tl.load(scales + element // BLOCK, mask=is_mine, other=0.0)
            moment = multiply(tl.load(code + byte), scale, IN_PTX)
            blend, moment = move_8bit(moment, slope, beta1, beta2, IN_PTX)
        else:
            moment = tl.load(state + element, mask=is_mine, other=0.0)
            blend, moment = move_32bit(moment, slope, beta1, beta2, IN_PTX)
        asked = step_against(before, blend, decay, size, shrink, ON_SPHERE, IN_8BIT, IN_PTX)
        if AT_RANDOM:
            halves = random_halves((element >> 1).to(tl.uint32), (element & 1) == 1, first_key, second_key)
            after = round_at_random(asked, halves)
        else:
            after = round_to_nearest(asked, weights.dtype.element_ty, IN_PTX)
        if HAS_KEEP:
            asked, after = tl.where(is_kept, asked, before), tl.where(is_kept, after.to(tl.float32), before)
        tl.store(watched + watch, before, mask=is_mine)
        tl.store(watched + room + watch, asked, mask=is_mine)
        tl.store(watched + 2 * room + watch, after.to(tl.float32), mask=is_mine)
    if HAS_KEEP and not is_kept:
        return
    tl.debug_barrier()

    local = tl.arange(0, TILE)
    weights += start
    state += start
    if IS_WHOLE:
        before = tl.load(weights + local).to(tl.float32)
        slope = tl.load(gradient + local).to(tl.float32)
    else:
        is_mine = local < left
        before = tl.load(weights + local, mask=is_mine, other=0.0).to(tl.float32)
        slope = tl.load(gradient + local, mask=is_mine, other=0.0).to(tl.float32)
    if IN_8BIT:
        scales += start // BLOCK
        block = tl.arange(0, TILE // BLOCK)
        if IS_WHOLE:
            byte = tl.load(state + local)
            scale = tl.load(scales + block)
        else:
            byte = tl.load(state + local, mask=is_mine, other=ZERO_BYTE)
            scale = tl.load(scales + block, mask=block * BLOCK < left, other=0.0)
        moment = multiply(look_up(code, byte.to(tl.int32), 256), of_each(scale, TILE), IN_PTX)
        blend, moment = move_8bit(moment, slope, beta1, beta2, IN_PTX)
    else:
        moment = tl.load(state + local, mask=local < left, other=0.0)
        blend, moment = move_32bit(moment, slope, beta1, beta2, IN_PTX)
    asked = step_against(before, blend, decay, size, shrink, ON_SPHERE, IN_8BIT, IN_PTX)
    if AT_RANDOM:
        pair = (start >> 1).to(tl.uint32) + (local >> 1).to(tl.uint32)
        after = round_at_random(asked, random_halves(pair, (local & 1) == 1, first_key, second_key))
    else:
        after = round_to_nearest(asked, weights.dtype.element_ty, IN_PTX)
    if IS_WHOLE:
        tl.store(weights + local, after)
    else:
        tl.store(weights + local, after, mask=is_mine)
    if IN_8BIT:
        scale = tl.max(tl.reshape(tl.abs(moment), [TILE // BLOCK, BLOCK]), axis=1)
        byte = to_bytes(moment, of_each(scale, TILE), borders, IN_PTX)
        if IS_WHOLE:
            tl.store(scales + block, scale)
            tl.store(state + local, byte)
        else:
            tl.store(scales + block, scale, mask=block * BLOCK < left)
            tl.store(state + local, byte, mask=is_mine)
    else:
        tl.store(state + local, moment, mask=local < left)


@triton.jit
def of_each(scales, TILE: tl.constexpr):
    """The scale of each of TILE elements, from those of their blocks."""
    return tl.reshape(tl.broadcast_to(scales[:, None], [TILE // BLOCK, BLOCK]), [TILE])

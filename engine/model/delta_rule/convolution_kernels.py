"""The short causal convolution with SiLU in Triton, forward and backward: the formula of `convolution`, on a GPU.

A program walks down a stretch of tokens of a block of channels and carries the last few in registers, so that each
number is read from memory once (besides the first few of each walk) and each activation is computed once.
"""

# Triton has no types, and its language no unpacking of tuples; its constants are written in capitals.
# mypy: disable-error-code="import-untyped, import-not-found, untyped-decorator, no-untyped-call, no-untyped-def, misc"
# ruff: noqa: N803, RUF005, SIM108

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor

WIDTHS = range(2, 9)
"""How many tokens the convolution may see."""
FORWARD_ROWS, BACKWARD_ROWS = 64, 128
"""Tokens of one program: few, to have many programs; more backward, where each writes a sum for every weight."""
_UNROLL = 4
"""Tokens whose numbers are asked for together, so that memory is never waited for one token at a time."""
_CHANNELS_OF_WARP = 128
"""Four neighbours for each thread."""
_MOST_WARPS = 4


def forward(inputs: Tensor, weight: Tensor, places: Tensor | None) -> Tensor:
    """inputs: [B, T, D], channels side by side in memory; weight: [D, W] -> contiguous [B, T, D].

    `places`, int32 [B x T], says how many tokens of its document stand before each; without it a line is a document.
    Sums and SiLU are float32.
    """
    inputs = _in_rows(inputs)
    outputs = torch.empty_like(inputs, memory_format=torch.contiguous_format)
    grid, options = _launch(inputs, weight, places, FORWARD_ROWS)
    with _on(inputs.device):
        _convolve[grid](inputs, weight.contiguous(), _pointer(places, inputs), outputs, *_sizes(inputs), **options)
    return outputs


def backward(gradient: Tensor, inputs: Tensor, weight: Tensor, places: Tensor | None) -> tuple[Tensor, Tensor]:
    """The gradients of inputs [B, T, D], contiguous, and weight [D, W], for the gradient [B, T, D] of the outputs.

    The sums over tokens are made program by program and then added up in one fixed order: the same bits every time.
    """
    inputs, gradient = _in_rows(inputs), _in_rows(gradient)
    of_inputs = torch.empty_like(inputs, memory_format=torch.contiguous_format)
    grid, options = _launch(inputs, weight, places, BACKWARD_ROWS)
    sums = inputs.new_empty(grid[1], weight.shape[1], inputs.shape[2], dtype=torch.float32)  # [programs, W, D]
    arguments = (gradient, inputs, weight.contiguous(), _pointer(places, inputs), of_inputs, sums)
    with _on(inputs.device):
        _convolve_backward[grid](*arguments, *_sizes(inputs), gradient.stride(1), **options)
    return of_inputs, sums.sum(0).t().to(weight.dtype).contiguous()


def _in_rows(tensor: Tensor) -> Tensor:
    """The tensor [B, T, D] as B x T rows at one distance, D numbers side by side in each; copied only if it is not."""
    lines, length, channels = tensor.shape
    together = lines == 1 or tensor.stride(0) == length * tensor.stride(1)
    return tensor if together and (channels == 1 or tensor.stride(2) == 1) else tensor.contiguous()


def _launch(inputs: Tensor, weight: Tensor, places: Tensor | None, rows: int) -> tuple[tuple[int, int], dict[str, Any]]:
    """The grid [blocks of channels, stretches of tokens], and what the kernels are compiled for."""
    lines, length, channels = inputs.shape
    warps = min(_MOST_WARPS, triton.next_power_of_2(triton.cdiv(channels, _CHANNELS_OF_WARP)))
    block = warps * _CHANNELS_OF_WARP
    options = {
        "WIDTH": weight.shape[1],
        "HAS_PLACES": places is not None,
        "CHANNELS": block,
        "ROWS": rows,
        "UNROLL": _UNROLL,
        "num_warps": warps,
    }
    return (triton.cdiv(channels, block), triton.cdiv(lines * length, rows)), options


def _sizes(inputs: Tensor) -> tuple[int, int, int, int]:
    lines, length, channels = inputs.shape
    return lines * length, length, channels, inputs.stride(1)


def _pointer(places: Tensor | None, instead: Tensor) -> Tensor:
    return instead if places is None else places


def _on(device: torch.device) -> Any:
    return torch.cuda.device(device) if device.type == "cuda" else nullcontext()


@triton.jit
def _convolve(
    inputs,
    weight,
    places,
    outputs,
    rows,
    length,
    channels,
    stride,
    WIDTH: tl.constexpr,
    HAS_PLACES: tl.constexpr,
    CHANNELS: tl.constexpr,
    ROWS: tl.constexpr,
    UNROLL: tl.constexpr,
):
    channel = tl.program_id(0) * CHANNELS + tl.arange(0, CHANNELS)
    inside = channel < channels
    begin = tl.program_id(1).to(tl.int64) * ROWS
    taps = _taps(weight, channel, inside, WIDTH)
    place = _place_of(places, begin, rows, length, HAS_PLACES)
    before = _rows_before(inputs, begin, place, stride, channel, inside, WIDTH)
    for block in range(0, ROWS, UNROLL):
        first = begin + block
        ahead = _rows_from(inputs, first, rows, stride, channel, inside, UNROLL)
        ahead_places = _places_from(places, first, rows, length, place, HAS_PLACES, UNROLL)
        for step in tl.static_range(UNROLL):
            before = _of_this_document(before, ahead_places[step], WIDTH)
            seen = (ahead[step].to(tl.float32),) + before
            total = _convolved(seen, taps, WIDTH)
            output = total * _sigmoid(total)
            row = first + step
            target = outputs + row * channels + channel
            tl.store(target, output.to(outputs.dtype.element_ty), mask=_within(inside, row, begin, rows))
            before = seen[: WIDTH - 1]
        place = ahead_places[UNROLL]


@triton.jit
def _convolve_backward(
    gradient,
    inputs,
    weight,
    places,
    of_inputs,
    sums,
    rows,
    length,
    channels,
    stride,
    gradient_stride,
    WIDTH: tl.constexpr,
    HAS_PLACES: tl.constexpr,
    CHANNELS: tl.constexpr,
    ROWS: tl.constexpr,
    UNROLL: tl.constexpr,
):
    """With g the gradient before the activation: of x_t it is the sum of weight_w g_{t + w}, of weight_w that of
    g_t x_{t - w} over all t. The walk goes W - 1 tokens further than its own, for their share in the last ones."""
    channel = tl.program_id(0) * CHANNELS + tl.arange(0, CHANNELS)
    inside = channel < channels
    begin = tl.program_id(1).to(tl.int64) * ROWS
    end = begin + ROWS
    taps = _taps(weight, channel, inside, WIDTH)
    place = _place_of(places, begin, rows, length, HAS_PLACES)
    before = _rows_before(inputs, begin, place, stride, channel, inside, WIDTH)
    open_sums = _zeros(CHANNELS, WIDTH - 1)  # of x_{t-1}, ..., x_{t-W+1}: what later tokens have given them so far
    of_taps = _zeros(CHANNELS, WIDTH)
    for block in range(0, ROWS, UNROLL):
        first = begin + block
        ahead = _rows_from(inputs, first, rows, stride, channel, inside, UNROLL)
        above = _rows_from(gradient, first, rows, gradient_stride, channel, inside, UNROLL)
        ahead_places = _places_from(places, first, rows, length, place, HAS_PLACES, UNROLL)
        for step in tl.static_range(UNROLL):
            before = _of_this_document(before, ahead_places[step], WIDTH)
            seen = (ahead[step].to(tl.float32),) + before
            slope = _before_activation(above[step].to(tl.float32), _convolved(seen, taps, WIDTH))
            of_taps = _with_products(of_taps, slope, seen, WIDTH)
            open_sums = _with_shares(open_sums, slope, taps, ahead_places[step], WIDTH)
            row = first + step - (WIDTH - 1)
            target = of_inputs + row * channels + channel
            tl.store(
                target, open_sums[WIDTH - 1].to(of_inputs.dtype.element_ty), mask=_within(inside, row, begin, rows)
            )
            before = seen[: WIDTH - 1]
            open_sums = open_sums[: WIDTH - 1]
        place = ahead_places[UNROLL]
    ahead = _rows_from(inputs, end, rows, stride, channel, inside, WIDTH - 1)
    above = _rows_from(gradient, end, rows, gradient_stride, channel, inside, WIDTH - 1)
    ahead_places = _places_from(places, end, rows, length, place, HAS_PLACES, WIDTH - 1)
    for step in tl.static_range(WIDTH - 1):
        before = _of_this_document(before, ahead_places[step], WIDTH)
        seen = (ahead[step].to(tl.float32),) + before
        slope = _before_activation(above[step].to(tl.float32), _convolved(seen, taps, WIDTH))
        open_sums = _with_shares(open_sums, slope, taps, ahead_places[step], WIDTH)
        row = end + step - (WIDTH - 1)
        target = of_inputs + row * channels + channel
        tl.store(target, open_sums[WIDTH - 1].to(of_inputs.dtype.element_ty), mask=_within(inside, row, begin, rows))
        before = seen[: WIDTH - 1]
        open_sums = open_sums[: WIDTH - 1]
    own_sums = sums + tl.program_id(1).to(tl.int64) * WIDTH * channels + channel
    for tap in tl.static_range(WIDTH):
        tl.store(own_sums + (WIDTH - 1 - tap) * channels, of_taps[tap], mask=inside)


@triton.jit
def _within(inside, row, first, end):
    """`inside` where the row is one of those from `first` up to `end`."""
    row = tl.broadcast_to(row, inside.shape)  # compared after: the interpreter makes numbers of truths it broadcasts
    return inside & (row >= first) & (row < end)


@triton.jit
def _taps(weight, channel, inside, WIDTH: tl.constexpr):
    """The weights of this token, of the one before, and so on: W times [CHANNELS] float32."""
    taps = ()
    for back in tl.static_range(WIDTH):
        tap = tl.load(weight + channel * WIDTH + (WIDTH - 1 - back), mask=inside, other=0.0)
        taps = taps + (tap.to(tl.float32),)
    return taps


@triton.jit
def _place_of(places, row, rows, length, HAS_PLACES: tl.constexpr):
    """How many tokens of its document stand before the first token of a walk."""
    if HAS_PLACES:
        place = tl.load(places + row, mask=row < rows, other=0)
    else:
        place = (row % length).to(tl.int32)
    return place


@triton.jit
def _rows_before(inputs, begin, place, stride, channel, inside, WIDTH: tl.constexpr):
    """The tokens before a walk begins, the nearest first: W - 1 times [CHANNELS] float32; zeros for other documents."""
    before = ()
    for back in tl.static_range(1, WIDTH):
        row = begin - back
        values = tl.load(inputs + row * stride + channel, mask=_within(inside, row, begin - place, begin), other=0.0)
        before = before + (values.to(tl.float32),)
    return before


@triton.jit
def _rows_from(tensor, first, rows, stride, channel, inside, COUNT: tl.constexpr):
    """COUNT tokens from `first` on, each [CHANNELS]; zeros behind the last."""
    found = ()
    for step in tl.static_range(COUNT):
        row = first + step
        found = found + (tl.load(tensor + row * stride + channel, mask=_within(inside, row, 0, rows), other=0.0),)
    return found


@triton.jit
def _places_from(places, first, rows, length, place, HAS_PLACES: tl.constexpr, COUNT: tl.constexpr):
    """For COUNT tokens how many of their document stand before them, and behind those the place of the next in a line.

    `place` is that of the first one in its line of `length`: counting on costs less than dividing for each.
    """
    found = ()
    for step in tl.static_range(COUNT):
        if HAS_PLACES:
            found = found + (tl.load(places + first + step, mask=first + step < rows, other=0),)
        else:
            found = found + (place,)
            place = tl.where(place + 1 == length, 0, place + 1)
    return found + (place,)


@triton.jit
def _of_this_document(before, place, WIDTH: tl.constexpr):
    """The tokens before, or zeros where a document begins."""
    kept = ()
    for back in tl.static_range(WIDTH - 1):
        kept = kept + (tl.where(place > 0, before[back], 0.0),)
    return kept


@triton.jit
def _convolved(seen, taps, WIDTH: tl.constexpr):
    total = seen[0] * taps[0]
    for back in tl.static_range(1, WIDTH):
        total += seen[back] * taps[back]
    return total


@triton.jit
def _sigmoid(values):
    return 1.0 / (1.0 + tl.exp(-values))


@triton.jit
def _before_activation(above, total):
    """The gradient of what SiLU is given, from that of what it gives."""
    sigmoid = _sigmoid(total)
    return above * (sigmoid * (1.0 + total * (1.0 - sigmoid)))


@triton.jit
def _with_products(of_taps, slope, seen, WIDTH: tl.constexpr):
    found = ()
    for back in tl.static_range(WIDTH):
        found = found + (of_taps[back] + slope * seen[back],)
    return found


@triton.jit
def _with_shares(open_sums, slope, taps, place, WIDTH: tl.constexpr):
    """The gradients of this token and of the W - 1 before it, after this token has given its share."""
    found = (slope * taps[0],)
    for back in tl.static_range(1, WIDTH):
        found = found + (open_sums[back - 1] + tl.where(place >= back, slope, 0.0) * taps[back],)
    return found


@triton.jit
def _zeros(CHANNELS: tl.constexpr, COUNT: tl.constexpr):
    zeros = ()
    for _ in tl.static_range(COUNT):
        zeros = zeros + (tl.full((CHANNELS,), 0.0, tl.float32),)
    return zeros

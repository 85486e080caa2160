"""The short causal convolution with SiLU in Triton, forward and backward: the formula of `convolution`, on a GPU.

A program walks down a stretch of tokens of a block of channels and carries the last few in registers, so that each
number is read from memory once (besides the first few of each walk) and each activation is computed once. Queries,
keys and values lie side by side in the inputs and come out as three tensors, for the delta rule takes no slices.
"""

# Triton has no types, and its language no unpacking of tuples; its constants are written in capitals.
# mypy: disable-error-code="import-untyped, import-not-found, untyped-decorator, no-untyped-call, no-untyped-def, misc"
# mypy: disable-error-code="assignment"
# ruff: noqa: N803, RUF005

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor

from engine.model.delta_rule.convolution_steps import (
    before_activation,
    convolved,
    logistic,
    no_sums,
    of_this_document,
    place_of,
    places_from,
    rows_before,
    rows_from,
    section_of,
    section_tensor,
    taps_of,
    with_products,
    with_shares,
    within,
)

WIDTHS = range(2, 9)
"""How many tokens the convolution may see."""
FORWARD_ROWS, BACKWARD_ROWS = 64, 128
"""Tokens of one program: few, to have many programs; more backward, where each writes a sum for every weight."""
_UNROLL = 4
"""Tokens whose numbers are asked for together, so that memory is never waited for one token at a time."""
_CHANNELS_OF_WARP = 128
"""Four neighbours for each thread."""
_MOST_WARPS = 4


def forward(inputs: Tensor, weight: Tensor, key_width: int, places: Tensor | None) -> tuple[Tensor, Tensor, Tensor]:
    """Query and key [B, T, key_width] and value [B, T, D - 2 key_width], each contiguous.

    inputs: [B, T, D], channels side by side in memory; weight: [D, W]. `places`, int32 [B x T], says how many tokens of
    its document stand before each; without it a line is a document. Sums and SiLU are float32.
    """
    inputs = _in_rows(inputs)
    widths = (key_width, key_width, inputs.shape[2] - 2 * key_width)
    query, key, value = (inputs.new_empty(*inputs.shape[:2], width) for width in widths)
    grid, options = _launch(inputs, weight, key_width, places, FORWARD_ROWS)
    arguments = (inputs, weight.contiguous(), _pointer(places, inputs), query, key, value)
    with _on(inputs.device):
        _convolve[grid](*arguments, *_sizes(inputs, key_width), **options)
    return query, key, value


def backward(
    of_query: Tensor, of_key: Tensor, of_value: Tensor, inputs: Tensor, weight: Tensor, places: Tensor | None
) -> tuple[Tensor, Tensor]:
    """The gradients of inputs [B, T, D], contiguous, and weight [D, W], for those of query, key and value.

    The sums over tokens are made program by program and then added up in one fixed order: the same bits every time.
    """
    inputs, key_width = _in_rows(inputs), of_key.shape[2]
    above = (of_query.contiguous(), of_key.contiguous(), of_value.contiguous())
    of_inputs = torch.empty_like(inputs, memory_format=torch.contiguous_format)
    grid, options = _launch(inputs, weight, key_width, places, BACKWARD_ROWS)
    sums = inputs.new_empty(grid[1], weight.shape[1], inputs.shape[2], dtype=torch.float32)  # [programs, W, D]
    arguments = (*above, inputs, weight.contiguous(), _pointer(places, inputs), of_inputs, sums)
    with _on(inputs.device):
        _convolve_backward[grid](*arguments, *_sizes(inputs, key_width), **options)
    return of_inputs, sums.sum(0).t().to(weight.dtype).contiguous()


def _in_rows(tensor: Tensor) -> Tensor:
    """The tensor [B, T, D] as B x T rows at one distance, D numbers side by side in each; copied only if it is not."""
    lines, length, channels = tensor.shape
    together = lines == 1 or tensor.stride(0) == length * tensor.stride(1)
    return tensor if together and (channels == 1 or tensor.stride(2) == 1) else tensor.contiguous()


def _launch(
    inputs: Tensor, weight: Tensor, key_width: int, places: Tensor | None, rows: int
) -> tuple[tuple[int, int], dict[str, Any]]:
    """The grid [blocks of channels, stretches of tokens], and what the kernels are compiled for.

    No block has channels of two sections, whatever their widths: query, key and value have blocks of their own.
    """
    lines, length, channels = inputs.shape
    value_width = channels - 2 * key_width
    warps = min(_MOST_WARPS, triton.next_power_of_2(triton.cdiv(max(key_width, value_width), _CHANNELS_OF_WARP)))
    block = warps * _CHANNELS_OF_WARP
    options = {
        "WIDTH": weight.shape[1],
        "HAS_PLACES": places is not None,
        "CHANNELS": block,
        "ROWS": rows,
        "UNROLL": _UNROLL,
        "num_warps": warps,
    }
    blocks = 2 * triton.cdiv(key_width, block) + triton.cdiv(value_width, block)
    return (blocks, triton.cdiv(lines * length, rows)), options


def _sizes(inputs: Tensor, key_width: int) -> tuple[int, int, int, int, int]:
    lines, length, channels = inputs.shape
    return lines * length, length, key_width, channels - 2 * key_width, inputs.stride(1)


def _pointer(places: Tensor | None, instead: Tensor) -> Tensor:
    return instead if places is None else places


def _on(device: torch.device) -> Any:
    return torch.cuda.device(device) if device.type == "cuda" else nullcontext()


@triton.jit
def _convolve(
    inputs,
    weight,
    places,
    query,
    key,
    value,
    rows,
    length,
    key_width,
    value_width,
    stride,
    WIDTH: tl.constexpr,
    HAS_PLACES: tl.constexpr,
    CHANNELS: tl.constexpr,
    ROWS: tl.constexpr,
    UNROLL: tl.constexpr,
):
    section, width, channel = section_of(tl.program_id(0), key_width, value_width, CHANNELS)
    inside = channel < width
    inputs += section * key_width
    weight += section * key_width * WIDTH
    outputs = section_tensor(section, query, key, value)
    begin = tl.program_id(1).to(tl.int64) * ROWS
    taps = taps_of(weight, channel, inside, WIDTH)
    place = place_of(places, begin, rows, length, HAS_PLACES)
    before = rows_before(inputs, begin, place, stride, channel, inside, WIDTH)
    for block in range(0, ROWS, UNROLL):
        first = begin + block
        ahead = rows_from(inputs, first, rows, stride, channel, inside, UNROLL)
        ahead_places = places_from(places, first, rows, length, place, HAS_PLACES, UNROLL)
        for step in tl.static_range(UNROLL):
            before = of_this_document(before, ahead_places[step], WIDTH)
            seen = (ahead[step].to(tl.float32),) + before
            total = convolved(seen, taps, WIDTH)
            output = total * logistic(total)
            row = first + step
            target = outputs + row * width + channel
            tl.store(target, output.to(outputs.dtype.element_ty), mask=within(inside, row, begin, rows))
            before = seen[: WIDTH - 1]
        place = ahead_places[UNROLL]


@triton.jit
def _convolve_backward(
    of_query,
    of_key,
    of_value,
    inputs,
    weight,
    places,
    of_inputs,
    sums,
    rows,
    length,
    key_width,
    value_width,
    stride,
    WIDTH: tl.constexpr,
    HAS_PLACES: tl.constexpr,
    CHANNELS: tl.constexpr,
    ROWS: tl.constexpr,
    UNROLL: tl.constexpr,
):
    """With g the gradient before the activation: of x_t it is the sum of weight_w g_{t + w}, of weight_w that of
    g_t x_{t - w} over all t. The walk goes W - 1 tokens further than its own, for their share in the last ones."""
    section, width, channel = section_of(tl.program_id(0), key_width, value_width, CHANNELS)
    inside, channels = channel < width, 2 * key_width + value_width
    inputs += section * key_width
    of_inputs += section * key_width
    sums += section * key_width
    weight += section * key_width * WIDTH
    gradient = section_tensor(section, of_query, of_key, of_value)
    begin = tl.program_id(1).to(tl.int64) * ROWS
    end = begin + ROWS
    taps = taps_of(weight, channel, inside, WIDTH)
    place = place_of(places, begin, rows, length, HAS_PLACES)
    before = rows_before(inputs, begin, place, stride, channel, inside, WIDTH)
    open_sums = no_sums(CHANNELS, WIDTH - 1)  # of x_{t-1}, ..., x_{t-W+1}: what later tokens have given them so far
    of_taps = no_sums(CHANNELS, WIDTH)
    for block in range(0, ROWS, UNROLL):
        first = begin + block
        ahead = rows_from(inputs, first, rows, stride, channel, inside, UNROLL)
        above = rows_from(gradient, first, rows, width, channel, inside, UNROLL)
        ahead_places = places_from(places, first, rows, length, place, HAS_PLACES, UNROLL)
        for step in tl.static_range(UNROLL):
            before = of_this_document(before, ahead_places[step], WIDTH)
            seen = (ahead[step].to(tl.float32),) + before
            slope = before_activation(above[step].to(tl.float32), convolved(seen, taps, WIDTH))
            of_taps = with_products(of_taps, slope, seen, WIDTH)
            open_sums = with_shares(open_sums, slope, taps, ahead_places[step], WIDTH)
            row = first + step - (WIDTH - 1)
            target = of_inputs + row * channels + channel
            tl.store(target, open_sums[WIDTH - 1].to(of_inputs.dtype.element_ty), mask=within(inside, row, begin, rows))
            before = seen[: WIDTH - 1]
            open_sums = open_sums[: WIDTH - 1]
        place = ahead_places[UNROLL]
    ahead = rows_from(inputs, end, rows, stride, channel, inside, WIDTH - 1)
    above = rows_from(gradient, end, rows, width, channel, inside, WIDTH - 1)
    ahead_places = places_from(places, end, rows, length, place, HAS_PLACES, WIDTH - 1)
    for step in tl.static_range(WIDTH - 1):
        before = of_this_document(before, ahead_places[step], WIDTH)
        seen = (ahead[step].to(tl.float32),) + before
        slope = before_activation(above[step].to(tl.float32), convolved(seen, taps, WIDTH))
        open_sums = with_shares(open_sums, slope, taps, ahead_places[step], WIDTH)
        row = end + step - (WIDTH - 1)
        target = of_inputs + row * channels + channel
        tl.store(target, open_sums[WIDTH - 1].to(of_inputs.dtype.element_ty), mask=within(inside, row, begin, rows))
        before = seen[: WIDTH - 1]
        open_sums = open_sums[: WIDTH - 1]
    own_sums = sums + tl.program_id(1).to(tl.int64) * WIDTH * channels + channel
    for tap in tl.static_range(WIDTH):
        tl.store(own_sums + (WIDTH - 1 - tap) * channels, of_taps[tap], mask=inside)

"""What the convolution's kernels do with a few tokens of a block of channels, each a vector [CHANNELS] in registers."""

# Triton has no types, and its language no unpacking of tuples; its constants are written in capitals.
# mypy: disable-error-code="import-untyped, import-not-found, untyped-decorator, no-untyped-call, no-untyped-def, misc"
# mypy: disable-error-code="assignment"
# ruff: noqa: N803, RUF005, SIM108

from __future__ import annotations

import triton
import triton.language as tl


@triton.jit
def section_of(block, key_width, value_width, CHANNELS: tl.constexpr):
    """Where a block of channels is: 0 in the query, 1 in the key, 2 in the value; how wide that is; which of its
    channels [CHANNELS] the block has, some of them maybe behind the last."""
    blocks = tl.cdiv(key_width, CHANNELS)
    section = tl.minimum(block // blocks, 2)
    width = tl.where(section == 2, value_width, key_width)
    return section, width, (block - section * blocks) * CHANNELS + tl.arange(0, CHANNELS)


@triton.jit
def section_tensor(section, query, key, value):
    if section == 0:
        found = query
    elif section == 1:
        found = key
    else:
        found = value
    return found


@triton.jit
def within(inside, row, first, end):
    """`inside` where the row is one of those from `first` up to `end`."""
    row = tl.broadcast_to(row, inside.shape)  # compared after: the interpreter makes numbers of truths it broadcasts
    return inside & (row >= first) & (row < end)


@triton.jit
def taps_of(weight, channel, inside, WIDTH: tl.constexpr):
    """The weights of this token, of the one before, and so on: W times [CHANNELS] float32."""
    taps = ()
    for back in tl.static_range(WIDTH):
        tap = tl.load(weight + channel * WIDTH + (WIDTH - 1 - back), mask=inside, other=0.0)
        taps = taps + (tap.to(tl.float32),)
    return taps


@triton.jit
def place_of(places, row, rows, length, HAS_PLACES: tl.constexpr):
    """How many tokens of its document stand before the first token of a walk."""
    if HAS_PLACES:
        place = tl.load(places + row, mask=row < rows, other=0)
    else:
        place = (row % length).to(tl.int32)
    return place


@triton.jit
def rows_before(inputs, begin, place, stride, channel, inside, WIDTH: tl.constexpr):
    """The tokens before a walk begins, the nearest first: W - 1 times [CHANNELS] float32; zeros for other documents."""
    before = ()
    for back in tl.static_range(1, WIDTH):
        row = begin - back
        values = tl.load(inputs + row * stride + channel, mask=within(inside, row, begin - place, begin), other=0.0)
        before = before + (values.to(tl.float32),)
    return before


@triton.jit
def rows_from(tensor, first, rows, stride, channel, inside, COUNT: tl.constexpr):
    """COUNT tokens from `first` on, each [CHANNELS]; zeros behind the last."""
    found = ()
    for step in tl.static_range(COUNT):
        row = first + step
        found = found + (tl.load(tensor + row * stride + channel, mask=within(inside, row, 0, rows), other=0.0),)
    return found


@triton.jit
def places_from(places, first, rows, length, place, HAS_PLACES: tl.constexpr, COUNT: tl.constexpr):
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
def of_this_document(before, place, WIDTH: tl.constexpr):
    """The tokens before, or zeros where a document begins."""
    kept = ()
    for back in tl.static_range(WIDTH - 1):
        kept = kept + (tl.where(place > 0, before[back], 0.0),)
    return kept


@triton.jit
def convolved(seen, taps, WIDTH: tl.constexpr):
    total = seen[0] * taps[0]
    for back in tl.static_range(1, WIDTH):
        total += seen[back] * taps[back]
    return total


@triton.jit
def logistic(values):
    return 1.0 / (1.0 + tl.exp(-values))


@triton.jit
def before_activation(above, total):
    """The gradient of what SiLU is given, from that of what it gives."""
    sigmoid = logistic(total)
    return above * (sigmoid * (1.0 + total * (1.0 - sigmoid)))


@triton.jit
def with_products(of_taps, slope, seen, WIDTH: tl.constexpr):
    found = ()
    for back in tl.static_range(WIDTH):
        found = found + (of_taps[back] + slope * seen[back],)
    return found


@triton.jit
def with_shares(open_sums, slope, taps, place, WIDTH: tl.constexpr):
    """The gradients of this token and of the W - 1 before it, after this token has given its share."""
    found = (slope * taps[0],)
    for back in tl.static_range(1, WIDTH):
        found = found + (open_sums[back - 1] + tl.where(place >= back, slope, 0.0) * taps[back],)
    return found


@triton.jit
def no_sums(CHANNELS: tl.constexpr, COUNT: tl.constexpr):
    zeros = ()
    for _ in tl.static_range(COUNT):
        zeros = zeros + (tl.full((CHANNELS,), 0.0, tl.float32),)
    return zeros

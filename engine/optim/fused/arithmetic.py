"""What the kernels compute with a number: bitsandbytes' CUDA arithmetic, random bits, rounding, bytes of state.

bitsandbytes is compiled with `--use_fast_math`: its float32 operations take numbers below 2^-126 for zero, and
a * b + c is one operation with one rounding. The names here say which operations of PTX they are. Triton's interpreter,
where IN_PTX is False, knows neither; there small numbers stay and a * b + c is rounded twice.
"""

# Triton has no types; constants of compilation are in capitals; it needs the else of a return.
# mypy: disable-error-code="import-untyped, import-not-found, untyped-decorator, no-untyped-call, no-untyped-def, misc"
# ruff: noqa: N803, RET505

import triton
import triton.language as tl

from engine.optim.fused.codebook import RANKS, ZERO

FIRST_MULTIPLIER = tl.constexpr(0x7FEB352D)
SECOND_MULTIPLIER = tl.constexpr(0x846CA68B)
ZERO_BYTE = tl.constexpr(ZERO)
"""State where a masked load has none. Bytes above 127 are no choice: Triton 3.6 fills up with 255 where it loads
several at once, and 255 is the largest moment of all."""
_RANKS = tl.constexpr(RANKS)
QUARTERS = tl.constexpr(3 * 2.0**20)
"""Float32 numbers of this size are a quarter apart, so their last bits count quarters."""


@triton.jit
def multiply(a, b, IN_PTX: tl.constexpr):
    if IN_PTX:
        return tl.inline_asm_elementwise(
            "mul.ftz.f32 $0, $1, $2;", "=f,f,f", [a, b], dtype=tl.float32, is_pure=True, pack=1
        )
    else:
        return a * b


@triton.jit
def subtract(a, b, IN_PTX: tl.constexpr):
    if IN_PTX:
        return tl.inline_asm_elementwise(
            "sub.ftz.f32 $0, $1, $2;", "=f,f,f", [a, b], dtype=tl.float32, is_pure=True, pack=1
        )
    else:
        return a - b


@triton.jit
def multiply_add(a, b, c, IN_PTX: tl.constexpr):
    if IN_PTX:
        return tl.inline_asm_elementwise(
            "fma.rn.ftz.f32 $0, $1, $2, $3;", "=f,f,f,f", [a, b, c], dtype=tl.float32, is_pure=True, pack=1
        )
    else:
        return a * b + c


@triton.jit
def reciprocal(a, IN_PTX: tl.constexpr):
    """1 / a as the GPU approximates it, which is the first half of bitsandbytes' division."""
    if IN_PTX:
        return tl.inline_asm_elementwise(
            "rcp.approx.ftz.f32 $0, $1;", "=f,f", [a], dtype=tl.float32, is_pure=True, pack=1
        )
    else:
        return 1.0 / a


@triton.jit
def look_up(table, places, SIZE: tl.constexpr):
    """The numbers at `places` of a table of SIZE, through shared memory: loads far apart would take several cycles."""
    return tl.gather(tl.load(table + tl.arange(0, SIZE)), places, 0)


@triton.jit
def move_8bit(moment, gradient, beta1, beta2, IN_PTX: tl.constexpr):
    """Lion's blend, whose sign is the direction, and the next moment; the order of bitsandbytes' 8-bit kernel."""
    beta1, beta2 = tl.cast(beta1, tl.float32), tl.cast(beta2, tl.float32)  # the interpreter hands over float64
    blend = multiply_add(gradient, 1.0 - beta1, multiply(moment, beta1, IN_PTX), IN_PTX)
    return blend, multiply_add(gradient, 1.0 - beta2, multiply(moment, beta2, IN_PTX), IN_PTX)


@triton.jit
def move_32bit(moment, gradient, beta1, beta2, IN_PTX: tl.constexpr):
    """The same with a float32 moment, for which bitsandbytes rounds the other product first."""
    beta1, beta2 = tl.cast(beta1, tl.float32), tl.cast(beta2, tl.float32)
    blend = multiply_add(moment, beta1, multiply(gradient, 1.0 - beta1, IN_PTX), IN_PTX)
    return blend, multiply_add(moment, beta2, multiply(gradient, 1.0 - beta2, IN_PTX), IN_PTX)


@triton.jit
def step_against(
    weights, blend, decay, size, shrink, ON_SPHERE: tl.constexpr, IN_8BIT: tl.constexpr, IN_PTX: tl.constexpr
):
    """weights * decay - size * sign(blend), on a sphere then scaled to its radius; float32.

    bitsandbytes' kernel for float32 moments rounds once here, that for 8 bits twice.
    """
    step = tl.where(blend > 0, size, tl.where(blend < 0, -size, 0.0))
    if ON_SPHERE:
        return (weights - step) * shrink
    elif not IN_8BIT:
        return multiply_add(weights, decay, -step, IN_PTX)
    else:
        return subtract(multiply(weights, decay, IN_PTX), step, IN_PTX)


@triton.jit
def random_halves(pair, is_odd, key0, key1):
    """The 16 random bits of `engine.optim.random_bits` as uint32 0 to 65535; `pair` (uint32) is the element // 2."""
    x = pair + key0.to(tl.uint32)
    x = (x ^ (x >> 16)) * FIRST_MULTIPLIER + key1.to(tl.uint32)
    x = (x ^ (x >> 15)) * SECOND_MULTIPLIER
    x = x ^ (x >> 16) ^ 0x80008000
    return tl.where(is_odd, x >> 16, x & 0xFFFF)


@triton.jit
def round_at_random(numbers, halves):
    """Float32 to bfloat16 as `engine.optim.rounding.round_stochastically`, `halves` from `random_halves`."""
    patterns = (numbers.to(tl.uint32, bitcast=True) + halves) & 0xFFFF0000
    return tl.where(numbers == numbers, patterns.to(tl.float32, bitcast=True), numbers).to(tl.bfloat16)


@triton.jit
def round_to_nearest(numbers, dtype: tl.constexpr, IN_PTX: tl.constexpr):
    """Float32 to `dtype`, ties to even; the interpreter would cut bfloat16 off."""
    if dtype == tl.bfloat16 and not IN_PTX:
        patterns = numbers.to(tl.uint32, bitcast=True)
        patterns = (patterns + 0x7FFF + ((patterns >> 16) & 1)) & 0xFFFF0000
        return tl.where(numbers == numbers, patterns.to(tl.float32, bitcast=True), numbers).to(tl.bfloat16)
    else:
        return numbers.to(dtype)


@triton.jit
def to_bytes(values, scale, borders, IN_PTX: tl.constexpr):
    """The entries of the map nearest to float32 `values` / `scale`, uint8; see `engine.optim.fused.codebook`.

    A block of zeros, whose scale is 0, gets what bitsandbytes' search makes of its 0 / 0: the outermost entries.
    """
    sizes = multiply(tl.abs(values), reciprocal(scale, IN_PTX), IN_PTX)
    # 0 / 0 counts as 1; the interpreter's minimum may keep it
    sizes = tl.minimum(sizes, 1.0) if IN_PTX else tl.where(sizes <= 1.0, sizes, 1.0)
    rank = tl.fma(sizes, 1e6 / 0.9, 8 / 9 + 0.5 + QUARTERS)
    for decade in tl.static_range(1, 7):
        rank = tl.minimum(rank, tl.fma(sizes, 1e6 / 0.9 / 5**decade, 8 / 9 * 2**decade + 0.5 + QUARTERS))
    rank = (rank.to(tl.int32, bitcast=True) >> 2) & 0xFF
    sign = values.to(tl.int32, bitcast=True) >> 31  # 0, or -1 for a negative number
    border = look_up(borders, rank | (sign & _RANKS), 2 * _RANKS)
    rank = tl.where(sizes < border, rank - 1, rank)
    return ((rank ^ sign) - sign + ZERO_BYTE).to(tl.uint8)

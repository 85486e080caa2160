"""Bits and rounding: uniform, independent, repeatable, and without a bias."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from engine.optim.random_bits import BitStream
from engine.optim.rounding import round_stochastically

CPU = torch.device("cpu")
COUNT = 2**20


def uniform(seed: int = 0, step: int = 1, parameter: int = 0) -> torch.Tensor:
    return BitStream.of(seed, step, parameter).draw(0, COUNT, CPU).double() / 65536  # -0.5 to 0.5


def test_the_bits_are_uniform() -> None:
    bits = BitStream.of(0, 1, 0).draw(0, COUNT, CPU).to(torch.int32) + 32768
    counts = torch.bincount(bits >> 8, minlength=256).double()
    chi_squared = ((counts - COUNT / 256) ** 2 / (COUNT / 256)).sum()
    assert len(counts) == 256 and 150 < chi_squared < 380  # 255 degrees of freedom: five standard deviations
    for bit in range(16):
        assert abs(((bits >> bit) & 1).double().mean() - 0.5) < 0.0025


def test_seed_step_parameter_and_neighbour_make_them_independent() -> None:
    first = uniform()
    others = {
        "seed": uniform(seed=1),
        "step": uniform(step=2),
        "parameter": uniform(parameter=1),
        **{f"shift {n}": first.roll(n) for n in (1, 2, 3, 128, 256)},
    }
    for name, other in others.items():
        correlation = 12 * (first * other).mean()
        assert abs(correlation) < 5 / COUNT**0.5, name


def test_a_part_has_the_bits_of_the_whole() -> None:
    stream = BitStream.of(5, 7, 9)
    whole = stream.draw(0, 4099, CPU)
    assert torch.equal(stream.draw(1024, 3075, CPU), whole[1024:])


def test_the_documented_formula_gives_the_bits() -> None:
    stream = BitStream.of(3, 4, 5)
    drawn = stream.draw(0, 64, CPU).tolist()
    for element, found in enumerate(drawn):
        x = (element // 2 + stream.key0) % 2**32
        x = ((x ^ (x >> 16)) * 0x7FEB352D + stream.key1) % 2**32
        x = ((x ^ (x >> 15)) * 0x846CA68B) % 2**32
        x ^= x >> 16
        assert found % 65536 == (x >> 16 * (element % 2)) % 65536


def test_what_bfloat16_has_never_moves() -> None:
    every = torch.arange(-(2**15), 2**15, dtype=torch.int16).view(torch.bfloat16)
    for step in range(5):
        rounded = round_stochastically(every.float(), BitStream.of(0, step, 0).draw(0, 2**16, CPU))
        assert torch.equal(rounded.isnan(), every.isnan())
        numbers = ~every.isnan()
        assert torch.equal(rounded[numbers].view(torch.int16), every[numbers].view(torch.int16))


def test_any_nan_stays_one() -> None:
    patterns = torch.tensor([0x7F800001, 0x7FFFFFFF, -1, -0x7FFFFF], dtype=torch.int32).repeat(256)
    assert round_stochastically(patterns.view(torch.float32), BitStream.of(0, 1, 0).draw(0, 1024, CPU)).isnan().all()


@pytest.mark.parametrize("rate", [1e-6, 1e-5, 1e-4])
def test_small_updates_arrive_on_average(rate: float, make: Any) -> None:
    """200 steps of one direction move weights of 0.02 by what float32 weights move, to 1 %."""
    start = (torch.randn(256, 1024, generator=torch.Generator().manual_seed(3)) * 0.02).bfloat16()
    gradient = torch.randn(start.shape, generator=torch.Generator().manual_seed(4))
    ours, optimizer = make(start, optimizer="lion", stochastic_rounding=True)
    for step in range(1, 201):
        optimizer.begin_step(step, rate)
        optimizer.update(ours, gradient)
    moved = float(((ours.detach().double() - start.double()) * -gradient.sign()).mean()) / (200 * rate)
    assert moved == pytest.approx(1.0, abs=0.01)


@pytest.mark.parametrize(
    ("weight", "rate", "expected"),
    [
        (1.0, 1e-5, 1.0),
        (1.0, 1e-4, 1.0),
        (1.0, 1e-3, 1.0),
        (1.0, 2e-3, 0.99609375),
        (0.02, 1e-5, 0.02001953125),
    ],
)
def test_nearest_rounding_loses_updates_and_says_so(weight: float, rate: float, expected: float, make: Any) -> None:
    start = torch.full((8, 8), weight, dtype=torch.bfloat16)
    ours, optimizer = make(start, optimizer="adamw", stochastic_rounding=False)
    optimizer.begin_step(1, rate)
    optimizer.update(ours, torch.ones(8, 8))
    real, intended = optimizer.movement().tolist()

    assert (ours == expected).all()
    assert (real == 0.0) == (expected == float(start[0, 0])) and intended == pytest.approx(64 * rate**2, rel=1e-2)


def test_nearest_rounding_moves_a_small_weight_at_a_large_rate(make: Any) -> None:
    start = torch.full((8, 8), 0.02, dtype=torch.bfloat16)
    ours, optimizer = make(start, optimizer="adamw", stochastic_rounding=False)
    optimizer.begin_step(1, 1e-4)
    optimizer.update(ours, torch.ones(8, 8))
    assert (ours < start).all()


def test_weight_decay_arrives_on_average(make: Any) -> None:
    """A factor of 1 - 2e-7 a step, which float32 itself has as 1 - 1.8e-7; the noise of the mean is 2e-6 here."""
    means = []
    for dtype, shape in ((torch.bfloat16, (64, 4096)), (torch.float32, (2, 2))):
        ours, optimizer = make(torch.ones(shape, dtype=dtype), optimizer="lion", weight_decay=0.01)
        for step in range(1, 1001):
            optimizer.begin_step(step, 2e-5)
            optimizer.update(ours, torch.zeros(shape))
        means.append(float(ours.detach().double().mean()))
    assert means[0] == pytest.approx(means[1], abs=1e-5)
    assert means[0] == pytest.approx(0.9998, abs=3e-5)


def test_float32_weights_are_not_rounded(make: Any, gradient_of: Any) -> None:
    start = torch.randn(16, 16)
    results = []
    for rounding in (True, False):
        ours, optimizer = make(start, optimizer="lion", stochastic_rounding=rounding)
        optimizer.begin_step(1, 1e-5)
        optimizer.update(ours, gradient_of(1, (16, 16)))
        real, intended = optimizer.movement().tolist()
        assert real == pytest.approx(intended)
        results.append(ours)
    assert torch.equal(*results)

"""The norm of a gradient against float64, for gradients of every size and with values that are not finite."""

from __future__ import annotations

import math

import pytest
import torch

from engine.backward.norm import GradientNorms

from .machine import DEVICE

pytestmark = pytest.mark.gpu
SIZES = (1, 3, 255, 4096, 100_003, 5_000_001)


def norms_of(*gradients: torch.Tensor) -> tuple[GradientNorms, list[torch.Tensor]]:
    named = [(f"weight{place}", torch.nn.Parameter(torch.zeros_like(one))) for place, one in enumerate(gradients)]
    norms = GradientNorms(named)
    norms.forget()
    return norms, [norms.measure(weight, one) for (_, weight), one in zip(named, gradients, strict=True)]


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float32], ids=str)
def test_each_norm_and_their_total_are_those_of_float64(dtype: torch.dtype) -> None:
    generator = torch.Generator().manual_seed(0)
    gradients = [
        torch.randn(size, generator=generator).mul_(10.0**power).to(DEVICE, dtype)
        for size, power in zip(SIZES, (0, -12, 6, -3, 2, -1), strict=True)
    ]
    norms, found = norms_of(*gradients)
    wanted = [float(one.double().norm()) for one in gradients]
    assert [float(one) for one in found] == pytest.approx(wanted, rel=1e-6)
    assert float(norms.total()) == pytest.approx(math.hypot(*wanted), rel=1e-6)
    assert norms.by_name() == {f"weight{place}": pytest.approx(one, rel=1e-6) for place, one in enumerate(wanted)}


def test_the_same_gradient_has_the_same_norm_to_the_last_bit() -> None:
    gradient = torch.randn(3_000_017, generator=torch.Generator().manual_seed(1)).to(DEVICE, torch.bfloat16)
    assert len({float(norms_of(gradient)[1][0]) for _ in range(5)}) == 1


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("place", [0, 70_000, -1])
def test_one_value_that_is_not_finite_shows_and_is_named(value: float, place: int) -> None:
    well, broken = torch.ones(5000, device=DEVICE), torch.ones(100_003, device=DEVICE)
    broken[place] = value
    norms, found = norms_of(well, broken)
    assert [bool(torch.isfinite(one)) for one in found] == [True, False]
    assert norms.first_not_finite() == "weight1"


def test_tiles_of_a_gradient_have_the_norm_of_the_whole() -> None:
    gradient = torch.randn(400, 100, generator=torch.Generator().manual_seed(2)).to(DEVICE)
    weight = torch.nn.Parameter(torch.zeros_like(gradient))
    norms = GradientNorms([("head", weight)])
    for _ in range(2):
        norms.forget()
        parts = [float(norms.measure_part(weight, tile)) for tile in gradient.split(128)]
        assert parts == pytest.approx([float(tile.double().norm()) for tile in gradient.split(128)], rel=1e-6)
        assert float(norms.total()) == pytest.approx(float(gradient.double().norm()), rel=1e-6)
        assert norms.not_measured() == ()

"""What the allocator takes for what is asked of it."""

from __future__ import annotations

import pytest

from engine.memory.estimate.reserve import Allocator, StepUse
from engine.units import MIB


def test_a_tensor_of_45_mib_takes_a_segment_of_46_and_small_ones_almost_nothing_more() -> None:
    """9,216 x 2,560 bfloat16 numbers; 96 such matrices are the 96 MiB that an H200 held more without expandable
    segments than with them."""
    allocator = Allocator()
    assert allocator.rounding([9216 * 2560 * 2]) == MIB
    assert allocator.rounding([9216 * 2560]) == 0, "of 24 MiB the last 1.5 go to another tensor"
    assert allocator.rounding([1, 512, 513]) == 511 + 0 + 511
    assert Allocator(is_expandable=True).rounding([9216 * 2560 * 2]) == 0


@pytest.mark.parametrize("name", ["PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_ALLOC_CONF"])
def test_expandable_segments_of_the_environment_are_told(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(name, "max_split_size_mb:512,expandable_segments:True")
    allocator = Allocator.of_environment()
    assert allocator.is_expandable and "expandable" in allocator.sentence(StepUse(1.0))
    monkeypatch.setenv(name, "expandable_segments:False")
    assert not Allocator.of_environment().is_expandable


def test_more_is_reserved_where_more_comes_and_goes_and_least_with_expandable_segments() -> None:
    plain, expandable = Allocator(), Allocator(is_expandable=True)
    much, little, offloaded = StepUse(4.0), StepUse(1.0), StepUse(4.0, offloads=True)
    assert plain.reserved_gib(10.0, much) > plain.reserved_gib(10.0, little) > 10.0
    assert plain.reserved_gib(10.0, offloaded) < plain.reserved_gib(10.0, much)
    assert 10.0 < expandable.reserved_gib(10.0, much) < plain.reserved_gib(10.0, offloaded)


def test_a_whole_gradient_of_the_head_and_holes_among_what_is_kept_are_reserved() -> None:
    plain, expandable = Allocator(), Allocator(is_expandable=True)
    whole, kept = StepUse(1.0, head_gradient_gib=1.2), StepUse(1.0, keeps_some=True)
    assert plain.reserved_gib(10.0, whole) == pytest.approx(11.2)
    assert plain.reserved_gib(10.0, kept) > plain.reserved_gib(10.0, StepUse(1.0))
    assert expandable.reserved_gib(10.0, whole) == expandable.reserved_gib(10.0, StepUse(1.0))

"""A step's moments: what is on the GPU when, for a model of three layers of ten bytes each."""

from __future__ import annotations

from dataclasses import dataclass, replace

import pytest

from engine.memory.estimate.phases import (
    COMPONENTS,
    PHASES,
    LossBytes,
    Moment,
    StepBytes,
    Worked,
    highest_by_phase,
    moments,
)


@dataclass(frozen=True)
class Layer:
    kept: int = 10
    forward: int = 30
    backward: int = 50
    gradients: int = 20


STEP = StepBytes(
    weights=1000,
    state=500,
    buffers=5,
    hidden=7,
    layers=(Layer(),) * 3,
    kept_by_norm=17,
    loss=LossBytes((Worked(200, 0), Worked(60, 100)), left=7, gradients=100),
    embedding=Worked(9, 100),
    tiles=None,
    update=0,
    gradients=3 * 20 + 100,
    releases=True,
    accumulates=False,
    offloads=False,
    keeps_head_gradient=True,
    moves_after_layer=True,
)
LASTING = 1505


def highest(step: StepBytes) -> dict[str, Moment]:
    return {moment.phase: moment for moment in highest_by_phase(moments(step))}


def test_each_phase_has_its_highest_moment_in_the_order_of_the_step() -> None:
    found = highest(STEP)
    assert list(found) == [phase for phase in PHASES if phase != "optimizer"]
    assert all(set(moment.parts) <= set(COMPONENTS) for moment in found.values())
    assert found["start of step"].total == LASTING
    assert found["forward"].total == LASTING + 3 * 7 + 2 * 10 + 30, "the last layer, above what those below keep"
    assert found["loss"].total == LASTING + 3 * 7 + 3 * 10 + 17 + 200
    assert found["embedding"].total == LASTING + 100 + 100 + (7 + 7) + 9


def test_backward_begins_with_all_inputs_and_ends_with_one() -> None:
    left, head = 7 + 7, 100
    with_release = highest(STEP)["backward"]
    assert with_release.total == LASTING + 3 * 7 + 3 * 10 + 50 + left + head
    keeping = replace(STEP, releases=False, layers=(Layer(kept=0, gradients=1000),) * 3, gradients=3100)
    without = highest(keeping)["backward"]
    assert without.total == LASTING + 7 + 50 + left + head + 2 * 1000, "the first layer, below two done ones"
    assert without.parts["layer inputs"] == 7


def test_an_untied_head_moves_before_the_body_goes_backward() -> None:
    untied = highest(replace(STEP, keeps_head_gradient=False))
    assert untied["backward"].parts["gradients"] == 0
    assert untied["embedding"].parts["gradients"] == 100


def test_without_release_all_gradients_wait_for_the_optimizer() -> None:
    found = highest(replace(STEP, releases=False, update=3))
    assert found["optimizer"].total == LASTING + 160 + 3
    assert found["embedding"].parts["gradients"] == 160 + 100


def test_with_accumulation_the_gradients_of_the_passes_before_are_always_there() -> None:
    found = highest(replace(STEP, releases=False, accumulates=True))
    left_before = 7 + 7
    assert found["forward"].total == LASTING + 160 + 3 * 7 + 2 * 10 + 30 + left_before
    assert found["loss"].parts["gradients"] in (160, 260)
    assert found["backward"].parts["gradients"] == 160


def test_offload_leaves_the_inputs_of_few_layers() -> None:
    deep = replace(STEP, layers=(Layer(),) * 32, offloads=True)
    found = highest(deep)
    assert found["forward"].parts["layer inputs"] == found["loss"].parts["layer inputs"] == 2 * 7
    assert found["backward"].parts["layer inputs"] == 2 * 7


@pytest.mark.parametrize(("compiled", "work"), [(True, 50), (False, 50 + 40)])
def test_what_the_optimizer_holds_comes_after_a_compiled_layer_and_within_an_eager_one(
    compiled: bool, work: int
) -> None:
    moving = replace(STEP, moves_after_layer=compiled, layers=(Layer(gradients=5),) * 3, update=40)
    assert highest(moving)["backward"].parts["layer at work"] == work


def test_a_tiled_head_comes_after_the_layers() -> None:
    tiled = replace(STEP, embedding=None, tiles=Worked(70), loss=LossBytes((Worked(200),), left=14, gradients=0))
    assert highest(tiled)["embedding"].total == LASTING + (7 + 14) + 70

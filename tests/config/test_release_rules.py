"""What gradient release and the sphere allow beside them."""

from __future__ import annotations

import pytest

from engine.config import ConfigError
from engine.config.dump import dump_config
from tests.config.conftest import Load


def refused(load: Load, lines: str, *flags: str) -> str:
    with pytest.raises(ConfigError) as error:
        load(lines, *flags)
    return str(error.value)


def test_without_release_the_norm_is_clipped_at_one(load: Load) -> None:
    assert load("").config.train.max_grad_norm == 1.0


@pytest.mark.parametrize("limit", ["1.0", "0.5", "1"])
def test_a_number_to_clip_by_is_refused_with_release(load: Load, limit: str) -> None:
    text = refused(load, f"max_grad_norm: {limit}", "--memory.gradient_release=true")
    assert "train.max_grad_norm" in text and "known only after that" in text
    assert "set max_grad_norm: null" in text


@pytest.mark.parametrize("flag", ["null", "none", ""])
def test_no_clipping_may_be_said_with_release(load: Load, flag: str) -> None:
    text = refused(
        load, "gradient_accumulation_steps: 2", "--memory.gradient_release=true", f"--train.max_grad_norm={flag}"
    )
    assert "max_grad_norm:" not in text


def test_several_passes_a_step_are_refused_with_release(load: Load) -> None:
    text = refused(load, "gradient_accumulation_steps: 4", "--memory.gradient_release=true")
    assert "train.gradient_accumulation_steps" in text and "cannot be added up" in text
    assert "set gradient_accumulation_steps: 1 and raise per_device_batch_size" in text


@pytest.mark.parametrize(
    ("flags", "missing"),
    [((), "gradient_release"), (("--memory.gradient_release=true", "--memory.chunked_loss=false"), "chunked_loss")],
)
def test_a_tiled_head_needs_release_and_the_chunked_loss(load: Load, flags: tuple[str, ...], missing: str) -> None:
    text = refused(load, "", "--memory.tiled_head=true", *flags)
    assert "memory.tiled_head" in text and f"{missing} is false" in text
    assert f"set memory.{missing}: true" in text


def test_a_tiled_head_that_is_frozen_has_no_effect(load: Load) -> None:
    loaded = load("freeze_non_attention: true", "--memory.gradient_release=true", "--memory.tiled_head=true")
    assert any("memory.tiled_head" in note and "no effect" in note for note in loaded.notes)


@pytest.mark.parametrize("rate", ["-0.1", "1.5", "null", "yes"])
def test_the_angle_on_the_sphere_is_a_number_from_0_to_1(load: Load, rate: str) -> None:
    assert "train.hyperball_lr" in refused(load, f"hyperball: true\nhyperball_lr: {rate}")


def test_the_resolved_config_loads_again(load: Load) -> None:
    written = dump_config(load("").config)
    assert "  stochastic_rounding: true\n" in written and "  hyperball_lr: 0.0\n" in written

"""What a run takes in tokens, operations, time and money."""

from __future__ import annotations

from typing import Any

import pytest

from engine.memory.advice.gpus import gpu_named
from engine.memory.advice.work import MeasuredSpeed, RunLength, Work, work_of
from engine.model.flops import Matrix, Products
from tests.bench.training.recipes import config_of

MATRIX = Matrix("mlp.up_proj.weight", (1000, 1000), 1_000_000, is_trained=True, passes_gradient=True)
PRODUCTS = Products(((MATRIX,),) * 4, head_weights=0, head_is_trained=False, attentions=(), delta_states=())
SETTINGS: dict[str, Any] = {
    "data.max_seq_length": 512,
    "train.per_device_batch_size": 4,
    "train.gradient_accumulation_steps": 8,
}
TOKENS = 4 * 8 * 512
UNKNOWN = RunLength()


def work(length: RunLength = UNKNOWN, settings: dict[str, Any] | None = None, **options: Any) -> Work:
    return work_of(config_of(SETTINGS | (settings or {})), PRODUCTS, 4_000_000, length, **options)


def test_a_step_has_the_tokens_of_all_its_passes_and_six_operations_for_each_of_them_and_weight() -> None:
    found = work()
    assert found.tokens_per_step == TOKENS
    assert found.flops_per_step == pytest.approx(6 * 4_000_000 * TOKENS)


def test_without_packing_it_says_that_full_lines_are_the_most_and_with_it_that_they_nearly_are() -> None:
    assert any("the most that it can be" in line for line in work().assumptions)
    assert any("packing" in line for line in work(settings={"data.packing": True}).assumptions)


def test_time_and_money_follow_from_measured_speed() -> None:
    speed = MeasuredSpeed(TOKENS / 2, "speed: measured on this machine")
    found = work(RunLength(100, 300), measured=speed, price=1.5)
    assert found.seconds_per_step == pytest.approx(2)
    assert found.seconds == pytest.approx(600)
    assert found.dollars == pytest.approx(0.25)
    assert "speed: measured on this machine" in found.assumptions


def test_padding_that_is_known_counts_instead_of_full_lines() -> None:
    found = work(RunLength(100, 300, slots_per_step=TOKENS / 4), measured=MeasuredSpeed(TOKENS, "speed: measured"))
    assert found.tokens_per_step == TOKENS
    assert found.seconds_per_step == pytest.approx(0.25)


def test_a_gpu_of_the_table_gives_a_time_with_its_assumptions() -> None:
    slow, quick = (work(RunLength(1, 10), gpu=gpu_named(name)) for name in ("RTX 3060 12GB", "H200"))
    assert slow.seconds is not None and quick.seconds is not None and slow.seconds > quick.seconds
    assert any("RTX 3060" in line for line in slow.assumptions)
    assert slow.dollars is None


def test_what_is_not_known_is_null_and_told() -> None:
    found = work(RunLength(notes=("the data is not here",)))
    assert (found.tok_s, found.seconds, found.steps_per_epoch, found.total_steps) == (None, None, None, None)
    assert "the data is not here" in found.assumptions
    assert any("--gpu" in line for line in found.assumptions)

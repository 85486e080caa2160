"""The cheapest changes: they fit, they can be trained with, and the result of training comes before its speed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from engine.config import Config, check_config, load_config
from engine.errors import UserError
from engine.memory.advice.changes import Change, cheapest_changes, find_changes
from engine.memory.advice.effects import Effect, effects
from engine.memory.advice.gpus import gpu_named
from engine.memory.advice.levers import with_values
from engine.memory.advice.room import Room, room_of
from engine.memory.advice.verdict import judge
from engine.memory.estimate import estimate_memory
from engine.memory.estimate.model_shape import model_shape

CONFIGS = Path(__file__).parents[3] / "configs"
FOUR_B = CONFIGS / "qwen35_4b"
WEIGHTS = 4.2e9
STATE_BYTES = {"adamw": 8, "adamw8bit": 2, "lion": 4, "lion8bit": 1}
KEPT_BYTES = {"none": 3.6e6, "selective": 1.4e6, "mixers": 0.5e6, "full": 0.16e6}
"""For each token, in all layers."""
RECOMPUTED = {"none": 1.0, "selective": 1.15, "mixers": 1.25, "full": 1.3}
PLAIN = {
    "model.compile": False,
    "memory.gradient_release": False,
    "memory.tiled_head": False,
    "train.gradient_checkpointing": "none",
    "train.optimizer": "adamw",
    "train.max_grad_norm": 1.0,
    "train.per_device_batch_size": 8,
}
"""A recipe of somebody who has turned nothing on."""


@dataclass(frozen=True)
class Needed:
    peak_gib: float

    @property
    def reserved_gib(self) -> float:
        return self.peak_gib * 1.05

    @property
    def total_gib(self) -> float:
        return self.reserved_gib + 0.7


def need(config: Config) -> Needed:
    """A model of 4 billion weights on the back of an envelope."""
    train, memory = config.train, config.memory
    trained = WEIGHTS * (0.31 if train.freeze_non_attention else 1)
    tokens = train.per_device_batch_size * config.data.max_seq_length
    kept = tokens * KEPT_BYTES[train.gradient_checkpointing] * (1 if config.model.compile else 1.7)
    if memory.offload_activations:
        kept -= tokens * 0.14e6
    layer = tokens * 0.2e6 / memory.layer_slices
    gradients = 0.25e9 if memory.gradient_release else 2 * trained
    head = 0 if memory.tiled_head or train.freeze_non_attention else 1.3e9
    logits = 6 * 248_320 * min(memory.loss_chunk_tokens, tokens)
    size = 2 * WEIGHTS + trained * STATE_BYTES[train.optimizer] + gradients + kept + max(layer + head, logits)
    return Needed(size * (0.95 if memory.float8_training else 1) / 2**30)


def tokens_a_second(config: Config) -> float:
    time = RECOMPUTED[config.train.gradient_checkpointing] * (1 + 0.05 * config.memory.layer_slices)
    time *= (0.8 if config.memory.float8_training else 1) * (1 if config.model.compile else 1.4)
    return 1e4 / (time * (0.8 if config.train.freeze_non_attention else 1))


def config_of(name: str, values: Mapping[str, object] | None = None) -> Config:
    return with_values(load_config(FOUR_B / f"{name}.yaml", check_files=False).config, values or {})


def changes_of(config: Config, room: Room | None) -> tuple[Change, ...]:
    return find_changes(config, room, need(config), need, tokens_a_second)


def effect_of(config: Config, change: Change) -> Effect:
    return effects(config, with_values(config, change.keys)).worst


@pytest.mark.parametrize("gpu", ["3060", "4060ti-16", "4090", "a100-40", "l40s", "h100"])
@pytest.mark.parametrize("name", ["card_16gb", "a100_40gb", "a100_80gb", "h100_80gb", "plain"])
def test_what_is_proposed_fits_can_be_trained_with_and_is_told_rightly(name: str, gpu: str) -> None:
    config = config_of("card_16gb", PLAIN) if name == "plain" else config_of(name)
    room = room_of(gpu_named(gpu))
    changes = changes_of(config, room)
    assert len(changes) <= 3
    before = need(config)
    for change in changes:
        other = with_values(config, change.keys)
        assert not check_config(other)[0], "its keys go together"
        assert change.keys, "it changes something"
        assert change.peak_gib == need(other).peak_gib
        assert change.saves_gib == pytest.approx(before.peak_gib - change.peak_gib)
        assert f"{need(other).total_gib:.1f} GiB" in change.sentence
        assert all(key.partition(".")[2] in change.sentence for key in change.keys)
        if not change.sentence.startswith("nothing makes it fit"):
            word = judge(need(other), room).word
            assert word == "fits" or (word == "tight" and "still tight" in change.sentence)
    levers = [frozenset(change.keys.items()) for change in changes]
    assert all(not (one <= other) for one in levers for other in levers if one is not other), "distinct in kind"


def test_the_same_mathematics_come_before_a_smaller_step_and_that_before_less_training() -> None:
    config = config_of("a100_80gb")
    changes = changes_of(config, room_of(gpu_named("4090")))
    told = [effect_of(config, change) for change in changes]
    assert told == sorted(told)
    assert told[0] == Effect.SAME
    assert "slower (computed)" in changes[0].sentence
    assert changes[0].speed < 1


@pytest.mark.parametrize("gpu", ["4090", "a100-40"])
def test_nothing_is_changed_without_need(gpu: str) -> None:
    config = config_of("a100_80gb")
    room = room_of(gpu_named(gpu))
    for change in changes_of(config, room):
        for key in change.keys:
            rest = {other: value for other, value in change.keys.items() if other != key}
            without = with_values(config, rest)
            assert check_config(without)[0] or judge(need(without), room).word != "fits", (key, change.sentence)


def test_smaller_passes_leave_the_step_as_large_as_it_was() -> None:
    config = config_of("card_16gb", PLAIN | {"model.compile": True, "train.optimizer": "lion8bit"})
    room = room_of(45.0)
    changes = changes_of(config, room)
    smaller = [change for change in changes if "train.per_device_batch_size" in change.keys]
    assert smaller, [change.sentence for change in changes]
    for change in smaller:
        train = with_values(config, change.keys).train
        assert train.per_device_batch_size * train.gradient_accumulation_steps == 8


def test_under_release_a_smaller_batch_is_a_smaller_step_and_says_so() -> None:
    config = config_of("a100_80gb")
    changes = changes_of(config, room_of(gpu_named("a100-40")))
    (smaller,) = [change for change in changes if "train.per_device_batch_size" in change.keys]
    assert "train.gradient_accumulation_steps" not in smaller.keys
    assert "a step sees 2 lines in place of 4" in smaller.sentence


def test_release_takes_clipping_and_accumulation_with_it() -> None:
    config = config_of("card_16gb", PLAIN | {"train.gradient_accumulation_steps": 2, "train.per_device_batch_size": 1})
    changes = changes_of(config, room_of(gpu_named("4090")))
    releasing = [change for change in changes if "memory.gradient_release" in change.keys]
    assert releasing
    for change in releasing:
        assert change.keys["train.max_grad_norm"] is None
        assert change.keys["train.gradient_accumulation_steps"] == 1
        assert "gradients are no longer clipped" in change.sentence


def test_float8_is_proposed_only_where_the_gpu_is_known_to_have_it() -> None:
    config = config_of("a100_80gb")
    only_float8 = need(with_values(config, {"memory.float8_training": True})).total_gib

    def has(change: Change) -> bool:
        return "memory.float8_training" in change.keys

    def saves_with_float8_alone(new: Config) -> Needed:
        return need(config) if not new.memory.float8_training else need(new)

    for gpu, expected in (("l40s", True), ("a100-40", False), (40.0, False)):
        kind = room_of(gpu_named(gpu)) if isinstance(gpu, str) else room_of(gpu)
        room = Room(kind.name, 80, only_float8 * 1.1, gpu=kind.gpu)
        found = find_changes(config, room, need(config), saves_with_float8_alone, tokens_a_second)
        assert any(has(change) for change in found if change.saves_gib > 0) is expected


def test_what_the_gpu_cannot_do_is_changed_first() -> None:
    config = config_of("h100_80gb")
    room = room_of(gpu_named("a100-80"))
    verdict = judge(need(config), room, config)
    assert verdict.warnings[0].startswith("the run would be refused there: A100 80GB has compute capability 8.0")
    changes = changes_of(config, room)
    assert changes
    assert all(change.keys["memory.float8_training"] is False for change in changes)
    assert "products in bfloat16" in changes[0].sentence


def test_a_tight_fit_gets_changes_that_make_it_comfortable() -> None:
    config = config_of("card_16gb")
    room = room_of(need(config).total_gib + 0.2)
    assert judge(need(config), room).word == "tight"
    changes = changes_of(config, room)
    assert changes
    assert all(judge(need(with_values(config, change.keys)), room).word == "fits" for change in changes)


def test_room_that_is_left_is_used_for_speed_without_another_result() -> None:
    config = config_of("card_16gb", {"memory.offload_activations": True, "memory.layer_slices": 2})
    room = room_of(gpu_named("h100"))
    changes = changes_of(config, room)
    assert changes
    for change in changes:
        assert change.speed > 1.03
        assert "quicker (computed)" in change.sentence
        assert effect_of(config, change) == Effect.SAME
        assert change.saves_gib < 0
    assert changes[0].keys["train.gradient_checkpointing"] == "none"


def test_passes_are_put_together_where_there_is_room() -> None:
    values = {"memory.gradient_release": False, "memory.tiled_head": False, "train.gradient_accumulation_steps": 4}
    config = config_of("card_16gb", values)

    def quicker_in_large_passes(new: Config) -> float:
        return tokens_a_second(new) * (1 + 0.1 * new.train.per_device_batch_size)

    changes = find_changes(config, room_of(79.0), need(config), need, quicker_in_large_passes)
    (larger,) = [change for change in changes if change.keys.get("train.per_device_batch_size") == 8]
    assert larger.keys["train.gradient_accumulation_steps"] == 1


def test_where_nothing_fits_it_is_said_how_far_the_smallest_is_from_it() -> None:
    (change,) = changes_of(config_of("card_16gb"), room_of(8.0))
    assert change.sentence.startswith("nothing makes it fit: at the least ")
    assert "and 8.0 are free" in change.sentence
    assert change.saves_gib > 0


def test_a_way_that_the_model_does_not_go_is_not_proposed() -> None:
    config = config_of("a100_80gb")

    def refuses_slices(new: Config) -> Needed:
        if new.memory.layer_slices > 1 or new.train.gradient_checkpointing == "full":
            raise UserError("no layers that can be told apart")
        return need(new)

    changes = find_changes(config, room_of(gpu_named("4090")), need(config), refuses_slices, tokens_a_second)
    assert changes
    for change in changes:
        assert "memory.layer_slices" not in change.keys
        assert change.keys.get("train.gradient_checkpointing") != "full"


def test_without_a_gpu_there_is_nothing_to_fit() -> None:
    assert changes_of(config_of("card_16gb"), None) == ()


def test_the_real_estimate_of_what_is_proposed_fits() -> None:
    config = load_config(CONFIGS / "smollm2_135m/cpu.yaml", check_files=False).config
    config = with_values(config, {"train.per_device_batch_size": 8, "data.max_seq_length": 1024})
    shape = model_shape(config)
    estimate = estimate_memory(config, shape)
    room = room_of(estimate.total_gib * 0.6)
    changes = cheapest_changes(config, shape, room, estimate)
    assert changes
    for change in changes:
        other = estimate_memory(with_values(config, change.keys), shape)
        assert other.peak_gib == pytest.approx(change.peak_gib)
        assert judge(other, room).word in ("fits", "tight")
    assert effect_of(config, changes[0]) <= Effect.ROUNDED


def test_a_rate_for_lion_is_a_number_that_one_would_write() -> None:
    small = changes_of(
        config_of("card_16gb", PLAIN | {"train.optimizer": "adamw", "train.learning_rate": 1e-5}), room_of(1.0)
    )
    rates = [change.keys["train.learning_rate"] for change in small if "train.learning_rate" in change.keys]
    assert rates == [2e-6] * len(rates) and rates

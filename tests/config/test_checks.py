"""Rules over several keys: schedules, rates that do not suit, and settings without effect."""

from __future__ import annotations

import pytest

from engine.config import ConfigError, Train, check_schedule, check_updates
from engine.config.rounding import half_grid_step
from tests.config.conftest import Load


def test_a_warmup_longer_than_the_run_is_explained_with_its_numbers() -> None:
    problem = check_schedule(Train(warmup_steps=100, learning_rate=1e-4), total_steps=60)
    assert problem is not None
    assert problem.reason == (
        "the warm-up of 100 steps is longer than the run of 60 optimizer steps:"
        " the highest rate reached is 6.0e-5 (60% of 1.0e-4)"
    )


@pytest.mark.parametrize("train", [Train(warmup_steps=60), Train(warmup_steps=0), Train(warmup_ratio=1.0), Train()])
def test_a_warmup_that_fits_is_fine(train: Train) -> None:
    assert check_schedule(train, total_steps=60) is None


def test_without_a_warmup_key_the_ratio_is_written_out(load: Load) -> None:
    train = load().config.train
    assert (train.warmup_ratio, train.warmup_steps) == (0.03, None)


def test_warmup_steps_alone_leave_no_ratio(load: Load) -> None:
    train = load("warmup_steps: 20\nwarmup_ratio: null").config.train
    assert (train.warmup_ratio, train.warmup_steps) == (None, 20)


@pytest.mark.parametrize("optimizer", ["lion", "lion8bit"])
def test_lion_with_a_rate_for_adamw_is_remarked_on(load: Load, optimizer: str) -> None:
    (note,) = load(f"optimizer: {optimizer}\nlearning_rate: 2.0e-4").notes
    assert note.startswith(f"test.yaml:7:18: train.learning_rate: {optimizer} with a rate of 2.0e-4")
    assert "divide an AdamW rate by 3 to 10 and raise weight_decay" in note


def test_lion_with_a_small_rate_or_from_random_weights_is_fine(load: Load) -> None:
    assert not load("optimizer: lion\nlearning_rate: 3.0e-6").notes
    assert not load("optimizer: lion\nlearning_rate: 2.0e-4", "--model.init=random").notes
    assert not load("optimizer: adamw\nlearning_rate: 2.0e-4").notes


def test_updates_that_vanish_in_bfloat16_are_remarked_on(load: Load) -> None:
    nearest = ("--model.torch_dtype=bfloat16", "--train.stochastic_rounding=false")
    (note,) = load("learning_rate: 1e-5", *nearest).notes
    assert "UPDATES_MAY_VANISH" in note
    assert "(1.0e-5) is less than half a grid step (6.1e-5)" in note
    assert note.endswith("advice: train.stochastic_rounding: true")
    assert not load("learning_rate: 1e-4", *nearest).notes
    assert not load("learning_rate: 1e-5", "--model.torch_dtype=bfloat16").notes
    assert not load("learning_rate: 1e-5", "--model.torch_dtype=float32").notes


def test_the_engine_asks_again_with_the_resolved_type() -> None:
    assert [note.key for note in check_updates(Train(stochastic_rounding=False), "bfloat16")] == ["train.learning_rate"]
    assert check_updates(Train(stochastic_rounding=False), "float32") == ()
    assert check_updates(Train(), "bfloat16") == ()


def test_weight_decay_that_rounds_away_is_remarked_on() -> None:
    (note,) = check_updates(Train(learning_rate=1e-4, weight_decay=0.01, stochastic_rounding=False), "bfloat16")
    assert (note.key, note.text.partition(";")[0]) == (
        "train.weight_decay",
        "no effect: the weights are bfloat16, and a factor of 1 - 1.0e-6 rounds to 1",
    )


def test_half_a_grid_step_of_bfloat16() -> None:
    assert half_grid_step(1.0) == 2**-8
    assert half_grid_step(0.02001953125) == pytest.approx(6.1e-5, rel=1e-2)


@pytest.mark.parametrize(
    ("lines", "note"),
    [
        ("power_decay_gamma: 2", "train.power_decay_gamma: 2 has no effect: lr_scheduler is cosine"),
        ("wsd_decay_ratio: 0.1", "train.wsd_decay_ratio: 0.1 has no effect: lr_scheduler is cosine"),
        (
            "min_learning_rate: 1e-6\nlr_scheduler: constant",
            "train.min_learning_rate: 1.0e-6 has no effect: lr_scheduler is constant",
        ),
        (
            "spike_z_threshold: 4\nspike_detection: false",
            "train.spike_z_threshold: 4 has no effect: spike_detection is false",
        ),
        ("epochs: 2\nmax_steps: 9", "train.epochs: 2 has no effect: max_steps is 9 and decides"),
    ],
)
def test_a_setting_without_effect_is_remarked_on(load: Load, lines: str, note: str) -> None:
    loaded = load(lines)
    assert [text.split(": ", 1)[1] for text in loaded.notes] == [note]


def test_settings_of_other_sections_without_effect(load: Load) -> None:
    flags = (
        "--memory.chunked_loss=false",
        "--memory.loss_chunk_tokens=64",
        "--data.eval_every=5",
        "--data.eval_samples=9",
    )
    assert [note.partition(":")[0] for note in load("", *flags).notes] == [
        "--memory.loss_chunk_tokens",
        "--data.eval_every",
        "--data.eval_samples",
    ]
    assert not load("", "--data.eval_every=5", "--data.eval_split=0.1").notes


def test_a_default_that_is_written_out_is_not_remarked_on(load: Load) -> None:
    assert not load("power_decay_gamma: 4.0\nmax_steps: 9\nepochs: 1").notes


def test_evaluating_on_training_data_is_remarked_on(load: Load) -> None:
    (note,) = load("", "--data.eval_dataset=chats.jsonl").notes
    assert note.startswith("--data.eval_dataset: the model is evaluated on data that it is trained on")


def test_a_key_that_could_not_be_read_is_not_blamed_a_second_time(load: Load) -> None:
    with pytest.raises(ConfigError) as refusal:
        load("learning_rate: fast\nmin_learning_rate: 1e-3\nwarmup_ratio: 30\nwarmup_steps: 5")
    assert [problem.key for problem in refusal.value.problems] == ["train.learning_rate", "train.warmup_ratio"]


def test_a_problem_holds_everything_a_program_needs(load: Load) -> None:
    with pytest.raises(ConfigError) as refusal:
        load("optimizer: adam")
    (problem,) = refusal.value.problems
    assert (problem.key, problem.line, problem.column, problem.found) == ("train.optimizer", 6, 14, "adam")
    assert (problem.allowed, problem.nearest) == ("adamw, adamw8bit, lion or lion8bit", "adamw")
    assert problem.place is not None and problem.place.source == "test.yaml"


def test_minimal_is_enough(load: Load) -> None:
    assert load().notes == ()

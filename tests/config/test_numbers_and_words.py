"""What a written value becomes: numbers, booleans, choices, null, and the traps of YAML 1.1."""

from __future__ import annotations

import pytest

from engine.config import ConfigError
from engine.config.nodes import meaning_of
from tests.config.conftest import Load


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("1e-5", 1e-5),
        ("1.0e-5", 1e-5),
        ("1E-5", 1e-5),
        ("5e-5  # note", 5e-5),
        ("+1e-5", 1e-5),
        (".5", 0.5),
        ("1", 1.0),
        ("0.000_1", 1e-4),
    ],
)
def test_exponents_with_and_without_a_dot_are_numbers(load: Load, written: str, value: float) -> None:
    loaded = load(f"learning_rate: {written}")
    assert loaded.config.train.learning_rate == value
    assert not loaded.notes


@pytest.mark.parametrize(
    ("text", "meaning"), [("1.0e5", 1e5), ("1e5", 1e5), ("1e", "1e"), ("0x10", "0x10"), ("1:30", "1:30")]
)
def test_only_decimal_numbers_are_numbers(text: str, meaning: object) -> None:
    assert meaning_of(text) == meaning


@pytest.mark.parametrize(("written", "count"), [("3", 3), ("3.0", 3), ("1e3", 1000), ("1_000", 1000), ("+3", 3)])
def test_a_whole_number_may_be_written_as_a_float(load: Load, written: str, count: int) -> None:
    max_steps = load(f"max_steps: {written}").config.train.max_steps
    assert max_steps == count
    assert type(max_steps) is int


@pytest.mark.parametrize(
    "written", ["2.5", "true", "yes", "1e-3", '"two"', "9" * 200, "1e400", ".inf", "[1]", "{a: 1}"]
)
def test_what_is_no_whole_number_is_refused(load: Load, written: str) -> None:
    with pytest.raises(ConfigError) as refusal:
        load(f"per_device_batch_size: {written}")
    (problem,) = refusal.value.problems
    assert (problem.key, problem.line) == ("train.per_device_batch_size", 6)


def test_quoted_values_are_taken_with_a_note(load: Load) -> None:
    loaded = load(
        'learning_rate: "2e-4"\ngradient_accumulation_steps: "8"\nspike_detection: "false"\nmax_grad_norm: ".5"'
    )
    train = loaded.config.train
    assert (train.learning_rate, train.gradient_accumulation_steps) == (2e-4, 8)
    assert (train.spike_detection, train.max_grad_norm) == (False, 0.5)
    assert loaded.notes == (
        'test.yaml:6:18: train.learning_rate: "2e-4" in quotes is read as the number 2e-4',
        'test.yaml:7:32: train.gradient_accumulation_steps: "8" in quotes is read as the number 8',
        'test.yaml:8:20: train.spike_detection: "false" in quotes is read as false',
        'test.yaml:9:18: train.max_grad_norm: ".5" in quotes is read as the number .5',
    )


@pytest.mark.parametrize(
    ("written", "value"), [("no", False), ("off", False), ("False", False), ("on", True), ("YES", True)]
)
def test_yaml_words_are_booleans_where_a_boolean_is_asked_for(load: Load, written: str, value: bool) -> None:
    assert load(f"spike_detection: {written}").config.train.spike_detection is value


@pytest.mark.parametrize("written", ["0", "1", "nO", "y", '"maybe"', "1.0"])
def test_what_is_no_boolean_is_refused(load: Load, written: str) -> None:
    with pytest.raises(ConfigError, match="is not a boolean"):
        load(f"spike_detection: {written}")


def test_a_word_in_quotes_is_that_word(load: Load) -> None:
    assert load('output_dir: "no"').config.train.output_dir == "no"


@pytest.mark.parametrize("written", ["2024", "1e-5", "2024-01-01", "1.10"])
def test_a_text_that_looks_like_a_number_keeps_its_spelling(load: Load, written: str) -> None:
    assert load(f"output_dir: {written}").config.train.output_dir == written


def test_none_is_taken_as_the_choice_of_that_name(load: Load) -> None:
    loaded = load("gradient_checkpointing: None")
    assert loaded.config.train.gradient_checkpointing == "none"
    assert loaded.notes == ("test.yaml:6:27: train.gradient_checkpointing: None is read as the choice none",)
    assert not load("gradient_checkpointing: none").notes


@pytest.mark.parametrize("written", ["~", "NULL", "null", ""])
def test_null_in_every_spelling_of_yaml(load: Load, written: str) -> None:
    loaded = load(f"max_grad_norm: {written}")
    assert loaded.config.train.max_grad_norm is None
    assert not loaded.notes


@pytest.mark.parametrize("written", ["None", "nil", "none", "NIL"])
def test_null_in_the_words_of_other_languages_is_taken_with_a_note(load: Load, written: str) -> None:
    loaded = load(f"max_grad_norm: {written}")
    assert loaded.config.train.max_grad_norm is None
    assert loaded.notes == (f"test.yaml:6:18: train.max_grad_norm: {written} is read as null",)


@pytest.mark.parametrize(("written", "limit"), [("1.0", 1.0), ("1", 1.0), (".inf", None), ("null", None)])
def test_clip_limits_that_make_sense(load: Load, written: str, limit: float | None) -> None:
    assert load(f"max_grad_norm: {written}").config.train.max_grad_norm == limit


@pytest.mark.parametrize("written", ["0", "0.0", "-1.0", ".nan", "-.inf", "true", "off"])
def test_clip_limits_that_would_ruin_the_run_are_refused(load: Load, written: str) -> None:
    with pytest.raises(ConfigError) as refusal:
        load(f"max_grad_norm: {written}")
    assert [problem.key for problem in refusal.value.problems] == ["train.max_grad_norm"]

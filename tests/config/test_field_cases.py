"""Slips that people made with other tools, each with the outcome that counts as right.

What the messages look like line by line stands in the snapshots; what a number or a word becomes, in
test_numbers_and_words.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from engine.cli import main
from engine.config import ConfigError, dump_config, load_config
from tests.config.conftest import MINIMAL, Load


def refusal(load: Load, lines: str) -> str:
    with pytest.raises(ConfigError) as refused:
        load(lines)
    return str(refused.value)


def test_exponents_without_a_dot_are_numbers_and_what_only_looks_like_one_is_shown_at_its_place(load: Load) -> None:
    rates = [
        load(f"learning_rate: {text}").config.train.learning_rate for text in ("1e-5", "1.0e-5", "1E-5", "5e-5 # x")
    ]
    assert rates == [0.00001, 0.00001, 0.00001, 0.00005]
    assert "1.0e5 is out of range" in refusal(load, "learning_rate: 1.0e5")
    quoted = load('learning_rate: "2e-4"')
    assert quoted.config.train.learning_rate == 2e-4 and "in quotes is read as the number" in quoted.notes[0]
    found = refusal(load, "learning_rate: 1e-5x")
    assert "test.yaml:6:18: train.learning_rate: 1e-5x is not a number" in found


def test_no_and_off_for_a_choice_are_shown_as_written(load: Load) -> None:
    for word in ("no", "off"):
        found = refusal(load, f"lr_scheduler: {word}")
        assert f"test.yaml:6:17: train.lr_scheduler: found {word}, which YAML reads as false" in found
        assert "put it in quotes" in found
    assert '"no" is not one of the choices' in refusal(load, 'lr_scheduler: "no"')


def test_a_limit_of_clipping_that_would_freeze_or_turn_around_the_weights_is_refused_with_the_reason(
    load: Load,
) -> None:
    assert load("max_grad_norm: 1.0").config.train.max_grad_norm == 1.0
    assert "no weight would move" in refusal(load, "max_grad_norm: 0")
    assert "the loss would rise" in refusal(load, "max_grad_norm: -1.0")
    assert "every weight would become NaN" in refusal(load, "max_grad_norm: .nan")
    assert "found the boolean true" in refusal(load, "max_grad_norm: true")
    for none in (".inf", "null"):
        assert "max_grad_norm: null  # no clipping" in dump_config(load(f"max_grad_norm: {none}").config)


def test_integers_floats_and_booleans_are_never_mixed_up(load: Load) -> None:
    loaded = load('epochs: 3.0\nspike_detection: "false"\ngradient_accumulation_steps: "8"')
    train = loaded.config.train
    assert (train.epochs, train.spike_detection, train.gradient_accumulation_steps) == (3, False, 8)
    assert type(train.gradient_accumulation_steps) is int and len(loaded.notes) == 2
    found = refusal(load, "per_device_batch_size: 2.5\nseed: true")
    assert "train.per_device_batch_size: 2.5 is not a whole number" in found
    assert "train.seed: found the boolean true, a whole number is needed" in found


@pytest.mark.parametrize(("word", "notes"), [("None", 1), ("nil", 1), ("NULL", 0), ("~", 0), ("", 0)])
def test_none_is_never_kept_as_a_text(load: Load, word: str, notes: int) -> None:
    loaded = load(f"max_grad_norm: {word}")
    assert loaded.config.train.max_grad_norm is None
    assert len(loaded.notes) == notes


def test_a_warmup_longer_than_the_run_is_refused_with_both_numbers_and_the_rate_reached(load: Load) -> None:
    found = refusal(load, "warmup_steps: 100\nlearning_rate: 1.0e-4\nmax_steps: 60")
    assert "the warm-up of 100 steps is longer than the run of 60 optimizer steps" in found
    assert "the highest rate reached is 6.0e-5 (60% of 1.0e-4)" in found


def test_two_settings_for_one_thing_are_refused_and_so_is_a_share_in_percent(load: Load) -> None:
    found = refusal(load, "warmup_steps: 20\nwarmup_ratio: 0.03\nmax_steps: 1000")
    assert "warmup_steps (20) and warmup_ratio (0.03) are both given" in found
    assert "did you mean 0.3?" in refusal(load, "warmup_ratio: 30")


@pytest.mark.parametrize(
    ("name", "content", "sentence"),
    [
        ("empty.yaml", b"", "the config is empty"),
        ("list.yaml", b"- lr: 1\n", "the top level must be a mapping, found a list"),
        ("rows.jsonl", b'{"messages": []}\n', "this looks like a dataset, not a config"),
        ("rows.yaml", b'{"messages": []}\n{"messages": []}\n', "this looks like a dataset, not a config"),
        ("gone.yaml", None, "no such file: gone.yaml"),
    ],
)
@pytest.mark.parametrize("command", ["validate", "train"])
def test_a_file_that_is_no_config_ends_in_one_sentence_and_not_in_a_traceback(
    folder: Path, capsys: pytest.CaptureFixture[str], command: str, name: str, content: bytes | None, sentence: str
) -> None:
    if content is not None:
        (folder / name).write_bytes(content)
    assert main([command, "--config", name]) == 2
    said = capsys.readouterr()
    assert sentence in said.err and "Traceback" not in said.err + said.out


def test_a_byte_order_mark_changes_nothing(folder: Path) -> None:
    (folder / "marked.yaml").write_bytes(b"\xef\xbb\xbf" + MINIMAL.encode())
    assert load_config("marked.yaml").config.model.name_or_path == "org/model"

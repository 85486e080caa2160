"""Values from the command line."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine.config import ConfigError, load_config
from tests.config.conftest import MINIMAL, Load


def test_both_ways_of_writing_a_flag(load: Load) -> None:
    config = load("epochs: 5", "--train.epochs", "2", "--train.learning_rate=3e-6").config
    assert (config.train.epochs, config.train.learning_rate) == (2, 3e-6)


def test_lists(load: Load, folder: Path) -> None:
    (folder / "more.jsonl").write_text("{}\n")
    one, two = str(folder / "chats.jsonl"), str(folder / "more.jsonl")
    assert load("", "--data.dataset", "more.jsonl").config.data.dataset == (two,)
    assert load("", "--data.dataset", "[chats.jsonl, more.jsonl]").config.data.dataset == (one, two)
    assert load("", "--train.betas=[0.9, 0.99]").config.train.betas == (0.9, 0.99)


def test_null_and_an_empty_value(load: Load) -> None:
    assert load("", "--train.max_grad_norm", "null").config.train.max_grad_norm is None
    assert load("", "--train.max_grad_norm=").config.train.max_grad_norm is None


def test_a_text_stays_as_typed_whatever_it_holds(load: Load) -> None:
    assert load("", "--train.output_dir", "a: b #c").config.train.output_dir == "a: b #c"
    assert load("", "--train.output_dir=x=y").config.train.output_dir == "x=y"
    assert load("", "--train.output_dir", '"no"').config.train.output_dir == "no"


def test_a_flag_mends_a_broken_line_of_the_file(load: Load) -> None:
    assert load("learning_rate: fast", "--train.learning_rate", "1e-5").config.train.learning_rate == 1e-5


def test_the_last_of_two_equal_flags_counts_with_a_note(load: Load) -> None:
    loaded = load("", "--train.seed", "1", "--train.seed", "2")
    assert loaded.config.train.seed == 2
    assert loaded.notes == ("--train.seed: given twice, the last value counts: 2",)


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (
            ["--train.learning_rate", "1e-5x"],
            "--train.learning_rate: 1e-5x is not a number\n      allowed: a number above 0 and at most 1",
        ),
        (["--train.lr", "1"], "--train.lr: unknown key; did you mean --train.learning_rate?"),
        (["--train.learning-rate", "1"], "--train.learning-rate: unknown key; did you mean --train.learning_rate?"),
        (["--learning_rate=1"], "--learning_rate: unknown key; did you mean --train.learning_rate?"),
        (["--tran.epochs=1"], "--tran.epochs: unknown key; did you mean --train.epochs?"),
        (
            ["--zebra", "1"],
            "--zebra: unknown key\n      allowed: --section.key value, with a key of the config",
        ),
        (["--data.packing"], "--data.packing: a value must follow\n      allowed: true or false"),
        (["--data.packing", "--train.seed=1"], "--data.packing: a value must follow\n      allowed: true or false"),
        (["train.seed=1"], "train.seed: this is not a flag\n      allowed: --section.key value"),
        (
            ["--data.dataset", "[a.jsonl"],
            "--data.dataset: not valid YAML: expected ',' or ']', but got '<stream end>'\n"
            "      advice: close the bracket, and put commas between the items",
        ),
        (["--parallel.fsdp=true"], "--parallel.fsdp: true is not available yet\n      allowed: false"),
        (
            ["--train.max_steps=-1"],
            "--train.max_steps: -1 is out of range\n      allowed: a whole number at least 1 or null",
        ),
    ],
)
def test_broken_flags_are_refused_by_name(load: Load, flags: list[str], message: str) -> None:
    with pytest.raises(ConfigError) as refusal:
        load("", *flags)
    assert str(refusal.value) == message


def test_problems_of_flags_come_with_those_of_the_file(load: Load) -> None:
    with pytest.raises(ConfigError) as refusal:
        load("lr: 1\nepochs: 0", "--train.seed", "x", "--nothing", "1")
    assert [problem.key for problem in refusal.value.problems] == ["train.lr", "train.epochs", "train.seed", "nothing"]


def test_a_path_in_a_flag_is_relative_to_the_working_directory(folder: Path) -> None:
    (folder / "recipes").mkdir()
    (folder / "recipes" / "a.yaml").write_text(MINIMAL.replace("chats.jsonl", "../chats.jsonl"))
    expected = (str(folder / "chats.jsonl"),)
    assert load_config("recipes/a.yaml").config.data.dataset == expected
    assert load_config("recipes/a.yaml", ["--data.dataset", "chats.jsonl"]).config.data.dataset == expected


def test_a_section_is_no_key(load: Load) -> None:
    with pytest.raises(ConfigError, match=r"--train: this is a section[^?]*--train\.key value"):
        load("", "--train", "{seed: 1}")


@pytest.mark.parametrize(
    ("written", "flag"), [("warmup_ratio: 0.1", "warmup_steps"), ("warmup_steps: 4", "warmup_ratio")]
)
def test_a_flag_replaces_the_other_way_of_saying_it_in_the_file(load: Load, written: str, flag: str) -> None:
    loaded = load(written, f"--train.{flag}", "1")
    other = written.partition(":")[0]
    assert getattr(loaded.config.train, other) is None and getattr(loaded.config.train, flag) == 1
    [note] = loaded.notes
    assert f"train.{other}" in note and f"gives way to the flag --train.{flag}" in note


def test_both_ways_as_flags_are_refused(load: Load) -> None:
    with pytest.raises(ConfigError, match="are both given"):
        load("", "--train.warmup_steps", "1", "--train.warmup_ratio", "0.1")

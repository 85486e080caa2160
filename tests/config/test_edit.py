"""What a changed config looks like to the person who wrote it."""

from __future__ import annotations

import pytest

from engine.config import ConfigError
from engine.config.edit import changed_text

CONFIG = """\
# My recipe.
model:
  name_or_path: org/model   # from the hub

data:
  dataset:                  # two of them
    - /data/a.jsonl         # chats
    - /data/b.jsonl         # letters

train:
  learning_rate: 3e-6       # Lion's
  per_device_batch_size: 2  # lines
  # seed: 7                 # any number

memory:
  gradient_release: false
"""


def changed(old: str, new: str) -> str:
    """The config with one stretch of it written anew."""
    assert CONFIG.count(old) == 1
    return CONFIG.replace(old, new)


def test_a_value_keeps_its_comment_in_its_column() -> None:
    wanted = changed("learning_rate: 3e-6       #", "learning_rate: 0.00015    #")
    assert changed_text(CONFIG, {"train.learning_rate": 0.00015}) == wanted


def test_a_comment_moves_only_as_far_as_it_has_to() -> None:
    wanted = changed("learning_rate: 3e-6       #", "learning_rate: 1.23456789e-5  #")
    assert changed_text(CONFIG, {"train.learning_rate": 1.23456789e-5}) == wanted


def test_what_is_said_already_stays_as_it_is_written() -> None:
    assert changed_text(CONFIG, {"train.learning_rate": 3.0e-6, "memory.gradient_release": False}) == CONFIG


def test_a_new_key_comes_at_the_end_of_its_section() -> None:
    wanted = changed("any number\n", "any number\n  max_steps: 10\n")
    assert changed_text(CONFIG, {"train.max_steps": 10}) == wanted


def test_a_key_that_is_commented_out_is_switched_on_in_its_place() -> None:
    wanted = changed("  # seed: 7                 #", "  seed: 11                  #")
    assert changed_text(CONFIG, {"train.seed": 11}) == wanted


def test_a_comment_that_speaks_of_a_key_is_left_alone() -> None:
    text = CONFIG + "  # tiled_head: needs gradient_release\n"
    both = {"memory.gradient_release": True, "memory.tiled_head": True, "train.max_grad_norm": None}
    assert "  # tiled_head: needs gradient_release\n  tiled_head: true\n" in changed_text(text, both)


def test_a_new_section_comes_at_the_end() -> None:
    assert changed_text(CONFIG, {"parallel.fsdp": False}) == CONFIG + "\nparallel:\n  fsdp: false\n"


def test_the_items_of_a_list_keep_their_lines() -> None:
    wanted = changed("- /data/b.jsonl         # letters", "- /data/c.jsonl         # letters\n    - '#d'")
    assert changed_text(CONFIG, {"data.dataset": ["/data/a.jsonl", "/data/c.jsonl", "#d"]}) == wanted


def test_a_list_may_become_a_single_value() -> None:
    items = "    - /data/a.jsonl         # chats\n    - /data/b.jsonl         # letters\n"
    wanted = changed(items, "").replace("dataset:               ", "dataset: /data/c.jsonl ")
    assert changed_text(CONFIG, {"data.dataset": "/data/c.jsonl"}) == wanted


def test_a_key_replaces_the_other_one_for_the_same_thing_as_a_flag_does() -> None:
    text = changed("  # seed", "  warmup_ratio: 0.1\n  # seed")
    assert changed_text(text, {"train.warmup_steps": 5}) == text.replace("ratio: 0.1", "ratio: null").replace(
        "any number\n", "any number\n  warmup_steps: 5\n"
    )


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_line_ends_and_a_byte_order_mark_stay(newline: str, mark: str) -> None:
    text = mark + CONFIG.replace("\n", newline)
    found = changed_text(text, {"train.seed": 3, "train.max_steps": 4, "parallel.fsdp": False})
    wanted = changed(
        "  # seed: 7                 # any number\n", "  seed: 3                   # any number\n  max_steps: 4\n"
    )
    assert found == mark + (wanted + "\nparallel:\n  fsdp: false\n").replace("\n", newline)


def test_a_text_without_a_last_line_end_stays_one() -> None:
    assert changed_text(CONFIG.rstrip("\n"), {"memory.layer_slices": 1}) == CONFIG + "  layer_slices: 1"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("train:\n", "train:\n  seed: 3\n"),
        ("train: ~  # all as usual\n", "train:  # all as usual\n  seed: 3\n"),
        ("train:\n  # seed: 1  # of the day\n", "train:\n  seed: 3    # of the day\n"),
        ("train: {}\n", "train: {seed: 3}\n"),
        ("train: {seed: 1, epochs: 2}  # short\n", "train: {seed: 3, epochs: 2}  # short\n"),
        ("train: {\n  epochs: 2,  # twice\n}\n", "train: {\n  epochs: 2, seed: 3,  # twice\n}\n"),
        ('"train":\n    "seed" : 1 \n', '"train":\n    "seed" : 3 \n'),
        ("train:\n\tseed: 1\n", None),
        ("train:\n  seed: &s 1\n", "train:\n  seed: &s 3\n"),
        ("train:\n  seed: &s 1\n  save_steps: *s\n", None),
        ("train:\n  save_steps: &s 1\n  seed: *s\n", "train:\n  save_steps: &s 1\n  seed: 3\n"),
        ("train:\n  <<: {seed: 1}\n", "train:\n  <<: {seed: 1}\n  seed: 3\n"),
        ("train:\n  seed: 1 #\ta tab\n", "train:\n  seed: 3 #\ta tab\n"),
        ("train:\n  seed:\n    1\n", "train:\n  seed:\n    3\n"),
        ("train:\n  ? seed\n  : 1\n", "train:\n  ? seed\n  : 3\n"),
        ("train:\n  seed: 1\n  seed: 2\n", None),
        ("train:\n  epochs: 2\n...\n", "train:\n  epochs: 2\n  seed: 3\n...\n"),
        ("train:\n  epochs: 2\n---\na: 1\n", None),
        ("train: [1]\n", None),
        ("train:\n  resume_from: |-\n   # seed: 1\n", "train:\n  resume_from: |-\n   # seed: 1\n  seed: 3\n"),
    ],
)  # fmt: skip
def test_however_it_is_written_it_is_changed_rightly_or_refused(before: str, after: str | None) -> None:
    start = "model: {name_or_path: org/m}\ndata: {dataset: /a.jsonl}\n"
    if after is None:
        with pytest.raises(ConfigError):
            changed_text(start + before, {"train.seed": 3})
    else:
        assert changed_text(start + before, {"train.seed": 3}) == start + after


def test_a_config_in_json_stays_one() -> None:
    text = '{"model": {"name_or_path": "org/m"},\n "data": {"dataset": ["/a"]}}\n'
    changes = {"data.packing": True, "data.dataset": ["/b", "/c"], "train.learning_rate": 1e-5, "data.eval_split": "x"}
    assert changed_text(text, changes) == (
        '{"model": {"name_or_path": "org/m"},\n "data": {"dataset": ["/b", "/c"], "packing": true, "eval_split": "x"},'
        ' "train": {"learning_rate": 1e-5}}\n'
    )


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"train.sed": 1}, "train.sed: unknown key; did you mean train.seed?"),
        ({"train.learning_rate": 2.0}, "train.learning_rate: 2.0 is out of range"),
        ({"train.seed": True}, "found the boolean true"),
        ({"train.seed": "3\nepochs: 9"}, "is not a whole number"),
        ({"train.optimizer": "adm"}, "adm is not one of the choices; did you mean adamw?"),
        ({"data.dataset": None}, "data.dataset: this key is required"),
        ({"memory.tiled_head": True}, "gradient_release is false"),
        ({"parallel.fsdp": True}, "not available yet"),
    ],
)
def test_a_change_that_cannot_be_is_refused_in_the_words_of_the_config(
    changes: dict[str, object], sentence: str
) -> None:
    with pytest.raises(ConfigError) as refusal:
        changed_text(CONFIG, changes)
    assert sentence in str(refusal.value)


def test_a_value_in_the_words_of_the_command_line_is_taken_as_such() -> None:
    words = {"train.learning_rate": "1e-5", "memory.gradient_release": "on", "train.max_grad_norm": "null"}
    found = changed_text(CONFIG, words)
    assert "learning_rate: 1e-5 " in found and "gradient_release: on\n" in found and "max_grad_norm: null\n" in found

"""Two configs side by side."""

from __future__ import annotations

from pathlib import Path

from engine.config import load_config
from engine.config.differences import Difference, differing_keys
from tests.config.conftest import MINIMAL, Load


def test_what_differs_is_told_in_the_order_of_the_schema_with_defaults(load: Load) -> None:
    one = load("optimizer: lion8bit\nepochs: 2\nlearning_rate: 1e-5")
    other = load("learning_rate: 3.0e-5\nepochs: 2.0")
    assert differing_keys(one.config, other.config) == (
        Difference("train.learning_rate", 1e-5, 3e-5),
        Difference("train.betas", (0.9, 0.99), (0.9, 0.95)),
        Difference("train.optimizer", "lion8bit", "adamw8bit"),
    )


def test_a_default_that_is_written_out_is_no_difference(load: Load) -> None:
    written = load("betas: [0.9, 0.95]\nwarmup_ratio: 0.03\nmax_grad_norm: 1\nseed: 0")
    assert differing_keys(load(), written) == ()


def test_another_key_may_change_a_default(load: Load) -> None:
    released = load("", "--memory.gradient_release=true")
    assert [difference.key for difference in differing_keys(load(), released)] == [
        "train.max_grad_norm",
        "memory.gradient_release",
    ]


def test_paths_are_shown_as_written(folder: Path) -> None:
    (folder / "deep").mkdir()
    Path("one.yaml").write_text(MINIMAL)
    Path("deep/same.yaml").write_text(MINIMAL.replace("chats", "../chats"))
    Path("other.yaml").write_text(MINIMAL.replace("chats.jsonl", "[chats.jsonl, rows.json]"))
    Path("deep/alike.yaml").write_text(MINIMAL)
    one, same, other, alike = (
        load_config(name, check_files=False) for name in ("one.yaml", "deep/same.yaml", "other.yaml", "deep/alike.yaml")
    )
    assert differing_keys(one, same) == ()
    written = ("chats.jsonl",), ("chats.jsonl", "rows.json")
    assert differing_keys(one, other) == (Difference("data.dataset", *written),)
    both = (f"{folder}/chats.jsonl",), (f"{folder}/deep/chats.jsonl",)
    assert differing_keys(one, alike) == (Difference("data.dataset", *both),)

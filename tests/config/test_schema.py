"""The schema itself: what can be said about every key at once."""

from __future__ import annotations

import subprocess
import sys

import pytest
from pydantic import ValidationError

from engine.config import Config, Data, Model, Train
from engine.config.kinds import kinds
from engine.config.nearest import KEYS_ELSEWHERE, nearest_key
from engine.config.not_yet import AVAILABLE_NOW, find_not_available, value_of
from engine.config.schema import SECTIONS

CONFIG = Config(model=Model(name_or_path="org/model"))


def test_every_key_is_described() -> None:
    for section in SECTIONS.values():
        for name, field in section.model_fields.items():
            assert field.description and field.description.endswith("."), name


def test_the_defaults_ask_for_nothing_that_is_not_available() -> None:
    assert not list(find_not_available(CONFIG))
    for key, neutral in AVAILABLE_NOW.items():
        assert value_of(CONFIG, key) in neutral


def test_the_tables_name_only_keys_that_exist() -> None:
    assert set(AVAILABLE_NOW) | set(KEYS_ELSEWHERE.values()) <= set(kinds())


@pytest.mark.parametrize("key", list(kinds()))
def test_a_small_slip_in_a_key_finds_the_key(key: str) -> None:
    assert nearest_key(f"{key}s") == key
    assert nearest_key(key.upper()) == key


def test_a_config_cannot_be_changed() -> None:
    with pytest.raises(ValidationError):
        CONFIG.train.seed = 3  # type: ignore[misc]
    assert hash(CONFIG)


@pytest.mark.parametrize(
    "values",
    [
        {"seed": True},
        {"epochs": True},
        {"max_steps": 2.0},
        {"max_grad_norm": 0.0},
        {"lr": 1},
        {"weight_decay": "0"},
    ],
)
def test_a_config_built_in_python_is_just_as_strict(values: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        Train.model_validate(values)


def test_one_file_is_a_list_of_one() -> None:
    assert Data.model_validate({"dataset": "a.jsonl"}).dataset == ("a.jsonl",)


def test_betas_are_the_optimizers_own_unless_given() -> None:
    assert Train(optimizer="adamw").effective_betas == (0.9, 0.95)
    assert Train(optimizer="lion8bit").effective_betas == (0.9, 0.99)
    assert Train(betas=(0.8, 0.9)).effective_betas == (0.8, 0.9)


def test_importing_the_config_loads_no_heavy_library() -> None:
    heavy = "('torch', 'transformers', 'numpy', 'textual')"
    code = f"import sys, engine.config; print([name for name in {heavy} if name in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"

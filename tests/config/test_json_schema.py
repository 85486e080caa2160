"""The schema for editors says what loading says."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from engine.config import Config, ConfigError, Model, load_config
from engine.config.json_schema import config_json_schema
from engine.config.kinds import kinds
from engine.config.nodes import meaning_of
from engine.config.not_yet import AVAILABLE_NOW
from engine.config.schema import SECTIONS
from tests.config.conftest import MINIMAL

CONFIGS = Path("configs")
SCHEMA = config_json_schema()
TYPES = {"object": dict, "array": list, "string": str, "boolean": bool, "null": type(None)}


class Yaml12(yaml.SafeLoader):
    """Plain words as editors read them: 3e-6 is a number, yes and off are texts."""


def _plain_word(loader: yaml.SafeLoader, node: yaml.ScalarNode) -> object:
    meaning = meaning_of(node.value)
    return node.value if isinstance(meaning, bool) and node.value.lower() not in ("true", "false") else meaning


Yaml12.yaml_implicit_resolvers = {None: [("!word", re.compile("", re.S))]}
Yaml12.add_constructor("!word", _plain_word)


def is_of_type(value: object, name: str) -> bool:
    if name in ("integer", "number"):
        return isinstance(value, int | float) and not isinstance(value, bool) and (name == "number" or value % 1 == 0)
    return isinstance(value, TYPES[name])


def refusals(value: object, schema: dict[str, Any], path: str = "") -> list[str]:
    """What a validator says: each keyword applies to values of its own type alone."""
    types = schema.get("type", [])
    found = []
    if types and not any(is_of_type(value, name) for name in ([types] if isinstance(types, str) else types)):
        found.append(f"{path}: type")
    if "enum" in schema and value not in schema["enum"]:
        found.append(f"{path}: enum")
    if "anyOf" in schema and all(refusals(value, one, path) for one in schema["anyOf"]):
        found.append(f"{path}: anyOf")
    if isinstance(value, int | float) and not isinstance(value, bool):
        limits = {"minimum": value.__ge__, "maximum": value.__le__, "exclusiveMinimum": value.__gt__}
        limits["exclusiveMaximum"] = value.__lt__
        found += [f"{path}: {name}" for name, holds in limits.items() if name in schema and not holds(schema[name])]
    if isinstance(value, str):
        is_short, pattern = len(value) < schema.get("minLength", 0), schema.get("pattern", "")
        found += [f"{path}: text"] if is_short or not re.search(pattern, value) else []
    if isinstance(value, list):
        is_long_enough = schema.get("minItems", 0) <= len(value) <= schema.get("maxItems", len(value))
        found += [] if is_long_enough else [f"{path}: items"]
        found += [error for item in value for error in refusals(item, schema.get("items", {}), f"{path}[]")]
    if isinstance(value, dict):
        keys = schema.get("properties", {})
        found += [f"{path}.{key}: required" for key in schema.get("required", []) if key not in value]
        found += [f"{path}.{key}: unknown" for key in value if key not in keys and "additionalProperties" in schema]
        found += [error for key in value if key in keys for error in refusals(value[key], keys[key], f"{path}.{key}")]
    return found


def test_the_checked_in_schema_is_the_one_of_the_code() -> None:
    command = [sys.executable, "-m", "engine.config.json_schema"]
    made = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert (CONFIGS / "schema.json").read_text() == made, f"renew it: {' '.join(command[1:])} > configs/schema.json"


@pytest.mark.parametrize("path", sorted(CONFIGS.rglob("*.yaml")), ids=str)
def test_each_recipe_names_the_schema_and_follows_it_in_every_yaml(path: Path) -> None:
    text = path.read_text()
    named = re.fullmatch(r"# yaml-language-server: \$schema=(\S+)", text.splitlines()[0])
    assert named and (path.parent / named[1]).samefile(CONFIGS / "schema.json")
    for loader in (yaml.SafeLoader, Yaml12):
        assert refusals(yaml.load(text, Loader=loader), SCHEMA) == []


def test_every_key_has_its_description_and_default() -> None:
    config = Config(model=Model(name_or_path="org/model"))
    for name, section in SECTIONS.items():
        written = SCHEMA["properties"][name]
        assert list(written["properties"]) == list(section.model_fields)
        for key, field in section.model_fields.items():
            schema = written["properties"][key]
            assert field.description in schema["description"]
            if not field.is_required() and key not in ("warmup_ratio",):
                default = getattr(getattr(config, name), key)
                assert schema["default"] == (list(default) if isinstance(default, tuple) else default)
                assert refusals(schema["default"], schema) == []


def test_keys_without_machinery_are_marked_and_take_their_neutral_value_alone() -> None:
    for key in AVAILABLE_NOW:
        section, _, name = key.partition(".")
        schema = SCHEMA["properties"][section]["properties"][name]
        assert schema["description"].startswith("Not available yet")
    assert refusals({"fsdp": True}, SCHEMA["properties"]["parallel"]) == [".fsdp: enum"]


VALUES = (
    "1", "0", "-1", "2.5", "3.0", "1e-5", "3E-6", "1.0e5", ".inf", ".nan", "true", "no", "On", "none", "null", "~", "",
    "auto", "adamw", "cosine", "test", "a.jsonl", "[a.jsonl]", "[a.jsonl, rows.json]", "[]", "[0.9, 0.95]", "[0.9]",
    "[0.9, 1.5]", "{path: a.jsonl}", "[{path: a.jsonl, weight: 2}, rows.json]", "[{weight: 2}]", "[{path: a, sha: 1}]",
    "{a: 1}", "5000000000", "0.5", "full",
)  # fmt: skip


def readings(value: str) -> list[object]:
    """What a written value is to readers of YAML 1.1 and of YAML 1.2."""
    return [yaml.load(f"value: {value}", Loader=loader)["value"] for loader in (yaml.SafeLoader, Yaml12)]


def test_no_editor_marks_what_loading_takes_without_a_word(folder: Path) -> None:
    """Value by value; rules between keys are no matter of the schema."""
    (folder / "one.yaml").write_text(MINIMAL)
    for key in kinds():
        if key not in AVAILABLE_NOW:
            for value in VALUES:
                if is_taken(folder / "one.yaml", key, value):
                    older, newer = (refusals(reading, schema_of(key)) for reading in readings(value))
                    assert not newer, f"{key}: {value}"
                    assert not older or (kinds()[key].whole and value == "1.0e5"), f"{key}: {value}"


def is_taken(path: Path, key: str, value: str) -> bool:
    """Whether loading takes the value and has no remark on how it is written."""
    try:
        notes = load_config(path, [f"--{key}={value}"], check_files=False).notes
    except ConfigError:
        return False
    return not any("read as" in note for note in notes)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("train.learning_rate", "2"),
        ("train.learning_rate", "0"),
        ("train.learning_rate", "1e-5x"),
        ("train.max_grad_norm", "0"),
        ("train.max_grad_norm", "true"),
        ("train.max_steps", "2.5"),
        ("train.seed", "true"),
        ("train.seed", "5000000000"),
        ("train.betas", "[0.9]"),
        ("train.betas", "[0.9, 1.5]"),
        ("train.optimizer", "adam"),
        ("train.warmup_ratio", "30"),
        ("model.compile", "maybe"),
        ("model.compile", "1"),
        ("data.eval_split", "1.5"),
        ("data.sources", "[{weight: 2}]"),
        ("data.sources", "[{path: a, sha: 1}]"),
        ("parallel.fsdp", "true"),
    ],
)
def test_editors_mark_a_slip_before_a_run_does(key: str, value: str) -> None:
    assert refusals(readings(value)[1], schema_of(key))


@pytest.mark.parametrize("config", [{}, {"model": {}}, {"model": {"name_or_path": "a"}, "data": {}}, {"modle": {}}])
def test_editors_miss_what_every_config_needs(config: dict[str, object]) -> None:
    assert refusals(config, SCHEMA)


def schema_of(key: str) -> dict[str, Any]:
    section, _, name = key.partition(".")
    found: dict[str, Any] = SCHEMA["properties"][section]["properties"][name]
    return found

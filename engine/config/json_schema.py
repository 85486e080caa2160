"""The config as a JSON schema, by which editors complete, explain and check a YAML file while it is written.

python -m engine.config.json_schema > configs/schema.json
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from pydantic.fields import FieldInfo

from engine.config.kinds import Bounds, Kind, kind_of
from engine.config.not_yet import AVAILABLE_NOW, allowed_now
from engine.config.schema import SECTIONS, Config, Section

Schema = dict[str, Any]

_DIALECT = "http://json-schema.org/draft-07/schema#"
_LIMITS = {"above": "exclusiveMinimum", "least": "minimum", "below": "exclusiveMaximum", "most": "maximum"}
# YAML 1.1 reads 3e-6 as a text, and YAML 1.2 reads on as one; they are a number and a boolean to us.
_NUMBER_AS_TEXT = r"^[-+]?[0-9.]+[eE][-+]?[0-9]+$"
_BOOLEAN_AS_TEXT = "^([yY]es|YES|[nN]o|NO|[oO]n|ON|[oO]ff|OFF)$"
# What `engine.config.checks` asks for in words: something to train on, in one of two ways.
_NAMES_DATA = {"data": [{"required": ["dataset"]}, {"required": ["sources"]}]}


def config_json_schema() -> Schema:
    """The schema in draft 7, which editors read: types, ranges, choices, defaults, and what each key does.

    It takes all that a config may hold, in the spelling of any YAML reader; rules between keys are left to loading.
    """
    return {
        "$schema": _DIALECT,
        "title": "pgs-tui: how a model is fine-tuned",
        "type": "object",
        "additionalProperties": False,
        "required": [name for name in SECTIONS if Config.model_fields[name].is_required() or name in _NAMES_DATA],
        "properties": {name: _section(name, section) for name, section in SECTIONS.items()},
    }


def _section(name: str, section: type[Section]) -> Schema:
    keys = {key: _key(f"{name}.{key}", field) for key, field in section.model_fields.items()}
    schema = {"description": Config.model_fields[name].description, **_mapping(section, keys)}
    if name in _NAMES_DATA:
        schema["anyOf"] = _NAMES_DATA[name]
    elif "required" not in schema:
        schema["type"] = ["object", "null"]
    return schema


def _mapping(section: type[Section], keys: Mapping[str, Schema]) -> Schema:
    required = [key for key, field in section.model_fields.items() if field.is_required()]
    needed = {"required": required} if required else {}
    return {"type": "object", "additionalProperties": False, **needed, "properties": keys}


def _key(path: str, field: FieldInfo) -> Schema:
    schema: Schema = {"description": field.description, **_values(kind_of(field))}
    if path in AVAILABLE_NOW:
        schema["description"] = f"Not available yet: takes {allowed_now(path)} alone. {field.description}"
        schema["enum"] = [_plain(value) for value in AVAILABLE_NOW[path]]
    if not field.is_required():
        schema["default"] = _plain(field.default)
    return schema


def _values(kind: Kind) -> Schema:
    """What a key of this kind takes."""
    if kind.item and kind.item.section:
        return _one_or_several(_item_with_keys(kind.item.section))
    if kind.choices:
        return {"enum": [*kind.choices, *([None] if kind.nullable else [])]}
    if kind.item and kind.length:
        return {"type": _types(kind), "items": _values(kind.item), "minItems": kind.length, "maxItems": kind.length}
    if kind.item:
        return {"type": _types(kind), "minLength": 1, "items": _values(kind.item)}
    return {"type": _types(kind), **_limits(kind.bounds), **_text(kind)}


def _types(kind: Kind) -> list[str] | str:
    """The JSON types of what is written. A text may look like a number: `dataset_split: 2024`."""
    is_list_of_any_length = kind.item is not None and kind.length is None
    types = {
        "integer": kind.whole,
        "number": kind.number or kind.text or is_list_of_any_length,
        "boolean": kind.boolean,
        "string": kind.number or kind.text or kind.boolean or is_list_of_any_length,
        "array": kind.item is not None,
        "null": kind.nullable or is_list_of_any_length,
    }
    names = [name for name, is_taken in types.items() if is_taken]
    return names if len(names) > 1 else names[0]


def _text(kind: Kind) -> Schema:
    if kind.text:
        return {"minLength": 1}
    if kind.number:
        return {"pattern": _NUMBER_AS_TEXT}
    return {"pattern": _BOOLEAN_AS_TEXT} if kind.boolean else {}


def _limits(bounds: Bounds) -> Schema:
    return {_LIMITS[side]: limit for side, limit in asdict(bounds).items() if limit is not None}


def _item_with_keys(section: type[Section]) -> Schema:
    """A mapping, or its first key's value alone."""
    keys = {key: _key("", field) for key, field in section.model_fields.items()}
    return {**_mapping(section, keys), "type": ["object", "string", "number"], "minLength": 1}


def _one_or_several(item: Schema) -> Schema:
    return {"anyOf": [{"type": "array", "items": item}, item, {"type": "null"}]}


def _plain(value: object) -> object:
    return list(value) if isinstance(value, tuple) else value


def main() -> None:
    """Writes the schema to standard output."""
    sys.stdout.write(json.dumps(config_json_schema(), indent=2, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()

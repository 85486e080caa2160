"""A value as one writes it in a YAML config, on one line, so that our reader and others read the same from it."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from os import PathLike

import yaml

from engine.config.dump import ConfigDumper
from engine.config.kinds import Kind
from engine.config.nodes import meaning_of
from engine.config.schema import Section
from engine.config.wording import short_number

_ENDLESS = 10**9


def written(kind: Kind, value: object, as_json: bool = False) -> str:
    """The text for a value of a key of this kind.

    A text that stands for a number or a boolean, as on the command line, is written as that where the key takes no
    text. `as_json` is for a file that is written so: its texts and keys are in double quotes.
    """
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case int():
            return str(value)
        case float():
            return _number(value)
        case str() | PathLike():
            return _text(kind, str(value), as_json)
        case Section():
            return _mapping(value.model_dump(exclude_defaults=True), as_json)
        case Mapping():
            return _mapping(value, as_json)
        case Sequence():
            return f"[{', '.join(written(kind.item or kind, item, as_json) for item in value)}]"
    raise AssertionError(f"a config holds no {type(value).__name__}")


def _number(value: float) -> str:
    """All its digits: 3e-6, 0.05, 1.0."""
    if not math.isfinite(value):
        return short_number(value)
    mantissa, e, exponent = repr(value).partition("e")
    return f"{mantissa}e{int(exponent)}" if e else mantissa


def _text(kind: Kind, text: str, as_json: bool) -> str:
    takes_this_word = text in kind.choices and isinstance(meaning_of(text), str)
    stands_for_a_value = not isinstance(meaning_of(text), str) and (not kind.text or kind.number)
    if as_json:
        return text if stands_for_a_value else json.dumps(text, ensure_ascii=False)
    return text if takes_this_word or stands_for_a_value else quoted_as_needed(text)


def _mapping(entries: Mapping[str, object], as_json: bool) -> str:
    pairs = ((_text(_ANY_TEXT, key, as_json), written(_ANY_TEXT, value, as_json)) for key, value in entries.items())
    return f"{{{', '.join(f'{key}: {value}' for key, value in pairs)}}}"


def quoted_as_needed(text: str) -> str:
    """A text that stays one wherever it stands, in brackets too."""
    line: str = yaml.dump([text], Dumper=ConfigDumper, default_flow_style=True, allow_unicode=True, width=_ENDLESS)
    return line.strip().removeprefix("[").removesuffix("]")


_ANY_TEXT = Kind(text=True)

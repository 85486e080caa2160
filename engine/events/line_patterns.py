"""The exact pattern of the lines that `encode` writes for a kind of event, made from its dataclass.

A line that matches is what `decode` would accept, so that its numbers may be taken from the text as it stands. A line
that is an event in another way (keys in another order, unknown ones, escapes) does not match: it is for `decode`.
"""

from __future__ import annotations

import dataclasses
import types
import typing
from collections.abc import Collection, Mapping
from typing import Any

from engine.events.codec import VERSION

NUMBER = r"-?+(?:0|[1-9][0-9]{0,17}+)(?:\.[0-9]++)?+(?:[eE][-+]?+[0-9]++)?+"
"""A number of JSON that `float` reads as `json` does; one with more digits before its point is left to `decode`."""
WHOLE = r"-?+(?:0|[1-9][0-9]{0,14}+)"
"""A whole number that a float holds exactly."""
NAMES = r'"(?:NaN|-?+Infinity)"'
TEXT = r'"[ !#-\[\]-~]*+"'
"""ASCII without escapes."""


def pattern_of(cls: Any, captured: Collection[str], fixed: Mapping[str, str] | None = None) -> tuple[str, list[str]]:
    """The pattern from behind the kind's name to the closing brace, and the names of its groups in order.

    `captured` names fields, those of a field that is a dataclass itself with a dot ("time.data"). `fixed` are patterns
    in place of a field's own. A field with a default may be missing, as in the log of an earlier version.
    """
    groups: list[str] = []
    inside = "".join(_fields(cls, "", captured, fixed or {}, groups, first=","))
    return inside + r"\}", groups


def head_of(kinds: str) -> str:
    """The pattern of a line's beginning up to the kind's name, with a group for the time."""
    return rf'\{{"v":{VERSION},"t":({NUMBER}),"event":{kinds}'


def _fields(
    cls: Any, within: str, captured: Collection[str], fixed: Mapping[str, str], groups: list[str], first: str
) -> typing.Iterator[str]:
    hints = typing.get_type_hints(cls)
    comma = first
    for field in dataclasses.fields(cls):
        name = within + field.name
        if name in captured:
            groups.append(name)
        value = fixed.get(name) or _value(hints[field.name], name, captured, fixed, groups)
        value = f"({value})" if name in captured else f"(?:{value})"
        pair = f'{comma}"{field.metadata.get("json", field.name)}":{value}'
        has_default = field.default is not dataclasses.MISSING or field.default_factory is not dataclasses.MISSING
        yield f"(?:{pair})?+" if has_default else pair
        comma = ","


def _value(hint: Any, name: str, captured: Collection[str], fixed: Mapping[str, str], groups: list[str]) -> str:
    members = set(typing.get_args(hint))
    if typing.get_origin(hint) in (typing.Union, types.UnionType):
        (inner,) = members - {type(None)}
        return _value(inner, name, captured, fixed, groups) + "|null"
    if typing.get_origin(hint) is tuple:
        item = f"(?:{_value(typing.get_args(hint)[0], name, captured, fixed, groups)})"
        return rf"\[(?:{item}(?:,{item})*+)?+\]"
    if dataclasses.is_dataclass(hint):
        return r"\{" + "".join(_fields(hint, f"{name}.", captured, fixed, groups, first="")) + r"\}"
    return {float: f"{NUMBER}|{NAMES}", int: WHOLE, bool: "false|true", str: TEXT}[hint]

"""Events to lines of strict JSON and back.

A number that is not finite is written as the string "NaN", "Infinity" or "-Infinity", since JSON has no such numbers.
Reading forgives what a newer or older writer may do: unknown kinds and unknown fields are skipped.
"""

from __future__ import annotations

import dataclasses
import functools
import json
import math
import types
import typing
from collections.abc import Callable
from typing import Any, TypeVar

from engine.events.types import EVENT_TYPES, Event, Stamped

VERSION = 1
_NOT_FINITE = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}
_KINDS: dict[str, type[Event]] = {cls.kind: cls for cls in EVENT_TYPES}

Decoder = Callable[[Any], Any]
Built = TypeVar("Built")


class BadLineError(ValueError):
    """A complete line that is no event: not JSON, not an object, or with a field of the wrong type."""


def encode(event: Event, t: float) -> str:
    """One line without its newline."""
    record = {"v": VERSION, "t": t, "event": event.kind, **to_strict_json(event)}
    return json.dumps(record, ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def decode(line: str | bytes) -> Stamped | None:
    """The event of a line, or None for a kind this version does not know.

    Raises BadLineError when the line is not an event at all.
    """
    try:
        record = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise BadLineError(f"not JSON: {error}") from error
    if not isinstance(record, dict) or not isinstance(record.get("event"), str):
        raise BadLineError('not an object with an "event"')
    cls = _KINDS.get(record["event"])
    if cls is None:
        return None
    try:
        return Stamped(float(record["t"]), _build(cls, record))
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        raise BadLineError(f"{record['event']}: {error}") from error


def to_strict_json(value: Any) -> Any:
    """The value as `json.dumps(..., allow_nan=False)` takes it; dataclasses become objects."""
    if isinstance(value, float):
        return value if math.isfinite(value) else _name_of(value)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {_key(field): to_strict_json(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, dict):
        return {key: to_strict_json(item) for key, item in value.items()}
    if isinstance(value, tuple | list):
        return [to_strict_json(item) for item in value]
    return value


def from_strict_json(cls: type[Built], value: Any) -> Built:
    """The dataclass whose object `to_strict_json` made this of; unknown keys are skipped. Raises ValueError."""
    if not isinstance(value, dict):
        raise ValueError(f"expected an object, found {type(value).__name__}")
    try:
        built: Built = _build(cls, value)
    except (KeyError, TypeError, OverflowError) as error:
        raise ValueError(str(error)) from error
    return built


def _name_of(value: float) -> str:
    if math.isnan(value):
        return "NaN"
    return "Infinity" if value > 0 else "-Infinity"


def _build(cls: Any, record: dict[str, Any]) -> Any:
    decoders = _decoders(cls)
    known = {name: decoder(record[key]) for key, (name, decoder) in decoders.items() if key in record}
    return cls(**known)


@functools.cache
def _decoders(cls: Any) -> dict[str, tuple[str, Decoder]]:
    """By the key in the JSON: the field's name and its decoder."""
    assert dataclasses.is_dataclass(cls)
    hints = typing.get_type_hints(cls)
    return {_key(field): (field.name, _decoder(hints[field.name])) for field in dataclasses.fields(cls)}


def _key(field: dataclasses.Field[Any]) -> str:
    """The field's key in the JSON, which is its name unless that would hide the kind of the event."""
    key: str = field.metadata.get("json", field.name)
    return key


def _decoder(hint: Any) -> Decoder:
    """How a JSON value becomes a field of type `hint`; decided once per type, since logs are long."""
    origin = typing.get_origin(hint)
    if origin is typing.Literal or hint is str:
        return _text
    if origin in (typing.Union, types.UnionType):
        return _optional(typing.get_args(hint))
    if origin is tuple and Ellipsis not in typing.get_args(hint):
        return functools.partial(_fixed, tuple(_decoder(one) for one in typing.get_args(hint)))
    if origin is tuple:
        item = _decoder(typing.get_args(hint)[0])
        return lambda value: tuple([item(one) for one in value])
    if origin is dict:
        return functools.partial(_mapping, _decoder(typing.get_args(hint)[1]))
    if hint is float:
        return _number
    if hint is int:
        return _whole
    if hint is bool:
        return _truth
    assert isinstance(hint, type) and dataclasses.is_dataclass(hint), f"no decoder for {hint!r}"
    return functools.partial(_build, hint)


def _fixed(items: tuple[Decoder, ...], value: Any) -> tuple[Any, ...]:
    if not isinstance(value, list) or len(value) != len(items):
        raise TypeError(f"expected a list of {len(items)}, found {value!r}")
    return tuple([item(one) for item, one in zip(items, value, strict=True)])


def _mapping(item: Decoder, value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise TypeError(f"expected an object, found {value!r}")
    return {str(key): item(one) for key, one in value.items()}


def _optional(members: tuple[Any, ...]) -> Decoder:
    inner = [member for member in members if member is not type(None)]
    if len(inner) > 1:
        return lambda value: _NOT_FINITE.get(value, value) if isinstance(value, str) else value
    decoder = _decoder(inner[0])
    return lambda value: None if value is None else decoder(value)


def _text(value: Any) -> str:
    if type(value) is not str:
        raise TypeError(f"expected text, found {value!r}")
    return value


def _number(value: Any) -> float:
    if type(value) is float:
        return value
    if type(value) is int:
        return float(value)
    if isinstance(value, str) and value in _NOT_FINITE:
        return _NOT_FINITE[value]
    raise TypeError(f"expected a number, found {value!r}")


def _whole(value: Any) -> int:
    if type(value) is not int:
        raise TypeError(f"expected a whole number, found {value!r}")
    return value


def _truth(value: Any) -> bool:
    if type(value) is not bool:
        raise TypeError(f"expected true or false, found {value!r}")
    return value

"""`json.dumps` for values that hold traced strings: the characters in the JSON text keep their origin."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from engine.data.template.traced import Run, TracedStr, concat, runs_of

_ESCAPED = re.compile(r'["\\\x00-\x1f]')
_ESCAPED_TO_ASCII = re.compile(r'["\\\x00-\x1f]|[^\x00-\x7e]')


class SharedObject(dict[str, Any]):
    """An object that many rows have in common, such as a tool on offer, and its JSON once that was asked for.

    Templates cannot change it: the sandbox they run in lets them change nothing.
    """

    def __init__(self, items: Mapping[str, Any]) -> None:
        super().__init__(items)
        self.texts: dict[object, str] = {}


def dumps(
    value: Any, ensure_ascii: bool, indent: int | str | None, separators: tuple[str, str] | None, sort_keys: bool
) -> str:
    """The same text as `json.dumps` with these arguments, traced where the value is.

    Falls back to the untraced text if the two differ, which happens for no value that JSON itself can hold.
    """
    if not isinstance(value, SharedObject):
        return _dumps(value, ensure_ascii, indent, separators, sort_keys)
    pair = None if separators is None else (separators[0], separators[1])
    options = (ensure_ascii, indent, pair, sort_keys)
    if options not in value.texts:
        value.texts[options] = _dumps(value, *options)
    return value.texts[options]


def _dumps(
    value: Any, ensure_ascii: bool, indent: int | str | None, separators: tuple[str, str] | None, sort_keys: bool
) -> str:
    plain = json.dumps(value, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)
    if not _holds_traced(value):
        return plain
    item, key = separators or ((", " if indent is None else ","), ": ")
    writer = _Writer(ensure_ascii, indent, item, key, sort_keys)
    writer.write(value, 0)
    traced = concat(writer.out)
    return traced if traced == plain else plain


def _holds_traced(value: Any) -> bool:
    if isinstance(value, Mapping):
        return any(_holds_traced(key) or _holds_traced(item) for key, item in value.items())
    if isinstance(value, list | tuple):
        return any(map(_holds_traced, value))
    return isinstance(value, TracedStr)


@dataclass(frozen=True, slots=True)
class _Writer:
    ensure_ascii: bool
    indent: int | str | None
    item_separator: str
    key_separator: str
    sort_keys: bool
    out: list[str] = field(default_factory=list)

    def write(self, value: Any, depth: int) -> None:
        """Append the value's JSON to `out`."""
        if isinstance(value, str):
            self._quoted(value)
        elif isinstance(value, Mapping):
            self._object(value, depth)
        elif isinstance(value, list | tuple):
            self._array(value, depth)
        else:
            self.out.append(json.dumps(value))

    def _object(self, value: Mapping[Any, Any], depth: int) -> None:
        opening, between, closing = self._brackets("{", "}", bool(value), depth)
        for key, item in sorted(value.items()) if self.sort_keys else value.items():
            self.out.append(opening)
            self._quoted(key if isinstance(key, str) else json.dumps(key))
            self.out.append(self.key_separator)
            self.write(item, depth + 1)
            opening = between
        self.out.append(closing)

    def _array(self, value: Sequence[Any], depth: int) -> None:
        opening, between, closing = self._brackets("[", "]", bool(value), depth)
        for item in value:
            self.out.append(opening)
            self.write(item, depth + 1)
            opening = between
        self.out.append(closing)

    def _brackets(self, opening: str, closing: str, is_filled: bool, depth: int) -> tuple[str, str, str]:
        """What stands in front of the first entry, between two of them, and at the end."""
        if not is_filled:
            return "", "", opening + closing
        inner, outer = self._new_line(depth + 1), self._new_line(depth)
        return opening + inner, self.item_separator + inner, outer + closing

    def _new_line(self, depth: int) -> str:
        if self.indent is None:
            return ""
        step = self.indent if isinstance(self.indent, str) else " " * self.indent
        return "\n" + step * depth

    def _quoted(self, text: str) -> None:
        if not isinstance(text, TracedStr):
            self.out.append(json.dumps(text, ensure_ascii=self.ensure_ascii))
            return
        self.out.append('"')
        position = 0
        for match in (_ESCAPED_TO_ASCII if self.ensure_ascii else _ESCAPED).finditer(text):
            self.out.append(text.cut(position, match.start()))
            self.out.append(self._escaped(text.cut(match.start(), match.end())))
            position = match.end()
        self.out.append(text.cut(position, len(text)) if position else text)
        self.out.append('"')

    def _escaped(self, character: str) -> str:
        """One character as JSON writes it; each character of an escape has the origin of what it stands for."""
        written = _escape(str.__getitem__(character, slice(None)), self.ensure_ascii)
        (run,) = runs_of(character)
        return TracedStr.build(written, [Run(1, run.origin, run.position)] * len(written))


@lru_cache(maxsize=4096)
def _escape(character: str, ensure_ascii: bool) -> str:
    return json.dumps(character, ensure_ascii=ensure_ascii)[1:-1]

"""`json.dumps` for values that hold traced strings: the characters in the JSON text keep their origin."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
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
    pieces = _Writer(ensure_ascii, indent, item, key, sort_keys).pieces(value, 0)
    traced = concat(pieces)
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

    def pieces(self, value: Any, depth: int) -> Iterator[str]:
        if isinstance(value, str):
            yield from self._quoted(value)
        elif isinstance(value, Mapping):
            items = sorted(value.items()) if self.sort_keys else list(value.items())
            entries = [[*self._key(key), self.key_separator, *self.pieces(item, depth + 1)] for key, item in items]
            yield from self._bracketed("{", entries, "}", depth)
        elif isinstance(value, list | tuple):
            yield from self._bracketed("[", [list(self.pieces(item, depth + 1)) for item in value], "]", depth)
        else:
            yield json.dumps(value)

    def _bracketed(self, opening: str, entries: list[list[str]], closing: str, depth: int) -> Iterator[str]:
        yield opening
        for number, entry in enumerate(entries):
            if number:
                yield self.item_separator
            yield self._new_line(depth + 1)
            yield from entry
        if entries:
            yield self._new_line(depth)
        yield closing

    def _new_line(self, depth: int) -> str:
        if self.indent is None:
            return ""
        step = self.indent if isinstance(self.indent, str) else " " * self.indent
        return "\n" + step * depth

    def _key(self, key: Any) -> Iterator[str]:
        if isinstance(key, str):
            yield from self._quoted(key)
        else:
            yield f'"{json.dumps(key)}"'

    def _quoted(self, text: str) -> Iterator[str]:
        if not isinstance(text, TracedStr):
            yield json.dumps(text, ensure_ascii=self.ensure_ascii)
            return
        yield '"'
        position = 0
        for match in (_ESCAPED_TO_ASCII if self.ensure_ascii else _ESCAPED).finditer(text):
            yield text.cut(position, match.start())
            yield self._escaped(text.cut(match.start(), match.end()))
            position = match.end()
        yield text.cut(position, len(text)) if position else text
        yield '"'

    def _escaped(self, character: str) -> str:
        """One character as JSON writes it; each character of an escape has the origin of what it stands for."""
        written = _escape(str.__getitem__(character, slice(None)), self.ensure_ascii)
        (run,) = runs_of(character)
        return TracedStr.build(written, [Run(1, run.origin, run.position)] * len(written))


@lru_cache(maxsize=4096)
def _escape(character: str, ensure_ascii: bool) -> str:
    return json.dumps(character, ensure_ascii=ensure_ascii)[1:-1]

"""What was written, before anyone asks what it should mean: scalars, lists and mappings with their places."""

from __future__ import annotations

import re
from dataclasses import dataclass

from engine.config.errors import Place

NULL_WORDS = frozenset({"", "~", "null", "Null", "NULL"})
WORDS_MEANT_AS_NULL = frozenset({"none", "nil"})
TRUE_WORDS = frozenset({"true", "yes", "on"})
FALSE_WORDS = frozenset({"false", "no", "off"})

_INTEGER = re.compile(r"[-+]?(0|[1-9][0-9_]*)")
_FLOAT = re.compile(r"[-+]?([0-9][0-9_]*\.?[0-9_]*|\.[0-9][0-9_]*)([eE][-+]?[0-9]+)?")
_LEADING_ZERO = re.compile(r"[-+]?0[0-9_]+")
_INFINITY = re.compile(r"([-+]?)\.(inf|Inf|INF)")
_MOST_DIGITS = 100
_NAN_WORDS = frozenset({".nan", ".NaN", ".NAN"})


@dataclass(frozen=True, slots=True)
class Scalar:
    """One written value: its exact text, and whether it stood in quotes."""

    text: str
    quoted: bool
    place: Place

    @property
    def written(self) -> str:
        """The text as a message shows it."""
        if self.quoted:
            return f'"{self.text}"'
        return self.text if self.text else "nothing"


@dataclass(frozen=True, slots=True)
class Sequence:
    """A list."""

    items: tuple[Node, ...]
    place: Place


@dataclass(frozen=True, slots=True)
class Entry:
    """One key of a mapping with its value."""

    key: str
    place: Place
    value: Node


@dataclass(frozen=True, slots=True)
class Mapping:
    """Keys with values, in the order of writing; no key comes twice."""

    entries: tuple[Entry, ...]
    place: Place


Node = Scalar | Sequence | Mapping


def is_null(node: Node) -> bool:
    """Whether nothing, or one of YAML's words for it, was written."""
    return isinstance(node, Scalar) and not node.quoted and node.text in NULL_WORDS


def meaning_of(text: str) -> bool | int | float | str | None:
    """What an unquoted text stands for.

    Follows YAML 1.1 for its words (`no`, `on`) and, unlike it, reads `1e-5` as a number, since everyone means one.
    A number with a leading zero is decimal to some readers and octal to others, so it stays a text.
    """
    if text in NULL_WORDS:
        return None
    if _is_word(text, TRUE_WORDS):
        return True
    if _is_word(text, FALSE_WORDS):
        return False
    if _LEADING_ZERO.fullmatch(text):
        return text
    if _INTEGER.fullmatch(text):
        return int(text.replace("_", "")) if len(text) <= _MOST_DIGITS else text
    if _FLOAT.fullmatch(text):
        return float(text.replace("_", ""))
    if infinity := _INFINITY.fullmatch(text):
        return float(infinity[1] + "inf")
    return float("nan") if text in _NAN_WORDS else text


def _is_word(text: str, words: frozenset[str]) -> bool:
    """Whether the text is one of the words in one of YAML's three spellings: no, No, NO."""
    return text.lower() in words and text in (text.lower(), text.capitalize(), text.upper())

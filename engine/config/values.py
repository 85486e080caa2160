"""Reads what was written as what its key takes, strictly, and says what is wrong otherwise.

A boolean is never a number and a number never a boolean; 2.5 is no whole number, 3.0 is; a number or a boolean in
quotes is taken with a note.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from engine.config.errors import Note, Problem
from engine.config.hints import Hint, hint_for
from engine.config.kinds import Kind
from engine.config.nearest import nearest_word
from engine.config.nodes import WORDS_MEANT_AS_NULL, Node, Scalar, Sequence, is_null, meaning_of

LONGEST_FOUND = 60
_WITHOUT_A_VALUE = "write a value, or delete the line to take the default"


@dataclass(slots=True)
class Reading:
    """Reads the value of one key and collects the notes on it."""

    key: str
    notes: list[Note] = field(default_factory=list)

    def read(self, kind: Kind, node: Node) -> object:
        """The value in the type that the schema wants; raises RefusedValueError."""
        if isinstance(node, Scalar) and (word := self._choice(kind, node)):
            return word
        if is_null(node) or self._is_null_in_other_words(kind, node):
            return self._null(kind, node)
        if kind.anything:
            return _plain(node) if isinstance(node, Sequence) else (_plain(node),)
        if kind.item:
            return self._list(kind, node)
        if not isinstance(node, Scalar):
            form = "a list" if isinstance(node, Sequence) else "a mapping"
            raise self._refusal(kind, node, f"found {form}, one value is needed")
        return self._scalar(kind, node)

    def _scalar(self, kind: Kind, node: Scalar) -> object:
        meaning = meaning_of(node.text)
        if kind.boolean:
            return self._boolean(kind, node, meaning)
        if kind.text and (node.quoted or not isinstance(meaning, bool)):
            if kind.number and _is_number(meaning):
                return self._number(kind, node, meaning)
            return self._text(kind, node)
        if kind.whole or kind.number:
            return self._number(kind, node, meaning)
        raise self._not_a_word(kind, node, meaning)

    def _choice(self, kind: Kind, node: Scalar) -> str | None:
        if node.text in kind.choices:
            return node.text
        if node.text.lower() in WORDS_MEANT_AS_NULL and node.text.lower() in kind.choices and not node.quoted:
            word = node.text.lower()
            self._note(node, f"{node.text} is read as the choice {word}")
            return word
        return None

    def _not_a_word(self, kind: Kind, node: Scalar, meaning: object) -> RefusedValueError:
        nearest = nearest_word(node.text, kind.choices)
        if node.quoted or not isinstance(meaning, bool):
            reason = f"{node.written} is not one of the choices" if kind.choices else f"{node.written} is no text"
            return self._refusal(kind, node, reason, Hint(nearest=nearest))
        word = "true" if meaning else "false"
        reason = f"found {node.text}, which YAML reads as {word}"
        return self._refusal(kind, node, reason, Hint(nearest=nearest, advice="if the word is meant, put it in quotes"))

    def _is_null_in_other_words(self, kind: Kind, node: Node) -> bool:
        if not isinstance(node, Scalar) or node.quoted or node.text.lower() not in WORDS_MEANT_AS_NULL:
            return False
        if not kind.nullable:
            advice = "if the word is meant, put it in quotes" if kind.text else _WITHOUT_A_VALUE
            reason = f"{node.text} is no value (YAML's word for that is null)"
            raise self._refusal(kind, node, reason, Hint(advice=advice))
        self._note(node, f"{node.text} is read as null")
        return True

    def _null(self, kind: Kind, node: Node) -> object:
        if kind.nullable:
            return None
        if kind.anything or (kind.item and kind.length is None):
            return ()
        assert isinstance(node, Scalar)
        found = "the value is missing" if not node.text else f"{node.text} is no value here"
        raise self._refusal(kind, node, found, Hint(advice=_WITHOUT_A_VALUE))

    def _boolean(self, kind: Kind, node: Scalar, meaning: object) -> bool:
        if not isinstance(meaning, bool):
            raise self._refusal(kind, node, f"{node.written} is not a boolean")
        if node.quoted:
            self._note(node, f"{node.written} in quotes is read as {'true' if meaning else 'false'}")
        return meaning

    def _text(self, kind: Kind, node: Scalar) -> str:
        if not node.text:
            raise self._refusal(kind, node, "the text is empty")
        return node.text

    def _number(self, kind: Kind, node: Scalar, meaning: object) -> int | float | None:
        noun = "a number" if kind.number else "a whole number"
        if isinstance(meaning, bool):
            words = (
                "" if node.text.lower() in ("true", "false") else f" ({node.text} is {str(meaning).lower()} in YAML)"
            )
            reason = f"found the boolean {node.written}{words}, {noun} is needed"
            raise self._refusal(kind, node, reason, hint_for(self.key, meaning))
        if not isinstance(meaning, int | float):
            raise self._refusal(kind, node, f"{node.written} is not {noun}", _hint_for_text(node.text))
        if kind.infinity_is_none and meaning == math.inf:
            return None
        if not math.isfinite(meaning) or not kind.bounds.contain(meaning):
            raise self._out_of_range(kind, node, meaning)
        if not kind.number and meaning != int(meaning):
            raise self._refusal(kind, node, f"{node.written} is not a whole number")
        if node.quoted:
            self._note(node, f"{node.written} in quotes is read as the number {node.text}")
        return float(meaning) if kind.number else int(meaning)

    def _out_of_range(self, kind: Kind, node: Scalar, value: float) -> RefusedValueError:
        hint = hint_for(self.key, value)
        reason = f"{node.written} is {'out of range' if math.isfinite(value) else 'not a finite number'}"
        return self._refusal(kind, node, f"{reason}: {hint.reason}" if hint.reason else reason, hint)

    def _list(self, kind: Kind, node: Node) -> tuple[object, ...]:
        assert kind.item
        items = node.items if isinstance(node, Sequence) else (node,)
        if kind.length and len(items) != kind.length:
            found = "1 value" if len(items) == 1 else f"{len(items)} values"
            raise self._refusal(kind, node, f"found {found}, {kind.length} are needed")
        return tuple(self._item(kind, item) for item in items)

    def _item(self, kind: Kind, node: Node) -> object:
        assert kind.item
        if not isinstance(node, Scalar) or is_null(node):
            raise self._refusal(kind, node, "this item is not a single value")
        return self._scalar(kind.item, node)

    def _refusal(self, kind: Kind, node: Node, reason: str, hint: Hint | None = None) -> RefusedValueError:
        hint = hint or Hint()
        problem = Problem(
            self.key,
            reason,
            found=node.written[:LONGEST_FOUND] if isinstance(node, Scalar) else None,
            allowed=str(kind),
            nearest=hint.nearest,
            advice=hint.advice,
            place=node.place,
        )
        return RefusedValueError(problem)

    def _note(self, node: Node, text: str) -> None:
        self.notes.append(Note(self.key, text, node.place))


class RefusedValueError(Exception):
    """A value that its key does not take."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(str(problem))
        self.problem = problem


def _is_number(meaning: object) -> bool:
    return isinstance(meaning, int | float) and not isinstance(meaning, bool)


def _hint_for_text(text: str) -> Hint:
    """How to write what looks like a number but is none."""
    if text.lower() in ("inf", "+inf", "infinity", "nan"):
        return Hint(advice=f"YAML writes it .{text.lower().strip('+')[:3]}")
    without_comma = text.replace(",", "")
    if "," in text and isinstance(meaning_of(without_comma), int):
        return Hint(advice=f"write it without commas: {without_comma}")
    if text.endswith("%") and _is_number(percent := meaning_of(text[:-1].strip())):
        assert isinstance(percent, int | float)
        return Hint(advice=f"write it as a share: {percent / 100:g}")
    if text.lstrip("+-").startswith("0") and text.lstrip("+-").isdigit():
        return Hint(advice=f"write it without the leading zero: {int(text)}")
    return Hint()


def _plain(node: Node) -> object:
    """The node as plain Python values, for keys that take any structure."""
    if isinstance(node, Scalar):
        return node.text if node.quoted else meaning_of(node.text)
    if isinstance(node, Sequence):
        return tuple(_plain(item) for item in node.items)
    return {entry.key: _plain(entry.value) for entry in node.entries}

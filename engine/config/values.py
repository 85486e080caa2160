"""Reads what was written as what its key takes, strictly, and says what is wrong otherwise.

A boolean is never a number and a number never a boolean; 2.5 is no whole number, 3.0 is; a number or a boolean in
quotes is taken with a note.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from engine.config.errors import Note, Problem
from engine.config.hints import Hint, hint_for
from engine.config.kinds import Kind, kind_of
from engine.config.nearest import nearest_word
from engine.config.nodes import WORDS_MEANT_AS_NULL, Entry, Mapping, Node, Scalar, Sequence, is_null, meaning_of
from engine.config.schema import Section

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
        if kind.item and kind.item.section:
            return self._entries(kind, kind.item.section, node)
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
        if kind.item and kind.length is None:
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

    def _entries(self, kind: Kind, section: type[Section], node: Node) -> tuple[Section, ...]:
        """The mappings of a list. All that is wrong with any of them is said at once."""
        entries: list[Section] = []
        problems: list[Problem] = []
        for item in node.items if isinstance(node, Sequence) else (node,):
            try:
                entries.append(self._entry(kind, section, item))
            except RefusedValueError as refusal:
                problems += refusal.problems
        if problems:
            raise RefusedValueError(*problems)
        return tuple(entries)

    def _entry(self, kind: Kind, section: type[Section], node: Node) -> Section:
        """One mapping; a text alone is the value of its first key."""
        first = next(iter(section.model_fields))
        if isinstance(node, Scalar) and not is_null(node):
            node = Mapping((Entry(first, node.place, node),), node.place)
        if not isinstance(node, Mapping):
            raise self._refusal(kind, node, "this item is neither a mapping nor a text")
        values: dict[str, object] = {}
        problems: list[Problem] = []
        for entry in node.entries:
            if entry.key not in section.model_fields:
                problems.append(self._unknown(section, entry))
                continue
            reading = Reading(f"{self.key}.{entry.key}")
            try:
                values[entry.key] = reading.read(kind_of(section.model_fields[entry.key]), entry.value)
            except RefusedValueError as refusal:
                problems += refusal.problems
            self.notes += reading.notes
        if not problems and first not in values:
            problems.append(Problem(f"{self.key}.{first}", "this key is required", place=node.place))
        if problems:
            raise RefusedValueError(*problems)
        return section(**values)

    def _unknown(self, section: type[Section], entry: Entry) -> Problem:
        return Problem(
            f"{self.key}.{entry.key}",
            "unknown key",
            found=entry.key,
            allowed=", ".join(section.model_fields),
            nearest=nearest_word(entry.key, section.model_fields),
            place=entry.place,
        )

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
    """A value that its key does not take, and each reason why not."""

    def __init__(self, *problems: Problem) -> None:
        super().__init__("\n".join(map(str, problems)))
        self.problems = problems


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

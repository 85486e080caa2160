"""One key of a config's text set to another value, or a refusal: no other key may mean something else then."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from engine.config.collect import collect
from engine.config.editing.keys import with_first_key, with_key, with_section
from engine.config.editing.spots import Form, Pair, Spot, find_spots
from engine.config.editing.values import replaced_items, replaced_value
from engine.config.editing.written import written
from engine.config.errors import ConfigError, Place, Problem
from engine.config.kinds import Kind, kinds
from engine.config.nodes import Mapping, Node, Scalar, Sequence, is_null
from engine.config.overrides import Overrides
from engine.config.values import Reading, RefusedValueError
from engine.config.yaml_source import BYTE_ORDER_MARK, parse_document, parse_value

_NEW_VALUE = "the new value"
_NO_FLAGS = Overrides({}, (), ())
_BRACKETS_OR_QUOTES = ("[", "{", '"', "'")


def with_value(text: str, key: str, value: object, source: str) -> str:
    """The text with the value for a known key; as it was where it says so already.

    Raises ConfigError for a value that the key does not take, and where the text is written in a way in which the key
    cannot be changed alone.
    """
    before = values_of(text, source)
    wanted = read_value(key, new_node(key, value))
    if key in before and _says(key, before[key], wanted):
        return text
    changed = _Change(text, key, value, before.get(key), source).apply()
    _refuse_changes_of_others(before, changed, key, wanted, source)
    return changed


def values_of(text: str, source: str) -> dict[str, Node]:
    """What the text says for each key; raises ConfigError for one that is no config in form."""
    document = parse_document(text.removeprefix(BYTE_ORDER_MARK), source)
    collected = collect(document.root, _NO_FLAGS, Path())
    if problems := [*document.problems, *collected.problems]:
        raise ConfigError(problems)
    return {key: value.node for key, value in collected.values.items()}


def new_node(key: str, value: object) -> Node:
    """The value as it would be read from a file."""
    return parse_value(written(kinds()[key], value), _NEW_VALUE)


def read_value(key: str, node: Node) -> object:
    """What the node means for the key; raises ConfigError for a value that it does not take."""
    try:
        return Reading(key).read(kinds()[key], node)
    except RefusedValueError as refusal:
        raise ConfigError(refusal.problems) from None


def says_nothing(node: Node) -> bool:
    """Whether the value is null, or a list without items."""
    return is_null(node) or (isinstance(node, Sequence) and not node.items)


@dataclass(frozen=True, slots=True)
class _Change:
    """A key's new value, and the text that takes it; `old` is what stands there now."""

    text: str
    key: str
    value: object
    old: Node | None
    source: str

    def apply(self) -> str:
        """The text with the new value."""
        section_name, _, name = self.key.partition(".")
        root = find_spots(self.text)
        assert root is not None and root.form is Form.MAPPING, "the text has been read as a mapping"
        section = root.pair(section_name)
        if section is None:
            return with_section(self.text, root, section_name, name, self._written_in(root))
        block = section.value
        if block.form is Form.ALIAS:
            raise _not_alone(self.key, f"{section_name} is an alias", self.source)
        if block.form is Form.SCALAR:
            return with_first_key(self.text, root, section, name, self._written_in(root), self._could_be)
        if pair := block.pair(name):
            return self._replace(pair, block)
        return with_key(self.text, section, name, self._written_in(block), self._could_be)

    def _replace(self, pair: Pair, mapping: Spot) -> str:
        items = self.value if isinstance(self.value, list | tuple) else ()
        if not (items and pair.value.form is Form.LIST and pair.value.items):
            return replaced_value(self.text, pair, self._written_in(mapping))
        kind = kinds()[self.key].item or Kind(text=True)
        old = self.old.items if isinstance(self.old, Sequence) else ()
        same = [self._is_item(node, item) for node, item in zip(old, items, strict=False)]
        texts = [written(kind, item, self._is_json(mapping)) for item in items]
        return replaced_items(self.text, pair.value, texts, same)

    def _is_item(self, node: Node, item: object) -> bool:
        """Whether an item of the list says already what the new one says."""
        one = (Sequence((node,), node.place), new_node(self.key, [item]))
        try:
            return read_value(self.key, one[0]) == read_value(self.key, one[1])
        except ConfigError:
            return False

    def _written_in(self, mapping: Spot) -> str:
        return written(kinds()[self.key], self.value, self._is_json(mapping))

    def _is_json(self, mapping: Spot) -> bool:
        return mapping.in_line and any(self.text[pair.start] == '"' for pair in mapping.pairs)

    def _could_be(self, text: str) -> bool:
        """Whether a text in a comment is a value for the key: a word, or what stands in brackets or quotes."""
        if len(text.split()) > 1 and not text.startswith(_BRACKETS_OR_QUOTES):
            return False
        try:
            read_value(self.key, parse_value(text, self.source))
        except ConfigError:
            return False
        return True


def _refuse_changes_of_others(before: dict[str, Node], changed: str, key: str, wanted: object, source: str) -> None:
    """Raises ConfigError unless the changed text says the wanted value for the key, and for the others what it did."""
    try:
        after = values_of(changed, source)
    except ConfigError as error:
        raise _not_alone(key, f"with the new value {error.problems[0].reason}", source) from None
    others = [other for other in {**before, **after} if other != key]
    for other in others:
        if _bare(before.get(other)) != _bare(after.get(other)):
            raise _not_alone(key, f"the same words set {other}", source)
    if key not in after or not _says(key, after[key], wanted):
        raise _not_alone(key, "the way in which it is written leaves no place for another value", source)


def _says(key: str, node: Node, wanted: object) -> bool:
    try:
        found = read_value(key, node)
    except ConfigError:
        return False
    return found == wanted and type(found) is type(wanted)


def _bare(node: Node | None) -> object:
    """What is written, wherever it stands."""
    match node:
        case Scalar():
            return node.text, node.quoted
        case Sequence():
            return [_bare(item) for item in node.items]
        case Mapping():
            return {entry.key: _bare(entry.value) for entry in node.entries}
    return None


def _not_alone(key: str, reason: str, source: str) -> ConfigError:
    reason = f"it cannot be changed alone: {reason}"
    return ConfigError([Problem(key, reason, advice="change it in an editor", place=Place(source))])

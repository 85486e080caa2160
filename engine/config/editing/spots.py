"""Where each key and each value of a YAML text stands, as offsets into the text, so that it can be edited in place.

`yaml_source` reads what a text means; this tree keeps what that one resolves: an alias is an alias here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

import yaml

from engine.config.yaml_source import NodeParser

_BLOCK_STYLES = ("|", ">")
_PROPERTIES = re.compile(r"(?:[&!][^\s,\[\]{}]*\s*)+")


class Form(StrEnum):
    """How a value is written."""

    SCALAR = "scalar"
    ALIAS = "alias"
    LIST = "list"
    MAPPING = "mapping"


@dataclass(frozen=True, slots=True)
class Spot:
    """One value: the characters `start` up to `stop`, without an anchor or a tag before it.

    `in_line` tells of lists and mappings whether they stand in brackets; `text` is what a scalar says.
    """

    form: Form
    start: int
    stop: int
    in_line: bool = False
    text: str = ""
    items: tuple[Spot, ...] = ()
    pairs: tuple[Pair, ...] = ()

    def pair(self, key: str) -> Pair | None:
        """The pair with this key, if it is written here."""
        return next((pair for pair in self.pairs if pair.key == key), None)

    @property
    def is_empty(self) -> bool:
        """Whether nothing is written: `key:` alone."""
        return self.form is Form.SCALAR and self.start == self.stop


@dataclass(frozen=True, slots=True)
class Pair:
    """One key of a mapping, the characters `start` up to `stop`, with its value."""

    key: str
    start: int
    stop: int
    value: Spot


def find_spots(text: str) -> Spot | None:
    """The tree of a text that is known to be one YAML document; None for one without content."""
    events = _Events(text)
    while not isinstance(event := events.next(), yaml.DocumentStartEvent):
        if isinstance(event, yaml.StreamEndEvent):
            return None
    return _spot(text, events, events.next())


class _Events:
    """What PyYAML's parser meets, one after another."""

    def __init__(self, text: str) -> None:
        self._parser = NodeParser(text)

    def next(self) -> yaml.Event:
        event: yaml.Event = self._parser.get_event()  # type: ignore[no-untyped-call]
        return event

    def until(self, end: type[yaml.Event]) -> Iterator[yaml.Event]:
        """The events up to the end of this level; whoever takes one takes all that belongs to it."""
        while not isinstance(event := self.next(), end):
            yield event
        self.last = event


def _spot(text: str, events: _Events, event: yaml.Event) -> Spot:
    if isinstance(event, yaml.AliasEvent):
        return Spot(Form.ALIAS, _start(event), _stop(event))
    if isinstance(event, yaml.ScalarEvent):
        stop = _stop(event) if event.style not in _BLOCK_STYLES else len(text[: _stop(event)].rstrip())
        return Spot(Form.SCALAR, _behind_properties(text, event, stop), stop, text=event.value)
    assert isinstance(event, yaml.CollectionStartEvent), f"no value begins with {event}"
    if isinstance(event, yaml.SequenceStartEvent):
        items = tuple(_spot(text, events, item) for item in events.until(yaml.SequenceEndEvent))
        stop = _stop(events.last) if event.flow_style else items[-1].stop
        return Spot(Form.LIST, _behind_properties(text, event, stop), stop, bool(event.flow_style), items=items)
    pairs = tuple(_pair(text, events, key) for key in events.until(yaml.MappingEndEvent))
    stop = _stop(events.last) if event.flow_style else pairs[-1].value.stop
    return Spot(Form.MAPPING, _behind_properties(text, event, stop), stop, bool(event.flow_style), pairs=pairs)


def _pair(text: str, events: _Events, key: yaml.Event) -> Pair:
    assert isinstance(key, yaml.ScalarEvent | yaml.AliasEvent), "a key is a single word"
    name = key.value if isinstance(key, yaml.ScalarEvent) else ""
    return Pair(name, _start(key), _stop(key), _spot(text, events, events.next()))


def _behind_properties(text: str, event: yaml.ScalarEvent | yaml.CollectionStartEvent, stop: int) -> int:
    """Where the value itself begins, behind its anchor and its tag."""
    start = _start(event)
    properties = _PROPERTIES.match(text, start) if event.anchor or event.tag else None
    return min(properties.end(), stop) if properties else start


def _start(event: yaml.Event) -> int:
    assert event.start_mark is not None, "the parser marks every event"
    return event.start_mark.index


def _stop(event: yaml.Event) -> int:
    assert event.end_mark is not None, "the parser marks every event"
    return event.end_mark.index

"""A sample in blocks: turn by turn, as the rendered text, or only what is trained."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from pgs_tui.inspection.shapes import Sample, Stretch

View = Literal["turns", "raw", "trained"]

_MARKUP = re.compile(r"<[^<>\n]*>|\[/?[A-Z_]+\]")
_WORDS = re.compile(r"\w+")
_NAMES = frozenset(
    {"system", "developer", "user", "assistant", "tool", "model", "human", "gpt", "ai", "bot", "function"}
)
_TEMPLATE = frozenset({"template", "header"})


@dataclass(frozen=True, slots=True)
class Title:
    """What stands above a block: whose turn it is (`turn` counts from 1), or a note."""

    role: str
    turn: int | None = None
    note: str = ""


@dataclass(frozen=True, slots=True)
class Block:
    """The characters `start` up to `stop` of the text, below their title if they have one."""

    start: int
    stop: int
    title: Title | None = None


def blocks_of(sample: Sample, view: View, lit: Sequence[tuple[int, int]]) -> tuple[Block, ...]:
    """What the view shows of the sample, in the order of the text. `lit` are the trained stretches of the text.

    Turn by turn, the template's own words around a turn are left out where they only name it, as the title does too;
    any other text of the template is shown.
    """
    if view == "raw" or not sample.stretches:
        return (Block(0, len(sample.text)),)
    if view == "trained":
        return tuple(_titled_once(_trained(sample, lit)))
    return tuple(_merged(_titled_once(_turn_by_turn(sample))))


def _turn_by_turn(sample: Sample) -> Iterator[Block]:
    for stretch in sample.stretches:
        text = sample.text[stretch.start : stretch.stop]
        if stretch.why in _TEMPLATE and not stretch.loss and is_scaffold(text):
            if stretch.turn is not None:  # so that a turn without any text has its title too
                yield Block(stretch.stop, stretch.stop, _title(stretch))
            elif _words(text):
                yield Block(stretch.start, stretch.stop, Title("template", note="around a turn without text"))
        elif stretch.why == "template":
            yield Block(stretch.start, stretch.stop, Title("template", note="added by the template, not in the data"))
        else:
            yield Block(stretch.start, stretch.stop, _title(stretch))


def _trained(sample: Sample, lit: Sequence[tuple[int, int]]) -> Iterator[Block]:
    stretches = iter(sample.stretches)
    current = next(stretches, None)
    for start, stop in lit:
        while current is not None and current.stop <= start:
            current = next(stretches, None)
        yield Block(start, stop, _title(current) if current else None)


def _title(stretch: Stretch) -> Title | None:
    if stretch.turn is None and stretch.role is None:
        return None
    return Title(stretch.role or "turn", stretch.turn)


def _titled_once(blocks: Iterable[Block]) -> Iterator[Block]:
    shown: Title | None = None
    for block in blocks:
        if block.title is None or block.title == shown:
            yield replace(block, title=None)
        else:
            shown = block.title
            yield block


def _merged(blocks: Iterable[Block]) -> Iterator[Block]:
    """Neighbours of one title as one block, so that a line does not end where only the reason changes."""
    pending: Block | None = None
    for block in blocks:
        if pending is not None and block.title is None and block.start == pending.stop:
            pending = replace(pending, stop=block.stop)
            continue
        if pending is not None:
            yield pending
        pending = block
    if pending is not None:
        yield pending


def is_scaffold(text: str) -> bool:
    """True for text of a template that holds markup and the names of roles but nothing that a model could read."""
    return all(word.lower() in _NAMES for word in _words(text))


def _words(text: str) -> list[str]:
    """The words outside of markup."""
    return _WORDS.findall(_MARKUP.sub(" ", text))

"""Puts a key into a text that lacks it: where it is commented out, or else at the end of its section."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from itertools import pairwise

from engine.config.editing.lines import column_of, end_with_comments, line_end, line_start, lines_behind, newline_of
from engine.config.editing.spots import Form, Pair, Spot

_USUAL_INDENTATION = 2
_USUAL_GAP = 2
_END_OF_DOCUMENT = ("...", "---")

IsValue = Callable[[str], bool]


def with_key(text: str, section: Pair, key: str, value: str, is_value: IsValue) -> str:
    """The text with a key more in a section that has keys.

    `is_value` tells whether a text could be a value of this key, so that a comment that only speaks of the key is no
    key that is commented out.
    """
    if section.value.in_line:
        return _with_pair_in_line(text, section.value, f"{_key_like(text, section.value, key)}: {value}")
    column = column_of(text, section.value.pairs[0].start)
    end = end_with_comments(text, section.value.stop, max(column, 1))
    start = line_end(text, section.stop)
    taken = list(_leaves(section.value))
    return _with_line(text, start, end, column, key, value, is_value, taken)


def with_first_key(text: str, root: Spot, section: Pair, key: str, value: str, is_value: IsValue) -> str:
    """The text with the first key of a section that stands there with nothing below it, or with null."""
    if root.in_line:
        start = section.value.start
        space = "" if text[start - 1].isspace() else " "
        return f"{text[:start]}{space}{{{_key_like(text, root, key)}: {value}}}{text[section.value.stop :]}"
    column = column_of(text, section.start) + _indentation_of(text, root)
    end = end_with_comments(text, section.value.stop, column_of(text, section.start) + 1)
    changed = _with_line(text, line_end(text, section.stop), end, column, key, value, is_value, [])
    without_null = (
        text[: section.value.start].rstrip(" ") if not section.value.is_empty else text[: section.value.start]
    )
    return without_null + changed[section.value.stop :]


def with_section(text: str, root: Spot, section: str, key: str, value: str) -> str:
    """The text with a new section of one key at its end."""
    if root.in_line:
        inner = f"{{{_key_like(text, root, key)}: {value}}}"
        return _with_pair_in_line(text, root, f"{_key_like(text, root, section)}: {inner}")
    newline, column = newline_of(text), column_of(text, root.pairs[0].start)
    end = _end_of_document(text, root)
    gap = newline if _has_blank_lines_between(text, root) else ""
    lines = [" " * column + f"{section}:", " " * (column + _indentation_of(text, root)) + f"{key}: {value}"]
    return text[:end] + newline + gap + newline.join(lines) + text[end:]


def _with_line(
    text: str, start: int, end: int, column: int, key: str, value: str, is_value: IsValue, taken: list[Spot]
) -> str:
    """The text with a line for the key, at `end` unless one between `start` and there has it commented out."""
    commented_out = list(_commented_out(text, start, end, key, is_value, taken))
    if len(commented_out) == 1:
        line = commented_out[0]
        return text[: line.start()] + _switched_on(line, column, key, value) + text[line.end() :]
    return text[:end] + newline_of(text) + " " * column + f"{key}: {value}" + text[end:]


def _commented_out(
    text: str, start: int, end: int, key: str, is_value: IsValue, taken: list[Spot]
) -> Iterator[re.Match[str]]:
    line_of_key = re.compile(
        rf"[ \t]*#[ \t]*(?P<quote>[\"']?){re.escape(key)}(?P=quote)[ \t]*:[ \t]+(?P<value>\S.*?)"
        r"(?P<gap>[ \t]*)(?P<comment>(?<=[ \t])#.*)?"
    )
    for begin, stop in lines_behind(text, start):
        if stop > end:
            break
        match = line_of_key.fullmatch(text, begin, stop)
        if match and is_value(match["value"]) and not any(spot.start < stop and spot.stop > begin for spot in taken):
            yield match


def _switched_on(line: re.Match[str], column: int, key: str, value: str) -> str:
    """The line with its key in force; the comment behind the value stays in its column where it can."""
    setting = " " * column + f"{key}: {value}"
    if not line["comment"]:
        return setting
    was_at = line.start("comment") - line.start()
    return setting.ljust(max(was_at, len(setting) + _USUAL_GAP)) + line["comment"]


def _with_pair_in_line(text: str, mapping: Spot, pair: str) -> str:
    if not mapping.pairs:
        return text[: mapping.start + 1] + pair + text[mapping.stop - 1 :]
    last = mapping.pairs[-1].value.stop
    return f"{text[:last]}, {pair}{text[last:]}"


def _key_like(text: str, mapping: Spot, key: str) -> str:
    """The key in double quotes where its neighbours are."""
    return f'"{key}"' if mapping.pairs and text[mapping.pairs[0].start] == '"' else key


def _leaves(spot: Spot) -> Iterator[Spot]:
    """The values that are written without others below them."""
    inner = (*spot.items, *(pair.value for pair in spot.pairs))
    if spot.in_line or not inner:
        yield spot
        return
    for one in inner:
        yield from _leaves(one)


def _indentation_of(text: str, root: Spot) -> int:
    """How far the keys of a section stand to the right of it, as in the sections that are there."""
    for section in root.pairs:
        if section.value.form is Form.MAPPING and not section.value.in_line:
            return column_of(text, section.value.pairs[0].start) - column_of(text, section.start)
    return _USUAL_INDENTATION


def _end_of_document(text: str, root: Spot) -> int:
    """The end of the last line with content or a comment."""
    last = line_end(text, root.stop)
    for start, stop in lines_behind(text, root.stop):
        if text.startswith(_END_OF_DOCUMENT, start):
            break
        if text[start:stop].strip():
            last = stop
    return last


def _has_blank_lines_between(text: str, root: Spot) -> bool:
    starts = [pair.start for pair in root.pairs]
    return any(
        not text[begin:stop].strip()
        for first, second in pairwise(starts)
        for begin, stop in lines_behind(text, first)
        if stop < line_start(text, second)
    )

"""What is said about a config: problems that refuse it, notes that let it pass, and where each one stands."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from textwrap import fill
from typing import TypeVar

LONGEST_EXCERPT = 120
_INDENT = " " * 6
_SIGNS = (
    {code: 0x2400 + code for code in range(0x20) if chr(code) != "\n"}
    | {0x7F: "␡"}
    | dict.fromkeys((*range(0x80, 0xA0), *range(0x202A, 0x202F), *range(0x2066, 0x206A)), "\ufffd")
)
"""One cell for each character that a terminal would take for a command, or that turns the direction of a text."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where something was written: a spot in a file, or a flag of the command line.

    `line` and `column` count from 1 and are None where there is no such spot; `excerpt` is the whole line and
    `width` the number of characters to mark in it.
    """

    source: str
    line: int | None = None
    column: int | None = None
    excerpt: str = ""
    width: int = 1

    def __str__(self) -> str:
        return ":".join(str(part) for part in (self.source, self.line, self.column) if part is not None)

    def picture(self) -> str:
        """The line with a mark below the spot, or nothing where there is no line."""
        if self.line is None or self.column is None or not self.excerpt.strip() or self.column > LONGEST_EXCERPT:
            return ""
        number = f"{self.line:>5}"
        text = self.excerpt[:LONGEST_EXCERPT].replace("\t", "→")
        marks = "^" * max(1, min(self.width, len(text) - self.column + 1))
        return f"{number} | {text}\n{' ' * len(number)} | {' ' * (self.column - 1)}{marks}"


@dataclass(frozen=True, slots=True)
class Problem:
    """One reason to refuse a config.

    `key` is the full path (`train.learning_rate`), empty for the file as a whole; `reason` is a sentence that holds
    what was found; `nearest` is the valid key or word that was probably meant.
    """

    key: str
    reason: str
    found: str | None = None
    allowed: str | None = None
    nearest: str | None = None
    advice: str | None = None
    place: Place | None = None

    @property
    def line(self) -> int | None:
        """Line in the file, from 1."""
        return self.place.line if self.place else None

    @property
    def column(self) -> int | None:
        """Column in the line, from 1."""
        return self.place.column if self.place else None

    def at(self, place: Place | None) -> Problem:
        """The same problem, standing at `place`."""
        return replace(self, place=place)

    def __str__(self) -> str:
        head = _head(self.place, self.key, self.reason)
        if self.nearest:
            head += f"; did you mean {self.nearest}?"
        lines = [head, self.place.picture() if self.place else ""]
        lines += [_wrapped("allowed: ", self.allowed), _wrapped("advice: ", self.advice)]
        return _harmless("\n".join(line for line in lines if line))


@dataclass(frozen=True, slots=True)
class Note:
    """Something to know about a config that is accepted."""

    key: str
    text: str
    place: Place | None = None

    def at(self, place: Place | None) -> Note:
        """The same note, standing at `place`."""
        return replace(self, place=place)

    def __str__(self) -> str:
        return _harmless(_head(self.place, self.key, self.text))


def _head(place: Place | None, key: str, sentence: str) -> str:
    """Place, key and sentence; a flag names its key already."""
    is_flag_of_key = place is not None and place.source.lstrip("-") == key
    return ": ".join(str(part) for part in (place, "" if is_flag_of_key else key, sentence) if part)


def _harmless(text: str) -> str:
    """What a file holds may be anything; printed, it must not become a command to the terminal."""
    return text.translate(_SIGNS)


def _wrapped(title: str, text: str | None) -> str:
    if not text:
        return ""
    hanging = _INDENT + " " * len(title)
    return fill(
        text, LONGEST_EXCERPT, initial_indent=_INDENT + title, subsequent_indent=hanging, break_on_hyphens=False
    )


class ConfigError(ValueError):
    """A config that cannot be used; holds every problem found, in the order of the file."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        assert problems, "a refusal needs a reason"
        self.problems = tuple(problems)
        super().__init__(self.problems)

    def __str__(self) -> str:
        text = "\n".join(str(problem) for problem in self.problems)
        return text if len(self.problems) == 1 else f"{len(self.problems)} problems in the config\n{text}"


Finding = TypeVar("Finding", Problem, Note)


def in_order_of_writing(findings: Iterable[Finding]) -> list[Finding]:
    """Sorts by line and column; what has no line (a missing section, a flag) comes last, in the given order."""

    def position(finding: Finding) -> tuple[bool, int, int]:
        place = finding.place
        if place is None or place.line is None or place.column is None:
            return True, 0, 0
        return False, place.line, place.column

    return sorted(findings, key=position)

"""The configs that were found, what is known of each, and what is to be found out next."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

from pgs_tui.picking.checking import Checked, data_sets, what_trains
from pgs_tui.picking.discovery import Found

if TYPE_CHECKING:
    from pgs_tui.picking.last_runs import LastRun
    from pgs_tui.profiling.shapes import Profile

NO_MODEL = "no model named"


@dataclass(slots=True)
class Entry:
    """A config and what is known of it. After a rescan old news stays in sight until `must_check` and
    `must_estimate` are done. `trouble` says why there is no estimate.
    """

    found: Found
    checked: Checked | None = None
    last_run: LastRun | None = None
    estimate: Profile | None = None
    trouble: str = ""
    must_check: bool = True
    must_estimate: bool = True
    trusted_model: str = ""
    """The model whose own code a person has allowed to run."""

    @property
    def path(self) -> Path:
        """The file."""
        return self.found.path

    @property
    def shown(self) -> str:
        """What people call it."""
        return self.found.shown

    @property
    def model(self) -> str:
        """The model: as loading told, else as the text of the file has it."""
        config = self.checked.config if self.checked else None
        return config.model.name_or_path if config else self.found.model

    @property
    def is_valid(self) -> bool | None:
        """Whether it can be trained; None while that is not known."""
        return self.checked.is_valid if self.checked else None

    @property
    def runs_code(self) -> bool:
        """Whether Python code that comes with the model's files would run."""
        return bool(self.checked and self.checked.config and self.checked.config.model.trust_remote_code)

    @property
    def asks_for_trust(self) -> bool:
        """Whether a person is to be asked before anything is done with it."""
        return self.runs_code and self.trusted_model != self.model

    @property
    def verdict(self) -> str:
        """Whether it fits the GPU, in a word of the profiler; empty while that is not known, or without a GPU."""
        return self.estimate.verdict.word if self.estimate and self.estimate.gpu else ""

    @property
    def warnings(self) -> tuple[str, ...]:
        """What speaks against the verdict, as the profiler puts it."""
        return tuple(self.estimate.verdict.warnings) if self.estimate else ()

    def take(self, checked: Checked) -> None:
        """It was read, perhaps once more; the estimate of another config that stood there is asked for anew."""
        is_another = self.checked is None or self.checked.config != checked.config
        self.checked, self.must_check = checked, False
        self.must_estimate = checked.is_valid and (is_another or self.must_estimate)
        if not checked.is_valid:
            self.estimate, self.trouble = None, ""

    def has(self, words: Sequence[str]) -> bool:
        """Whether each of the words stands in what the list says of it."""
        text = self._searched().lower()
        return all(word in text for word in words)

    def _searched(self) -> str:
        parts = [self.shown, self.model, self.verdict, {True: "valid", False: "invalid", None: ""}[self.is_valid]]
        if self.runs_code:
            parts.append("trust_remote_code")
        if self.checked and self.checked.config:
            parts += [what_trains(self.checked.config), *data_sets(self.checked.config)]
        elif self.checked:
            parts += self.checked.problems
        return "\n".join(parts)


@dataclass(frozen=True, slots=True)
class Group:
    """The configs of one model, by name."""

    title: str
    entries: tuple[Entry, ...]


class Collection:
    """Grows while configs are found. `here` is the folder that paths are told from."""

    def __init__(self, here: Path) -> None:
        self.here = here
        self._entries: dict[Path, Entry] = {}

    def __len__(self) -> int:
        return len(self._entries)

    def __iter__(self) -> Iterator[Entry]:
        return iter(self._entries.values())

    def get(self, path: Path | None) -> Entry | None:
        """What is known of a config; None for one that was not found."""
        return self._entries.get(path) if path else None

    def add(self, found: Iterable[Found], known: Collection | None = None) -> None:
        """Take in what was found; `known` tells what an earlier search knew of it."""
        for one in found:
            old = known.get(one.path) if known else None
            entry = Entry(one)
            if old is not None:
                entry = Entry(one, old.checked, old.last_run, old.estimate, trusted_model=old.trusted_model)
            self._entries[one.path] = entry

    def take_runs(self, runs: Mapping[Path, LastRun]) -> None:
        """The last run of each config that has one."""
        for entry in self:
            entry.last_run = runs.get(entry.path)

    def groups(self, wanted: str = "") -> list[Group]:
        """The configs that have all words of `wanted`, by model; models of the person's own configs come first."""
        words = wanted.lower().split()
        chosen = sorted((entry for entry in self if entry.has(words)), key=self._place)
        grouped = groupby(chosen, key=lambda entry: model_title(entry.model, self.here))
        groups = [Group(title, tuple(entries)) for title, entries in grouped]
        return sorted(groups, key=lambda group: all(entry.found.shipped for entry in group.entries))

    def _place(self, entry: Entry) -> tuple[str, list[tuple[str, int]], str]:
        return model_title(entry.model, self.here).lower(), _natural(entry.shown), str(entry.path)

    def to_check(self, first: Sequence[Entry], most: int) -> list[Entry]:
        """The next configs to read, those of `first` before others."""
        waiting = {entry.path: entry for entry in (*first, *self) if entry.must_check}
        return list(waiting.values())[:most]

    def to_estimate(self, first: Sequence[Entry]) -> Entry | None:
        """The next config whose memory is to be asked for; none where that would run code nobody has allowed to."""
        checked = (entry for entry in (*first, *self) if entry.is_valid and not entry.must_check)
        ready = (entry for entry in checked if not entry.asks_for_trust)
        return next((entry for entry in ready if entry.must_estimate), None)

    @property
    def checked(self) -> int:
        """How many were read."""
        return sum(not entry.must_check for entry in self)

    @property
    def invalid(self) -> int:
        """How many cannot be used."""
        return sum(entry.is_valid is False for entry in self)


def model_title(model: str, here: Path) -> str:
    """The model as a heading: a hub name as it is, a local folder from `here`, or by its last two names."""
    if not model:
        return NO_MODEL
    path = Path(model)
    if not path.is_absolute():
        return model
    return path.relative_to(here).as_posix() if path.is_relative_to(here) else "/".join(path.parts[-2:])


def _natural(text: str) -> list[tuple[str, int]]:
    """The text so that a9 comes before a10."""
    return [(letters, int(digits or -1)) for letters, digits in re.findall(r"(\D*)([0-9]*)", text.lower())]

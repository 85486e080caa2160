"""Brings file and flags together: the one value that counts for each known key, a problem for each unknown one."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from engine.config.errors import Note, Place, Problem
from engine.config.kinds import kinds
from engine.config.nearest import nearest_key
from engine.config.nodes import Entry, Mapping, Node, Sequence, is_null
from engine.config.overrides import Overrides
from engine.config.schema import SECTIONS

ALTERNATIVES = {
    "train.warmup_steps": "train.warmup_ratio",
    "train.warmup_ratio": "train.warmup_steps",
    "data.eval_dataset": "data.eval_split",
    "data.eval_split": "data.eval_dataset",
    "data.dataset": "data.sources",
    "data.sources": "data.dataset",
}
"""Two keys for one thing. Both in one place are refused; a flag for one replaces the other of the file."""


@dataclass(frozen=True, slots=True)
class Written:
    """What was written for one key, and the folder that a relative path in it starts from."""

    node: Node
    base: Path


@dataclass(slots=True)
class Collected:
    """All values by full key, in the order of writing, and the place of each section."""

    values: dict[str, Written] = field(default_factory=dict)
    sections: dict[str, Place] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)
    notes: list[Note] = field(default_factory=list)

    def place_of(self, key: str) -> Place | None:
        """Where the key's value stands, or else its section."""
        if key in self.values:
            return self.values[key].node.place
        return self.sections.get(key.partition(".")[0])


def collect(root: Mapping, overrides: Overrides, folder: Path) -> Collected:
    """Takes the values of the file, then those of the flags over them. `folder` is the file's own folder."""
    collected = Collected()
    for entry in root.entries:
        _collect_section(entry, folder, collected)
    for key, node in overrides.values.items():
        _give_way(key, node, overrides, collected)
        collected.values.pop(key, None)
        collected.values[key] = Written(node, Path.cwd())
    return collected


def _give_way(key: str, node: Node, overrides: Overrides, collected: Collected) -> None:
    """Take out what the file says in the other way of saying what this flag says."""
    other = ALTERNATIVES.get(key)
    if other is None or other in overrides.values or other not in collected.values or _says_nothing(node):
        return
    replaced = collected.values.pop(other)
    if not _says_nothing(replaced.node):
        collected.notes.append(Note(other, f"gives way to the flag --{key}", replaced.node.place))


def _says_nothing(node: Node) -> bool:
    return is_null(node) or (isinstance(node, Sequence) and not node.items)


def _collect_section(entry: Entry, folder: Path, collected: Collected) -> None:
    if entry.key not in SECTIONS:
        collected.problems.append(unknown_key(entry.key, entry.place))
        return
    collected.sections[entry.key] = entry.place
    if is_null(entry.value):
        return
    if not isinstance(entry.value, Mapping):
        collected.problems.append(_not_a_section(entry))
        return
    for inner in entry.value.entries:
        key = f"{entry.key}.{inner.key}"
        if key in kinds():
            collected.values[key] = Written(inner.value, folder)
        else:
            collected.problems.append(unknown_key(key, inner.place))


def unknown_key(path: str, place: Place | None) -> Problem:
    """The refusal of an unknown key or section; without a likely one it lists those that exist."""
    section, _, name = path.rpartition(".")
    nearest = nearest_key(path)
    if section:
        allowed = ", ".join(key.partition(".")[2] for key in kinds() if key.startswith(f"{section}."))
    else:
        allowed = ", ".join(SECTIONS)
    what = "unknown key" if section else "unknown section"
    return Problem(path, what, found=name, allowed=allowed, nearest=nearest, place=place)


def _not_a_section(entry: Entry) -> Problem:
    found = "a list" if isinstance(entry.value, Sequence) else "a single value"
    first_key = next(iter(SECTIONS[entry.key].model_fields))
    allowed = f"keys below it, such as `{first_key}: ...`, indented by two spaces"
    reason = f"a section must be a mapping of keys, found {found}"
    return Problem(entry.key, reason, found=found, allowed=allowed, place=entry.value.place)

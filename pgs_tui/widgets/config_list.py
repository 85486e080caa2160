"""The configs by model: what each trains, how large its batches are, its memory, whether it fits, its last run."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pgs_tui.drawing.lines import Line, Role, fit, joined, line, line_width, width
from pgs_tui.format import plain, whole
from pgs_tui.picking.checking import batch_and_length, data_sets, what_trains
from pgs_tui.picking.collection import Entry, Group
from pgs_tui.picking.words import long_run, memory, short_run
from pgs_tui.widgets.panel import Panel

MARGIN = 2
"""Lines that stay in sight above and below the selected one."""
LOWEST_WITH_HEAD = 8
"""Lines below which the names of the columns are left out."""
NAME_CELLS = (16, 40)
CODE = " ▲code"
"""Behind the name of a config with `model.trust_remote_code`."""
VERDICTS: dict[str, tuple[str, Role]] = {
    "fits": ("✔", "good"),
    "tight": ("▲", "warn"),
    "does not fit": ("✖", "bad"),
    "unknown": ("·", "dim"),
}
"""A sign and a role for each verdict on memory."""


@dataclass(frozen=True, slots=True)
class Columns:
    """Cells of each column; 0 leaves it out."""

    name: int
    trains: int
    data: int
    batch: int
    memory: int
    verdict: int
    run: int


def columns_of(cells: int, longest_name: int, without_gpu: bool = False) -> Columns:
    """What of a row fits into so many cells, behind its markers. Without a GPU there are no verdicts."""
    trains = 13 if cells >= 92 else 0
    data = 18 if cells >= 114 else 0
    batch = 15 if cells >= 44 else 0
    verdict = 1 if without_gpu else 15 if cells >= 66 else 2
    run = 18 if cells >= 100 else 8 if cells >= 72 else 0
    rest = cells - trains - data - batch - 10 - verdict - run
    shortest, longest = NAME_CELLS
    return Columns(min(max(longest_name + 2, shortest), longest, max(rest, 0)), trains, data, batch, 10, verdict, run)


class ConfigList(Panel):
    """`show` gives it the groups; `selected` is the path of the row that keys act on, whatever moves around it."""

    def __init__(self, *, id: str) -> None:
        super().__init__(id=id)
        self.groups: tuple[Group, ...] = ()
        self.selected: Path | None = None
        self.marked: Path | None = None
        self.said = "looking for configs"
        """What to say while there is nothing to list."""
        self.filter = ""
        self.without_gpu = False
        self.total = 0
        """Configs in all, the filtered ones too."""
        self.hopeless = False
        """True when no more estimates will come."""
        self.beside = ""
        """What was seen beside the configs."""
        self._first = 0

    def show(self, groups: Sequence[Group]) -> None:
        """List these. The selected one stays; if it is gone, the first one is selected."""
        self.groups = tuple(groups)
        entries = self.entries
        if entries and all(entry.path != self.selected for entry in entries):
            self.selected = entries[0].path
        self.redraw()

    @property
    def entries(self) -> list[Entry]:
        """The configs in the order of the list."""
        return [entry for group in self.groups for entry in group.entries]

    @property
    def entry(self) -> Entry | None:
        """The selected config."""
        return next((entry for entry in self.entries if entry.path == self.selected), None)

    @property
    def in_sight(self) -> list[Entry]:
        """The configs that can be seen, the selected one first."""
        seen = [row for row in self._rows()[self._first : self._first + self.room] if isinstance(row, Entry)]
        return sorted(seen, key=lambda entry: entry.path != self.selected)

    @property
    def room(self) -> int:
        """Rows that fit."""
        inside = max(self.size.height - 2, 1)
        return inside - 1 if inside >= LOWEST_WITH_HEAD else inside

    @property
    def place(self) -> int:
        """Where in `entries` the selected one is."""
        return next((place for place, entry in enumerate(self.entries) if entry.path == self.selected), 0)

    def move(self, rows: int) -> bool:
        """Select another one; False at the end of the list."""
        entries = self.entries
        if not entries:
            return False
        chosen = entries[min(max(self.place + rows, 0), len(entries) - 1)].path
        moved, self.selected = chosen != self.selected, chosen
        self.redraw()
        return moved

    def title(self) -> Line:
        return joined([line(("configs", "title")), line((plain(self.filter), "accent"))], " ")

    def value(self) -> Line:
        if not self.groups:
            return ()
        of_all = f" of {whole(self.total)}" if self.filter else ""
        return line((whole(len(self.entries)), "value"), (of_all, "dim"))

    def summary(self) -> Sequence[Line]:
        beside = line((plain(self.beside), "dim"))
        place = line((f"{self.place + 1}/{len(self.entries)}", "dim")) if self.groups else ()
        return [joined([place, beside], " · "), place]

    def brief(self, width: int) -> Line:
        entry = self.entry
        return self._row(entry, width, self._columns(width)) if entry else line((self.said, "dim"))

    def body(self, width: int, height: int) -> Sequence[Line]:
        if not self.groups:
            return [line((text, "dim")) for text in self.said.split("\n")]
        rows = self._rows()
        columns = self._columns(width)
        head = [self._head(columns)] if height >= LOWEST_WITH_HEAD else []
        height -= len(head)
        self._keep_in_sight(rows, height)
        shown = rows[self._first : self._first + height]
        listed = (self._row(r, width, columns) if isinstance(r, Entry) else line((plain(r), "accent")) for r in shown)
        return [*head, *listed]

    def _head(self, columns: Columns) -> Line:
        """The names of the columns."""
        named = (
            ("config", columns.name),
            ("trains", columns.trains),
            ("data", columns.data),
            ("batch × length", columns.batch),
        )
        text = "".join(f"{name:<{cells}}" for name, cells in named if cells)
        last = "last run" if columns.run else ""
        return line((f"   {text}{'memory':>{columns.memory - 1}} {'':<{columns.verdict}}{last}", "dim"))

    def _rows(self) -> list[Entry | str]:
        """Headings and configs, line by line."""
        rows: list[Entry | str] = []
        for group in self.groups:
            rows += [group.title, *group.entries]
        return rows

    def _keep_in_sight(self, rows: Sequence[Entry | str], height: int) -> None:
        place = next((at for at, row in enumerate(rows) if isinstance(row, Entry) and row.path == self.selected), 0)
        margin = min(MARGIN, (height - 1) // 2)
        self._first = min(max(self._first, place + margin - height + 1), place - margin)
        self._first = min(max(self._first, 0), max(len(rows) - height, 0))

    def _columns(self, cells: int) -> Columns:
        names = (width(plain(entry.shown)) + len(CODE) * entry.runs_code for entry in self.entries)
        longest = max(names, default=0)
        return columns_of(cells - 3, longest, self.without_gpu)

    def _row(self, entry: Entry, cells: int, columns: Columns) -> Line:
        chosen = entry.path == self.selected
        marks = line(("›" if chosen else " ", "focus"), ("◆ " if entry.path == self.marked else "  ", "accent"))
        name = _name(entry, chosen, max(columns.name - 1, 1))
        head = (*marks, *name, (" ", "text"))
        if entry.checked is not None and not entry.checked.is_valid:
            return (*head, *line(("✖ ", "bad"), (entry.checked.problems[0], "text" if chosen else "dim")))
        return (*head, *self._facts(entry, columns, cells - line_width(head)))

    def _facts(self, entry: Entry, columns: Columns, cells: int) -> Line:
        config = entry.checked.config if entry.checked else None
        told = (
            (columns.trains, what_trains(config) if config else ""),
            (columns.data, ", ".join(data_sets(config)) if config else ""),
            (columns.batch, batch_and_length(config) if config else ""),
        )
        facts = [_column(plain(text), "text", size) for size, text in told if size]
        facts.append(
            line((f"{memory(entry, self.hopeless):>{columns.memory - 1}} ", "value" if entry.estimate else "dim"))
        )
        facts.append(_column(*self._verdict(entry, columns.verdict), columns.verdict))
        if columns.run and entry.last_run:
            told_run = (long_run if columns.run > 8 else short_run)(entry.last_run, time.time())
            facts.append(line((told_run, "good" if entry.last_run.is_going else "dim")))
        return fit(tuple(span for fact in facts for span in fact), cells)

    def _verdict(self, entry: Entry, cells: int) -> tuple[str, Role]:
        if not entry.verdict:
            return "", "text"
        sign, role = VERDICTS.get(entry.verdict, ("·", "dim"))
        if role == "good" and entry.warnings:  # such as a GPU that cannot do what the config asks
            sign, role = VERDICTS["tight"]
        return (f"{sign} {plain(entry.verdict)}" if cells > 2 else sign), role


def _name(entry: Entry, chosen: bool, cells: int) -> Line:
    """The config's name, and behind it whether code of its model's would run."""
    sign = line((CODE, "warn")) if entry.runs_code else ()
    return (*fit(line((plain(entry.shown), "value" if chosen else "text")), max(cells - line_width(sign), 1)), *sign)


def _column(text: str, role: Role, cells: int) -> Line:
    """The text and a blank behind it."""
    return (*fit(line((text, role)), cells - 1), (" ", "text"))

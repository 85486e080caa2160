"""Runs in a table: state, model, steps, losses, alerts, size, time. What does not fit is left out column by column."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from pgs_tui.drawing.lines import Line, Role, fit, joined, line, line_width, width
from pgs_tui.drawing.severities import SIGNS
from pgs_tui.format import plain, whole
from pgs_tui.listing.row import RunRow
from pgs_tui.listing.sorting import Order, SortKey
from pgs_tui.listing.told_apart import told_apart
from pgs_tui.listing.words import alerts, best, loss, model, size, started, state, steps, took
from pgs_tui.widgets.panel import Panel

MARGIN = 2
"""Lines that stay in sight above and below the selected one."""
LOWEST_WITH_HEAD = 6
"""Lines below which the names of the columns are left out."""
SHORTEST_NAME, LONGEST_NAME = 14, 44
SHORTEST_STEPS = 5
NAME_HEAD = "run↓ "
TAG_CELLS = 12
ROLES: dict[str, Role] = {"●": "good", "○": "accent", "‖": "warn", "✔": "text", "■": "text", "✖": "bad", "◇": "accent"}
"""In which role a state stands, by its sign."""


class Column(NamedTuple):
    """A column of the table, how wide it is, and by which order its head is marked."""

    head: str
    cells: int
    sort: SortKey | None = None
    to_the_right: bool = False


STATE = Column("status", 12, "status")
STATE_SIGN = Column("", 2, "status")
LOSS = Column("loss", 8, "loss", to_the_right=True)
OPTIONAL = (
    Column("best", 9, "best", to_the_right=True),
    Column("alerts", 8, "alerts"),
    Column("age", 6, "started", to_the_right=True),
    Column("size", 8, "size", to_the_right=True),
    Column("time", 10, "time", to_the_right=True),
    Column("model", 16, "model"),
)
"""In the order in which they are left out, the last one first."""
PLACES = ("status", "", "model", "steps", "loss", "best", "alerts", "size", "time", "age", "tags")
"""From left to right, behind the name."""


def columns_of(cells: int, longest_name: int, longest_steps: int, has_tags: bool = False) -> tuple[Column, ...]:
    """What of a row fits into so many cells, behind its markers. The name comes first."""
    kept = [STATE if cells >= 46 else STATE_SIGN, Column("steps", longest_steps + 1, "steps", to_the_right=True), LOSS]
    shortest = max(min(SHORTEST_NAME, longest_name + 2), len(NAME_HEAD))
    room = cells - sum(column.cells for column in kept) - shortest
    for column in OPTIONAL:
        if column.cells > room:
            break
        kept.append(column)
        room -= column.cells
    name = shortest + max(min(room, longest_name + 2 - shortest, LONGEST_NAME - shortest), 0)
    room -= name - shortest
    if has_tags and len(kept) == len(OPTIONAL) + 3 and room >= TAG_CELLS:
        kept.append(Column("tags", room))
    kept.sort(key=lambda column: PLACES.index(column.head))
    return (Column("run", max(min(name, cells), 1), "name"), *kept)


class RunList(Panel):
    """`show` gives it the runs; `selected` is the folder of the one that keys act on, whatever moves around it.

    It is the first one until a person selects another.
    """

    def __init__(self, *, id: str) -> None:
        super().__init__(id=id)
        self.rows: tuple[RunRow, ...] = ()
        self.selected: Path | None = None
        self.marked: tuple[Path, ...] = ()
        self.order = Order()
        self.said = "looking for runs"
        """What to say while there is nothing to list."""
        self.filter = ""
        self.total = 0
        """Runs in all, the filtered ones too."""
        self.beside = ""
        """What was seen beside the runs."""
        self._names: dict[Path, str] = {}
        self._first = 0
        self._place = 0
        self._longest = SHORTEST_NAME, SHORTEST_STEPS, False
        """Cells of the longest name and of the longest number of steps, and whether any run has tags."""

    def show(self, rows: Sequence[RunRow]) -> None:
        """List these. The selected one stays; if it is gone, the one in its place is selected."""
        self.rows = tuple(rows)
        self._names = {path: plain(name) for path, name in told_apart(self.rows).items()}
        names = max((width(name) for name in self._names.values()), default=0)
        counts = max((width(steps(row)) for row in self.rows), default=0)
        self._longest = names, max(counts, SHORTEST_STEPS), any(row.labels.tags for row in self.rows)
        place = next((at for at, row in enumerate(self.rows) if row.path == self.selected), None)
        self._place = min(self._place, max(len(self.rows) - 1, 0)) if place is None else place
        self.redraw()

    @property
    def row(self) -> RunRow | None:
        """The selected run."""
        return self.rows[self._place] if self.rows else None

    @property
    def room(self) -> int:
        """Rows that fit."""
        inside = max(self.size.height - 2, 1)
        return inside - 1 if inside >= LOWEST_WITH_HEAD else inside

    @property
    def missing(self) -> tuple[str, ...]:
        """The heads of the columns that there is no room for."""
        there = {column.head for column in self._columns(self.size.width - 4)}
        return tuple(column.head for column in OPTIONAL if column.head not in there)

    def move(self, rows: int) -> bool:
        """Select another one; False at the end of the list."""
        if not self.rows:
            return False
        before, self._place = self._place, min(max(self._place + rows, 0), len(self.rows) - 1)
        self.selected = self.rows[self._place].path
        self.redraw()
        return self._place != before

    def title(self) -> Line:
        return joined([line(("runs", "title")), line((plain(self.filter), "accent"))], " ")

    def value(self) -> Line:
        if not self.rows:
            return ()
        of_all = f" of {whole(self.total)}" if self.filter else ""
        return line((whole(len(self.rows)), "value"), (of_all, "dim"))

    def summary(self) -> Sequence[Line]:
        place = line((f"{self._place + 1}/{len(self.rows)}", "dim")) if self.rows else ()
        marked = line((f"◆ {len(self.marked)} marked", "accent")) if self.marked else ()
        beside = line((plain(self.beside), "dim"))
        return [joined([place, marked, beside], " · "), joined([place, marked], " · "), place]

    def brief(self, width: int) -> Line:
        return self._line(self.row, width, self._columns(width)) if self.row else line((self.said, "dim"))

    def body(self, width: int, height: int) -> Sequence[Line]:
        if not self.rows:
            return [line((text, "dim")) for text in self.said.split("\n")]
        columns = self._columns(width)
        head = [self._head(columns)] if height >= LOWEST_WITH_HEAD else []
        height -= len(head)
        self._keep_in_sight(height)
        return [*head, *(self._line(row, width, columns) for row in self.rows[self._first : self._first + height])]

    def _keep_in_sight(self, height: int) -> None:
        margin = min(MARGIN, (height - 1) // 2)
        self._first = min(max(self._first, self._place + margin - height + 1), self._place - margin)
        self._first = min(max(self._first, 0), max(len(self.rows) - height, 0))

    def _columns(self, cells: int) -> tuple[Column, ...]:
        return columns_of(cells - 3, *self._longest)

    def _head(self, columns: Sequence[Column]) -> Line:
        arrow = "↓" if self.order.is_downwards != (self.order.key == "started") else "↑"  # the column has ages
        spans: list[tuple[str, Role]] = [("   ", "dim")]
        for column in columns:
            is_sorted = column.sort == self.order.key
            text = f"{column.head}{arrow}" if is_sorted and column.head else column.head
            placed = f"{text:>{column.cells - 1}} " if column.to_the_right else f"{text:<{column.cells}}"
            spans.append((placed[: column.cells], "accent" if is_sorted else "dim"))
        return line(*spans)

    def _line(self, row: RunRow, cells: int, columns: Sequence[Column]) -> Line:
        chosen = row is self.row
        marks = line(("›" if chosen else " ", "focus"), ("◆ " if row.path in self.marked else "  ", "accent"))
        name = fit(line((self._names[row.path], "value" if chosen else "text")), max(columns[0].cells - 1, 1))
        head = (*marks, *name, (" ", "text"))
        if not row.is_readable:
            return (*head, *fit(line(("✖ ", "bad"), (plain(row.trouble), "dim")), cells - line_width(head)))
        now = time.time()
        facts = [_placed(self._cell(row, column.head, now), column) for column in columns[1:]]
        return fit((*head, *(span for fact in facts for span in fact)), cells)

    def _cell(self, row: RunRow, head: str, now: float) -> Line:
        match head:
            case "status" | "":
                sign, word = state(row)
                return line((f"{sign} {word}" if head else sign, ROLES.get(sign, "text")))
            case "alerts":
                counted = ((f"{SIGNS[severity][0]}{count}", SIGNS[severity][1]) for severity, count in alerts(row))
                return joined([line(one) for one in counted], " ")
            case "tags":
                return line((plain(" ".join(f"#{tag}" for tag in row.labels.tags)), "accent"))
        role: Role = "value" if head == "loss" else "text"
        texts = {"model": model, "steps": steps, "loss": loss, "best": best, "time": took}
        text = texts[head](row) if head in texts else size(row.size) if head == "size" else started(row, now)
        return line((plain(text), role))


def _placed(cell: Line, column: Column) -> Line:
    """The cell in its column, a blank behind it."""
    room = column.cells - 1
    if column.to_the_right and (missing := room - line_width(cell)) > 0:
        cell = ((" " * missing, "text"), *cell)
    return (*fit(cell, room), (" ", "text"))

"""All that is known of the selected run."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence

from pgs_tui.drawing.lines import Line, Role, joined, line, wrapped
from pgs_tui.drawing.severities import SIGNS
from pgs_tui.format import plain, whole
from pgs_tui.listing.row import RunRow
from pgs_tui.listing.words import (
    NOTHING,
    alerts,
    alerts_in_words,
    best,
    losses_in_words,
    model,
    size,
    started,
    state,
    state_in_words,
    took,
)
from pgs_tui.widgets.details import Details
from pgs_tui.widgets.run_list import ROLES

LABEL = 8
Fact = tuple[str, str, Role]
"""A label, what is told under it, and in which role."""


class RunDetails(Details):
    """First what the list has no room for, then what matters most, for where there is little room; it scrolls."""

    def __init__(self, *, id: str) -> None:
        super().__init__(id=id)
        self._row: RunRow | None = None
        self._missing: tuple[str, ...] = ()
        self._begun: tuple[str, ...] = ()

    def show(self, row: RunRow | None, missing: tuple[str, ...], begun: tuple[str, ...] = ()) -> None:
        """Tell of this run, and first what stands in the `missing` columns; runs went on from it that are `begun`."""
        if self._row is None or row is None or row.path != self._row.path:
            self._from_the_top()
        self._row, self._missing, self._begun = row, missing, begun
        self.redraw()

    def title(self) -> Line:
        return line((plain(self._row.id), "title")) if self._row else ()

    def summary(self) -> Sequence[Line]:
        return [line((plain(self._row.address), "dim"))] if self._row else ()

    def brief(self, width: int) -> Line:
        first = next(iter(self._facts()), None)
        return joined([self.title(), line((first[1], first[2])) if first else ()], "  ")

    def _text(self, cells: int) -> list[Line]:
        dropped = self._dropped()
        facts = [row for fact in self._facts() for row in _told(*fact, cells)]
        return [dropped, *facts] if dropped else facts

    def _dropped(self) -> Line:
        """What the columns would say that the list has no room for."""
        row = self._row
        if row is None or not row.is_readable:
            return ()
        signs = (
            " ".join(f"{SIGNS[severity][0]}{count}" for severity, count in alerts(row))
            or f"alerts {alerts_in_words(row)}"
        )
        age = started(row, time.time())
        said = {
            "best": f"best {best(row).strip()}",
            "alerts": signs or f"alerts {alerts_in_words(row)}",
            "size": size(row.size),
            "time": took(row),
            "model": model(row),
            "age": age if age in (NOTHING, "now") else f"{age} ago",
        }
        shown = [said[head] for head in said if head in self._missing and said[head] not in ("", NOTHING)]
        return line((plain(" · ".join(shown)), "text"))

    def _facts(self) -> Iterator[Fact]:
        row = self._row
        if row is None:
            return
        sign = state(row)[0]
        yield "", f"{sign} {state_in_words(row, time.time())}", ROLES.get(sign, "text")
        if not row.is_readable:
            return
        if row.trouble:
            yield "", f"▲ {plain(row.trouble)}", "warn"
        if row.labels.tags:
            yield "tags", plain(" ".join(f"#{tag}" for tag in row.labels.tags)), "accent"
        if row.labels.note:
            yield "note", plain(row.labels.note), "text"
        yield "loss", losses_in_words(row), "text"
        yield "alerts", alerts_in_words(row), "text"
        yield "takes", self._takes(row), "text"
        yield from self._origin(row)

    def _takes(self, row: RunRow) -> str:
        saved = row.summary.checkpoint if row.summary else None
        parts = (
            f"{size(row.size)} on disk",
            f"checkpoint of step {whole(saved)}" if saved is not None else "" if row.tool else "no checkpoint yet",
            f"{took(row)} at work" if row.seconds is not None or not row.tool else "",
            f"{whole(row.summary.tokens)} tokens" if row.summary and row.summary.tokens else "",
        )
        return " · ".join(part for part in parts if part)

    def _origin(self, row: RunRow) -> Iterator[Fact]:
        summary = row.summary
        if summary is not None and summary.model:
            params = f", {whole(summary.params)} weights" if summary.params else ""
            trained = f", {whole(summary.trainable)} trained" if summary.trainable else ""
            yield "model", plain(f"{summary.model}{params}{trained}"), "text"
        if row.parent:
            yield "from", plain(f"a checkpoint of {row.parent}"), "text"
        if self._begun:
            yield "used by", plain(f"{', '.join(self._begun)}: went on from a checkpoint of this run"), "text"


def _told(label: str, text: str, role: Role, cells: int) -> list[Line]:
    if not label:
        return wrapped(text, max(cells, 8), role)
    rows = wrapped(text, max(cells - LABEL - 1, 8), role)
    return [line((f"{label if place == 0 else '':<{LABEL}} ", "dim"), *row) for place, row in enumerate(rows)]

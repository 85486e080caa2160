"""All that is known of the selected config."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence

from pgs_tui.drawing.lines import Line, Role, joined, line, wrapped
from pgs_tui.format import plain
from pgs_tui.picking.collection import Entry
from pgs_tui.picking.words import RUN_WORDS, code_of, how_it_trains, memory, told_run, what_it_does
from pgs_tui.widgets.config_list import VERDICTS
from pgs_tui.widgets.details import Details

LABEL = 8
Fact = tuple[str, str, Role]
"""A label, what is told under it, and in which role."""


class ConfigDetails(Details):
    """What matters most comes first, for where there is little room; it scrolls."""

    def __init__(self, *, id: str) -> None:
        super().__init__(id=id)
        self._entry: Entry | None = None
        self._here = ""
        self._hopeless = ""

    def show(self, entry: Entry | None, path: str, hopeless: str = "") -> None:
        """Tell of this config, whose file people know as `path`; `hopeless` is why no estimate will come."""
        if self._entry is None or entry is None or entry.path != self._entry.path:
            self._from_the_top()
        self._entry, self._here, self._hopeless = entry, path, hopeless
        self.redraw()

    def title(self) -> Line:
        return line((plain(self._entry.shown), "title")) if self._entry else ()

    def summary(self) -> Sequence[Line]:
        return [line((plain(self._here), "dim"))] if self._entry else ()

    def brief(self, width: int) -> Line:
        first = next(iter(self._facts()), None)
        return joined([self.title(), line((first[1], first[2])) if first else ()], "  ")

    def _text(self, cells: int) -> list[Line]:
        return [row for fact in self._facts() for row in _told(*fact, cells)]

    def _facts(self) -> Iterator[Fact]:
        entry = self._entry
        if entry is None:
            return
        if entry.checked is None:
            yield "", "being read", "dim"
        elif entry.checked.config is None:
            yield from (("✖", problem, "bad") for problem in entry.checked.problems)
        else:
            if entry.runs_code:
                yield "code", f"▲ {code_of(entry.model)}", "warn"
            yield self._memory(entry)
            yield from self._more(entry)
            yield "trains", plain(what_it_does(entry.checked.config)), "text"
        if entry.last_run is not None:
            told = f"{RUN_WORDS[entry.last_run.life][0]} {plain(told_run(entry.last_run, time.time()))}"
            yield "last run", told, "text"
        if entry.checked is not None and entry.checked.config is not None:
            yield "how", plain(how_it_trains(entry.checked.config)), "text"
            yield "model", plain(entry.model), "text"
            yield from (("note", plain(note), "dim") for note in entry.checked.notes)

    def _memory(self, entry: Entry) -> Fact:
        estimate = entry.estimate
        if estimate is None and entry.asks_for_trust:
            return (
                "memory",
                "not worked out, as that would run the model's code: p, i and Enter ask first",
                "dim",
            )
        if estimate is None:
            return "memory", plain(entry.trouble or self._hopeless) or "being worked out", "dim"
        if not estimate.gpu:
            return "memory", f"{memory(entry)} at the peak; there is no GPU here to compare it with", "text"
        sign, role = VERDICTS.get(estimate.verdict.word, ("·", "dim"))
        return "memory", f"{sign} {plain(estimate.verdict.sentence)}", role

    def _more(self, entry: Entry) -> Iterator[Fact]:
        estimate = entry.estimate
        if estimate is None:
            return
        yield from (("", f"▲ {plain(warning)}", "warn") for warning in estimate.verdict.warnings)
        if estimate.gpu and estimate.verdict.word != "fits":
            yield "", "p shows what would make it fit", "dim"


def _told(label: str, text: str, role: Role, cells: int) -> list[Line]:
    rows = wrapped(text, max(cells - LABEL - 1, 8), role)
    return [line((f"{label if place == 0 else '':<{LABEL}} ", "dim"), *row) for place, row in enumerate(rows)]

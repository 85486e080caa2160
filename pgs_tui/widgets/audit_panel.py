"""The audit of all rows, filling in as it runs: findings, trained share by role, lengths."""

from __future__ import annotations

import re
from collections.abc import Sequence

from pgs_tui.drawing.lines import Line, Role, fit, joined, line, line_width, wrapped
from pgs_tui.drawing.severities import SIGNS
from pgs_tui.format import counted, percent, plain, whole
from pgs_tui.inspection.shapes import AuditState, Flag
from pgs_tui.widgets.bars import bar, progress_bar
from pgs_tui.widgets.panel import Panel

_FOLDERS = re.compile(r"/?(?:[^/\s,:;]+/)+(?=[^/\s,:;]+(?:, line |: ))")
"""The folders of a file that a finding begins with: there is no room for them here."""
BAR_CELLS = 18
NARROWEST_FINDINGS = 44
"""Cells that the findings get before roles and lengths stand beside them."""
GAP = "   "


class AuditPanel(Panel):
    """Show its state with `show`. The findings can be walked with `move` while the panel has the focus."""

    def __init__(self, *, id: str) -> None:
        super().__init__(id=id)
        self.state: AuditState | None = None
        self._selected = 0

    def show(self, state: AuditState) -> None:
        """Show how far it is and what it found."""
        if state != self.state:
            self.state = state
            self.redraw()

    def move(self, step: int) -> None:
        """Go to another finding."""
        count = len(self.state.flags) if self.state else 0
        self._selected = min(max(self._selected + step, 0), max(count - 1, 0))
        self.redraw()

    @property
    def selected(self) -> Flag | None:
        """The finding that is marked."""
        flags = self.state.flags if self.state else ()
        return flags[min(self._selected, len(flags) - 1)] if flags else None

    def title(self) -> Line:
        return line(("audit", "title"))

    def value(self) -> Line:
        state = self.state
        if state is None:
            return line(("not begun", "dim"))
        if state.error:
            return line(("✖ stopped", "bad"))
        if state.finished:
            return line(("✔ ", "good"), (f"{counted(state.done, 'row')}{_findings_of(state)}", "text"))
        share = state.done / state.total if state.total else 0.0
        return joined([progress_bar(share, BAR_CELLS), line((percent(share), "text"))], " ")

    def summary(self) -> Sequence[Line]:
        if self.has_focus and self.selected is not None:
            whole_message = line((plain(_FOLDERS.sub("", self.selected.message)), "text"))
            return [joined([whole_message, line(("Enter shows these rows", "dim"))]), whole_message]
        state = self.state
        packs = line((f"packs are {percent(state.fill)} full", "dim")) if state and state.fill is not None else ()
        roles = line(("a role's tokens include its headers, which are never trained", "dim"))
        return [joined([roles, packs]), packs] if state and state.roles else [packs]

    def brief(self, width: int) -> Line:
        return joined([self.title(), self.value(), self._counts()], "  ")

    def body(self, width: int, height: int) -> Sequence[Line]:
        state = self.state
        if state is None or height < 1:
            return []
        if state.error:
            return wrapped(plain(state.error), width, "bad")[:height]
        sides = [side for side in (self._roles(state, height), self._lengths(state, height)) if side]
        while sides and width - _breadths(sides) < NARROWEST_FINDINGS:
            sides.pop()
        room = width - _breadths(sides)
        rows = self._findings(room, height)
        lines = []
        for number in range(height):
            left = fit(rows[number] if number < len(rows) else (), room)
            beside = [fit(side[number] if number < len(side) else (), _breadth(side)) for side in sides]
            lines.append(joined([left, *beside], GAP))
        return lines

    def _counts(self) -> Line:
        """The findings in short."""
        if self.state is None:
            return ()
        if not self.state.flags:
            return line(("nothing found", "dim")) if self.state.finished else ()
        return joined(
            [
                line((f"{_sign(flag)[0]} {plain(flag.code)} ", _sign(flag)[1]), (whole(flag.count), "text"))
                for flag in self.state.flags[:4]
            ],
            "  ",
        )

    def _findings(self, width: int, height: int) -> list[Line]:
        assert self.state is not None
        flags = self.state.flags
        if not flags:
            said = "nothing to complain about" if self.state.finished else "nothing found so far"
            return [line((said, "good" if self.state.finished else "dim"))]
        selected = min(self._selected, len(flags) - 1)
        first = max(min(selected - height // 2, len(flags) - height), 0)
        broad = max(len(whole(flag.count)) for flag in flags)
        return [self._finding(flag, broad, self.has_focus and place == selected) for place, flag in enumerate(flags)][
            first : first + height
        ]

    def _finding(self, flag: Flag, broad: int, chosen: bool) -> Line:
        sign, role = _sign(flag)
        marker = line(("› " if chosen else "  ", "focus"))
        return (
            *marker,
            *line(
                (f"{sign} ", role),
                (f"{whole(flag.count):>{broad}} ", "value"),
                (plain(flag.code), role),
                (f"  {plain(_FOLDERS.sub('', flag.message))}", "dim"),
            ),
        )

    def _roles(self, state: AuditState, height: int) -> list[Line]:
        """Trained share by role, most tokens first."""
        roles = sorted(state.roles, key=lambda one: -one[1])[: height - 1]
        if not roles:
            return []
        broad = max(len(plain(role)) for role, _, _ in roles)
        lines = [line((f"{'trained':<{broad}}", "dim"))]
        for role, tokens, loss_tokens in roles:
            share = loss_tokens / tokens if tokens else 0.0
            lines.append(
                line(
                    (f"{plain(role):<{broad}} ", "text"),
                    (f"{bar(share, 8):<8}", "good"),
                    (f" {percent(share):>5}", "value"),
                )
            )
        return lines

    def _lengths(self, state: AuditState, height: int) -> list[Line]:
        """Rows by length; where there is no room for all, the shortest ones together."""
        lengths = [one for one in state.lengths if one[1]]
        shorter, lengths = lengths[: 2 - height], lengths[2 - height :]
        if not lengths:
            return []
        if shorter:
            lengths = [(shorter[-1][0], sum(rows for _, rows in shorter)), *lengths]
        most = max(rows for _, rows in lengths)
        broad = max(len(whole(up_to)) for up_to, _ in lengths)
        return [
            line(("tokens, rows", "dim")),
            *[
                line(
                    (f"≤ {whole(up_to):>{broad}} ", "text"),
                    (f"{bar(rows / most, 8):<8}", "accent"),
                    (f" {whole(rows):>6}", "value"),
                )
                for up_to, rows in lengths
            ],
        ]


def _findings_of(state: AuditState) -> str:
    count = len(state.flags)
    return f" · {whole(count)} {'finding' if count == 1 else 'findings'}" if count else ""


def _sign(flag: Flag) -> tuple[str, Role]:
    return SIGNS.get(flag.severity, SIGNS["warning"])


def _breadth(side: Sequence[Line]) -> int:
    return max((line_width(row) for row in side), default=0)


def _breadths(sides: Sequence[Sequence[Line]]) -> int:
    """Cells that the sides take, with the gaps in front of them."""
    return sum(_breadth(side) + len(GAP) for side in sides)

"""The phases of a step side by side: what the highest moment of each consists of, and which one decides."""

from __future__ import annotations

from collections.abc import Sequence

from textual.geometry import Size

from pgs_tui.drawing.lines import Line, fit, joined, line
from pgs_tui.format import gib, plain
from pgs_tui.profiling.shapes import Phase, Profile
from pgs_tui.widgets.bars import scaled_bar
from pgs_tui.widgets.component_colours import parts_of
from pgs_tui.widgets.panel import Panel

NAME_CELLS, SHORT_NAME_CELLS = 15, 10
NARROW = 38
"""Cells below which the short names are taken."""
AMOUNT_CELLS = 7
FEWEST = 4
"""Phases of a step with release."""
MARK = " ◂ decides"


class PhaseBars(Panel):
    """Show an estimate with `show`. Where there is no room for all phases, the highest ones are shown."""

    def __init__(self, *, id: str) -> None:
        super().__init__(id=id)
        self._profile: Profile | None = None

    def show(self, profile: Profile | None) -> None:
        """Show the phases of this estimate."""
        if profile == self._profile:
            return
        count = self._count
        self._profile = profile
        self.redraw()
        if count != self._count:
            self.refresh(layout=True)

    @property
    def _count(self) -> int:
        return len(self._profile.phases) if self._profile else FEWEST

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        """How high it wants to be."""
        return self._count + 2

    def title(self) -> Line:
        return line(("phases of a step", "title"))

    def value(self) -> Line:
        return line((plain(self._profile.decides), "value"), (" decides", "dim")) if self._profile else ()

    def brief(self, width: int) -> Line:
        peaks = [
            line((f"{plain(one.name)} ", "dim"), (gib(one.peak), "value" if self._decides(one) else "text"))
            for one in (self._profile.phases if self._profile else ())
        ]
        return joined([self.title(), *peaks], "  ")

    def body(self, width: int, height: int) -> Sequence[Line]:
        if self._profile is None:
            return [line(("no estimate yet", "dim"))]
        return [self._row(phase, width) for phase in self._chosen(height)]

    def _chosen(self, height: int) -> list[Phase]:
        assert self._profile is not None
        phases = self._profile.phases
        highest = sorted(phases, key=lambda one: (not self._decides(one), -one.peak))[:height]
        return [phase for phase in phases if phase in highest]

    def _decides(self, phase: Phase) -> bool:
        return self._profile is not None and phase.name == self._profile.decides

    def _row(self, phase: Phase, width: int) -> Line:
        profile = self._profile
        assert profile is not None
        decides = self._decides(phase)
        mark = MARK if width >= 60 else " ◂"
        name_cells = SHORT_NAME_CELLS if width < NARROW else NAME_CELLS
        cells = max(width - name_cells - AMOUNT_CELLS - len(mark), 0)
        whole = max(profile.gpu.total if profile.gpu else 0.0, max(one.peak for one in profile.phases))
        named = phase.name.removesuffix(" of step") if width < NARROW else phase.name
        name = fit(line((plain(named), "value" if decides else "text")), name_cells)
        amount = line((f"{phase.peak:>{AMOUNT_CELLS}.2f}", "value" if decides else "text"))
        return (
            *name,
            *scaled_bar(parts_of(phase.parts), whole, cells),
            *amount,
            *line((mark if decides else "", "key")),
        )

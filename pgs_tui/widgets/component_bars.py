"""A bar for each part of a run's memory, against the GPU's size, and beside it the same part in every phase."""

from __future__ import annotations

from collections.abc import Sequence

from pgs_tui.drawing.lines import Line, fit, joined, line
from pgs_tui.format import gib, percent, plain
from pgs_tui.profiling.shapes import Measured, Profile
from pgs_tui.widgets.bars import Part, bar
from pgs_tui.widgets.component_colours import parts_of
from pgs_tui.widgets.panel import Panel

NAME_CELLS = 16
AMOUNT_CELLS = 6
PHASE_CELLS = 9
SHORTEST_BAR = 8
"""Cells that the bars keep beside the columns."""
NARROW = 38
"""Cells below which the short names are taken."""
SHORT_NAMES = {
    "optimizer state": "optimizer",
    "layer inputs": "inputs",
    "kept activations": "kept",
    "layer at work": "layer",
    "loss and logits": "loss",
}


class ComponentBars(Panel):
    """Show an estimate with `show`, and what was measured for it."""

    def __init__(self, *, id: str) -> None:
        super().__init__(id=id)
        self._profile: Profile | None = None
        self._measured: Measured | None = None

    def show(self, profile: Profile | None, measured: Measured | None) -> None:
        """Show the parts of this estimate."""
        if (profile, measured) != (self._profile, self._measured):
            self._profile, self._measured = profile, measured
            self.redraw()

    def title(self) -> Line:
        where = f"  at the peak, in {plain(self._profile.decides)}" if self._profile else ""
        return line(("components", "title"), (where, "dim"))

    def value(self) -> Line:
        if self._profile is None:
            return ()
        return line((f"{gib(self._profile.peak)} GiB", "value"))

    def summary(self) -> Sequence[Line]:
        profile, measured = self._profile, self._measured
        if measured is not None and profile is not None:
            return self._truth(profile, measured)
        if profile is None or profile.gpu is None:
            return ()
        return [line((f"a whole bar is {gib(profile.gpu.total)} GiB, the GPU's size", "dim"))]

    def body(self, width: int, height: int) -> Sequence[Line]:
        profile = self._profile
        if profile is None:
            return [line(("no estimate yet", "dim"))]
        parts = parts_of(profile.components)
        if len(parts) > height:
            parts = tuple(part for part in parts if part.amount >= 0.005)
        phases = self._columns(width) if self._measured is None else 0
        rows = [self._row(part, width, phases) for part in parts]
        if self._measured is not None and self._measured.components and height > len(rows):
            return [self._heading_measured(width), *rows][:height]
        if phases and height > len(rows) + 1:
            return [self._heading(width, phases), *rows, self._peaks(width, phases)]
        return rows[:height]

    def _columns(self, width: int) -> int:
        """How many phases have room beside the bars; all or none."""
        assert self._profile is not None
        count = len(self._profile.phases)
        return count if self._bar_cells(width, count * PHASE_CELLS) >= SHORTEST_BAR else 0

    def _bar_cells(self, width: int, beside: int) -> int:
        return max(width - _name_cells(width) - AMOUNT_CELLS - beside - 1, 0)

    def _row(self, part: Part, width: int, phases: int) -> Line:
        profile = self._profile
        assert profile is not None
        whole = profile.gpu.total if profile.gpu else profile.total
        beside = self._beside(part, phases)
        cells = self._bar_cells(width, sum(len(text) for text, _ in beside))
        amount = line((f"{_amount(part.amount):>{AMOUNT_CELLS}}", "value" if part.amount >= 0.005 else "dim"))
        named = SHORT_NAMES.get(part.name, part.name) if width < NARROW else part.name
        name = fit(line((plain(named), "text")), _name_cells(width))
        full = bar(part.amount / whole if whole > 0 else 0.0, cells)
        drawn = line((full, part.role), ("░" * (cells - len(full)), "frame"))
        return (*name, *drawn, (" ", "text"), *amount, *beside)

    def _beside(self, part: Part, phases: int) -> Line:
        profile = self._profile
        assert profile is not None
        if self._measured is not None and self._measured.components:
            return self._measured_beside(part)
        columns = [
            (phase.parts.get(part.name, 0.0), phase.name == profile.decides) for phase in profile.phases[:phases]
        ]
        return line(*((f"{_amount(one):>{PHASE_CELLS}}", "value" if decides else "dim") for one, decides in columns))

    def _measured_beside(self, part: Part) -> Line:
        assert self._measured is not None
        found = self._measured.components.get(part.name)
        if found is None:
            return line((f"{'–':>{PHASE_CELLS}}{'':>{AMOUNT_CELLS + 1}}", "dim"))
        return line((f"{_amount(found):>{PHASE_CELLS}}", "value"), (f"{_off(part.amount, found):>7}", "dim"))

    def _heading_measured(self, width: int) -> Line:
        cells = self._bar_cells(width, PHASE_CELLS + 7)
        return line(
            (
                f"{'':{_name_cells(width) + cells + 1}}{'est.':>{AMOUNT_CELLS}}{'measured':>{PHASE_CELLS}}{'off':>7}",
                "dim",
            )
        )

    def _heading(self, width: int, phases: int) -> Line:
        profile = self._profile
        assert profile is not None
        cells = self._bar_cells(width, phases * PHASE_CELLS)
        head = line((f"{'':{_name_cells(width) + cells + 1}}{'GiB':>{AMOUNT_CELLS}}", "dim"))
        names = [(_short(phase.name), phase.name == profile.decides) for phase in profile.phases[:phases]]
        return (*head, *line(*((f"{name:>{PHASE_CELLS}}", "value" if own else "dim") for name, own in names)))

    def _peaks(self, width: int, phases: int) -> Line:
        profile = self._profile
        assert profile is not None
        cells = self._bar_cells(width, phases * PHASE_CELLS)
        head = line(
            (f"{'together':{_name_cells(width) + cells + 1}}", "dim"),
            (f"{_amount(profile.peak):>{AMOUNT_CELLS}}", "value"),
        )
        peaks = [(phase.peak, phase.name == profile.decides) for phase in profile.phases[:phases]]
        columns = ((f"{'▸' if own else ''}{_amount(peak)}", own) for peak, own in peaks)
        return (*head, *line(*((f"{text:>{PHASE_CELLS}}", "value" if own else "text") for text, own in columns)))

    def _truth(self, profile: Profile, measured: Measured) -> list[Line]:
        if not measured.fits:
            return [line(("✖ ", "bad"), (measured.sentence or "measured: it does not fit", "bad"))]
        parts = [
            line((f"{name} ", "dim"), (f"{_amount(found)} measured", "text"), (f" {_off(estimate, found)}", "dim"))
            for name, estimate, found in (
                ("peak", profile.peak, measured.peak),
                ("reserved", profile.reserved, measured.reserved),
            )
            if found is not None
        ]
        return [joined(parts, " · "), *parts[:1]]


def _name_cells(width: int) -> int:
    return 10 if width < NARROW else NAME_CELLS + 1


def _amount(amount: float) -> str:
    return f"{amount:.2f}" if abs(amount) < 99.995 else f"{amount:.1f}"


def _off(estimate: float, measured: float) -> str:
    """By how much the estimate misses: `+1.2 %`."""
    return f"{estimate / measured - 1:+.1%}".replace("%", " %") if measured > 0 else percent(None)


def _short(name: str) -> str:
    """A phase's name for the head of its column."""
    known = {"start of step": "start", "embedding": "embed.", "optimizer": "optim."}
    return plain(known.get(name, name))[: PHASE_CELLS - 1]

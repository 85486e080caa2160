"""What a step and the run take: tokens, floating-point operations, time, money."""

from __future__ import annotations

from collections.abc import Sequence

from pgs_tui.drawing.lines import Line, joined, line, line_width
from pgs_tui.format import duration, percent, seconds, value, whole
from pgs_tui.profiling.shapes import Profile, Work
from pgs_tui.widgets.panel import Panel


class WorkPanel(Panel):
    """Show an estimate with `show`."""

    def __init__(self, *, id: str) -> None:
        super().__init__(id=id)
        self._profile: Profile | None = None

    def show(self, profile: Profile | None) -> None:
        """Show what this estimate says of the work."""
        if profile != self._profile:
            self._profile = profile
            self.redraw()

    def title(self) -> Line:
        return line(("work", "title"))

    def brief(self, width: int) -> Line:
        return joined([self.title(), *(_facts(self._profile.work) if self._profile else [])], "  ")

    def summary(self) -> Sequence[Line]:
        count = len(self._profile.assumptions) + len(self._profile.work.assumptions) if self._profile else 0
        return [line((f"a: the {count} assumptions behind all this", "dim"))] if count else ()

    def body(self, width: int, height: int) -> Sequence[Line]:
        profile = self._profile
        if profile is None:
            return [line(("no estimate yet", "dim"))]
        share = profile.trained / profile.parameters if profile.parameters else None
        trained = line(
            ("trains ", "dim"), (_count(profile.trained), "value"), (f" of {_count(profile.parameters)} weights", "dim")
        )
        facts = [joined([trained, line((percent(share), "text"))], "  "), *_facts(profile.work)]
        return _flowing(facts, width)[:height]


def _facts(work: Work) -> list[Line]:
    """What is known, the most important first."""
    facts: list[Line] = []
    if work.tokens_per_step is not None:
        facts.append(line((whole(work.tokens_per_step), "value"), (" tokens a step", "dim")))
    if work.tok_s is not None:
        facts.append(line(("≈ ", "dim"), (whole(work.tok_s), "value"), (" tok/s", "dim")))
    if work.seconds_per_step is not None:
        facts.append(line(("≈ ", "dim"), (seconds(work.seconds_per_step), "value"), (" a step", "dim")))
    if work.total_steps is not None:
        facts.append(line((whole(work.total_steps), "value"), (" steps", "dim")))
    if work.seconds is not None:
        facts.append(line(("≈ ", "dim"), (duration(work.seconds), "value"), (" in all", "dim")))
    if work.dollars is not None:
        facts.append(line(("≈ $", "dim"), (f"{work.dollars:.2f}", "value")))
    if work.steps_per_epoch is not None:
        facts.append(line((whole(work.steps_per_epoch), "text"), (" steps an epoch", "dim")))
    if work.flops_per_step is not None:
        facts.append(line((value(work.flops_per_step / 1e12, 3), "text"), (" TFLOP a step", "dim")))
    return facts


def _flowing(facts: Sequence[Line], width: int) -> list[Line]:
    """The facts one after the other, in lines that they fit into."""
    rows: list[Line] = []
    for fact in facts:
        longer = joined([rows[-1], fact], " · ") if rows else ()
        if longer and line_width(longer) <= width:
            rows[-1] = longer
        else:
            rows.append(fact)
    return rows


def _count(number: int) -> str:
    return f"{number / 1e9:.2f} B" if number >= 1e9 else f"{number / 1e6:.1f} M"

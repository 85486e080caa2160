"""A chart taken out of the screen: its curves, and all the words that stand around them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from pgs_tui.drawing.curves import Curves
from pgs_tui.panel_names import WORDS, PanelName
from screens.dashboard.live import LiveRun
from screens.dashboard.readings.looking import AXIS_WORDS, Looking

UNITS: dict[PanelName, str] = {"tok_s": "tokens a second", "dt": "seconds a step", "memory_over_steps": "GiB"}
"""What the y axis counts, where it does not go without saying."""


@dataclass(frozen=True, slots=True)
class Picture:
    """`curves` reduces the data to a number of columns; None before the first step, and then `empty` says so."""

    run: str
    name: PanelName
    value: str
    note: str
    summary: str
    x_words: str
    log: bool
    curves: Callable[[int], Curves] | None
    empty: str
    heading: str = ""
    """What the chart shows, where that is no panel's."""

    @property
    def title(self) -> str:
        """What the chart shows, with its unit."""
        if self.heading:
            return self.heading
        unit = UNITS.get(self.name, "")
        return WORDS[self.name] + (f" ({unit})" if unit else "")


def picture_of(live: LiveRun, looking: Looking, name: PanelName, log: bool) -> Picture:
    """The chart of that name, for what is looked at."""
    view = live.chart(name, looking)
    return Picture(
        run=live.run_id,
        name=name,
        value=view.value,
        note=" · ".join(part for part in (view.note, "log axis" if log else "") if part),
        summary=view.summary[0] if view.summary else "",
        x_words=AXIS_WORDS[looking.view.axis],
        log=log,
        curves=view.curves,
        empty=view.empty,
    )

"""Which part of the run the charts show, and what is told of the step under the cursor."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from pgs_tui.history.axis import AXES
from pgs_tui.view import View
from screens.dashboard.showing import DashboardShowing
from screens.view_keys import ViewKeys

if TYPE_CHECKING:
    from pgs_tui.view import Ground


class DashboardLooking(ViewKeys, DashboardShowing):
    """The keys that change the view: each changes the value `view`, and what it shows is drawn once after them all."""

    all_is_seen = "this is the whole run"

    def action_follow(self) -> None:
        """The newest steps from now on, or what is seen now."""
        self.change_view(lambda view, ground: view.following(ground))
        if self.view.window is None:
            self.say("the whole run is shown, and its newest step with it")
        else:
            self.say("the newest steps are followed" if self.view.follow else "this part of the run stays")

    def action_axis(self) -> None:
        """The next x axis: the same steps, by their number, tokens, time or epoch."""
        from screens.dashboard.readings.looking import AXIS_WORDS, ground_of

        axis = AXES[(AXES.index(self.view.axis) + 1) % len(AXES)]
        before = self._ground()
        after = ground_of(self.live.history, axis) if self.live is not None else None
        if before is None or after is None:
            self.look_at(replace(self.view, axis=axis))
        else:
            self.look_at(self.view.on_axis(axis, before, after))
        self.rearrange(replace(self.arrangement, axis=axis))
        self.say(f"x axis: {AXIS_WORDS[axis]}")

    def to_the_first_step(self) -> None:
        """The cursor to where the run begins."""
        self.change_view(lambda view, ground: view.at_start(ground))

    def to_the_newest_step(self) -> None:
        """No cursor: the newest values, which a window follows."""
        self.change_view(lambda view, _: view.at_end(), "the newest values are shown")

    def put_cursor(self, step: int) -> bool:
        """The cursor to this step; False before the first step."""
        self.change_view(lambda view, ground: view.at(step, ground))
        return self.view.cursor is not None

    def out_of_the_view(self) -> bool:
        """Leave the cursor, else the zoom; False where there was neither."""
        if self.view.cursor is not None:
            self.to_the_newest_step()
        elif self.view.window is not None:
            self.change_view(lambda view, _: view.all())
        else:
            return False
        return True

    def move_cursor(self, columns: int) -> None:
        cells = self.curve_cells()
        self.change_view(lambda view, ground: view.moved(columns, cells, ground))

    def pan(self, share: float) -> None:
        if self.view.window is None:
            self.say("the whole run is shown; + goes closer")
        else:
            self.change_view(lambda view, ground: view.panned(share, ground), "here the run ends")

    def change_view(self, change: Callable[[View, Ground], View], unchanged: str = "") -> None:
        """Change the view; where that changes nothing, say why."""
        ground = self._ground()
        if ground is None:
            self.say("there is no step yet to look at")
            return
        view = change(self.view, ground)
        if view != self.view:
            self.look_at(view)
        elif unchanged:
            self.say(unchanged)

    def _ground(self) -> Ground | None:
        from screens.dashboard.readings.looking import ground_of

        return ground_of(self.live.history, self.view.axis) if self.live is not None else None

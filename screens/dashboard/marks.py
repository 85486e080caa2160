"""From mark to mark on the curves, from alert to alert, and to the tokens behind them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.message import Message

from screens.dashboard.looking import DashboardLooking

if TYPE_CHECKING:
    from engine.incidents import Incident
    from pgs_tui.history.mark import Mark
    from pgs_tui.history.marks import Marks
    from pgs_tui.inspection.spike_record import SpikeRecord
    from screens.dashboard.live import LiveRun

MOST_ROWS_TOLD = 5


class DashboardMarks(DashboardLooking):
    """`n` and `N` walk whatever is marked, in the order of the steps; Enter opens the data of the step.

    A step is one stop, but that each of its incidents is one: the gravest first, and last on the way back.
    """

    class Inspecting(Message, namespace="dashboard_screen"):
        """The person wants to see data: all of it, the `rows` of a step, or the recorded batch of the step `spike`."""

        def __init__(self, rows: tuple[int, ...] = (), spike: int | None = None, step: int | None = None) -> None:
            super().__init__()
            self.rows = rows
            self.spike = spike
            self.step = step

    _mark: Mark | None = None
    """The mark that the last key went to, until the view changes otherwise."""

    def action_next_mark(self) -> None:
        self._walk(1)

    def action_previous_mark(self) -> None:
        self._walk(-1)

    def action_next_alert(self) -> None:
        self._walk_alerts(1)

    def action_previous_alert(self) -> None:
        self._walk_alerts(-1)

    def action_enter(self) -> None:
        """Open the data of the step: of the alert that is being read, or that under the cursor."""
        if self.live is None:
            self.say("there is no run yet whose data could be looked at")
            return
        alert = self.alerts.selected
        if alert is None and self.view.cursor is None and self.focused is self.alerts:
            alert = self.alerts.newest
        if alert is None and self.view.cursor is None:
            self.say("n goes to a mark, ← and → to any step; Enter then opens its data")
        else:
            self._open(alert)

    def select_alert(self, by: int) -> None:
        """Read the next alert in the list, or the one before."""
        if self.alerts.select(by) is None:
            self.say("no alerts so far")
        else:
            self._mark = None
            self.read_alert(True)

    def close_alerts(self) -> None:
        """Read no alert any more."""
        self.alerts.close()
        self.read_alert(False)

    def leave_the_mark(self) -> bool:
        """Out of the alert that is being read; what `n` brought goes with one key. False where none is read."""
        if self.alerts.selected is None:
            return False
        self.close_alerts()
        if self._mark is not None:
            self.to_the_newest_step()
        return True

    def view_changed(self) -> None:
        super().view_changed()
        self._mark = None

    def _walk_alerts(self, by: int) -> None:
        """Past all marks that are no alert's, the cursor on the step where it was told."""
        self.select_alert(by)
        alert = self.alerts.selected
        if alert is None or alert.step is None or self.live is None:
            return
        mark = next((one for one in self.live.history.marks.at(alert.step) if one.incident_id == alert.id), None)
        if mark is not None:
            self._go_to(mark)

    def _walk(self, by: int) -> None:
        marks = self.live.history.marks if self.live is not None else None
        if marks is None or not self.live or not self.live.history.steps:
            self.select_alert(by)  # what is wrong with the data is told before the first step
            return
        here = self._mark.step if self._mark is not None else self.view.cursor
        mark = marks.newest() if here is None else self._beside(marks, by) or _from(marks, here, by)
        if mark is not None:
            self._go_to(mark)
        elif here is None:
            self.say("nothing is marked so far")
        else:
            self.say("no later mark; N goes back" if by > 0 else "no earlier mark; n goes on")

    def _beside(self, marks: Marks, by: int) -> Mark | None:
        """Another mark of the step where the last key went to, None where there are no more of them that way."""
        if self._mark is None:
            return None
        stops = marks.stops(self._mark.step)
        known = [(mark.kind, mark.incident_id) for mark in stops]
        now = (self._mark.kind, self._mark.incident_id)
        place = known.index(now) + by if now in known else -1
        return stops[place] if 0 <= place < len(stops) else None

    def _go_to(self, mark: Mark) -> None:
        self.put_cursor(mark.step)
        if mark.incident_id is not None and self.alerts.choose(mark.incident_id) is not None:
            self.read_alert(True)
        elif self.alerts.selected is not None:
            self.close_alerts()
        self._mark = mark

    def _open(self, alert: Incident | None) -> None:
        assert self.live is not None, "somebody looks at a run"
        step = self._mark.step if self._mark is not None else self.view.cursor
        if alert is not None and not self.live.touches(alert, step):
            step = alert.step  # where an audit's finding is marked, it was only told
        not_here = self.live.why_not("inspect")
        if step is not None and self.live.source.has_spike(step):
            if not_here:
                self._fetch_spike(self.live, step)
            else:
                self.post_message(self.Inspecting(spike=step))
        elif rows := self.live.rows_of(step, alert):
            if not_here:
                told = ", ".join(map(str, rows[:MOST_ROWS_TOLD])) + (" …" if len(rows) > MOST_ROWS_TOLD else "")
                self.explain(f"rows {told}: {not_here}")
            else:
                self.post_message(self.Inspecting(rows=rows, step=step))
        elif alert is not None:
            self.say("this alert is about no rows in particular")
        else:
            self.say("the rows of this step are not known: its line in the log was replaced, or tells none")

    def _fetch_spike(self, live: LiveRun, step: int) -> None:
        """Bring the record of a step from where it is, and show it as it stands there."""
        self.say(f"the batch of step {step} is being fetched")
        self.run_worker(lambda: self._bring_spike(live, step), thread=True, group="spike", exclusive=True)

    def _bring_spike(self, live: LiveRun, step: int) -> None:
        from pgs_tui.inspection.spike_record import SpikeRecordError, read_spike_record

        try:
            is_there = live.source.bring_spike(step)
            record = read_spike_record(live.run.spike(step)) if is_there else None
        except (OSError, SpikeRecordError) as error:
            self.app.call_from_thread(self.say, f"the batch of step {step} cannot be shown: {error}", "bad")
            return
        self.app.call_from_thread(self._show_spike, live, step, record)

    def _show_spike(self, live: LiveRun, step: int, record: SpikeRecord | None) -> None:
        from screens.dashboard.remote_spike import RemoteSpike

        if record is None:
            self.say(f"the batch of step {step} was not recorded")
        elif self.is_current:
            self.app.push_screen(RemoteSpike(record, live.run.config_yaml, live.source.where, self.key_bar.glyphs))


def _from(marks: Marks, step: int, by: int) -> Mark | None:
    """Where to stop next, coming from a step."""
    if by > 0:
        return marks.after(step)
    before = marks.before(step)
    return marks.stops(before.step)[-1] if before is not None else None

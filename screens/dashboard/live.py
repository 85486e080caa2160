"""A run as the dashboard shows it: takes in its news, says what the panels show, passes on what the person wants."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Literal

from engine.events import Ack, Stamped
from engine.incidents import Incident
from engine.rundir import read_run_info
from pgs_tui.drawing.lines import Role
from pgs_tui.history.history import History
from pgs_tui.key_tables.key import Need
from pgs_tui.runs.follow import Update
from pgs_tui.runs.source import LocalRun
from pgs_tui.view import View
from pgs_tui.widgets.chart_panel import ChartView
from pgs_tui.widgets.cursor_line import CursorReading
from pgs_tui.widgets.gpu_panel import GpuView
from pgs_tui.widgets.memory_panel import MemoryView
from pgs_tui.widgets.parts_panel import PartsView
from pgs_tui.widgets.rank_panel import RanksView
from pgs_tui.widgets.status_line import Status
from screens.dashboard.commands import Commands
from screens.dashboard.intake import Intake
from screens.dashboard.readings.banner import banner_of
from screens.dashboard.readings.charts import CHARTS, is_told
from screens.dashboard.readings.cursor import cursor_reading
from screens.dashboard.readings.farewell import farewell_of
from screens.dashboard.readings.gpus import gpus_of
from screens.dashboard.readings.looking import Looking, ground_of, looking_at
from screens.dashboard.readings.memory import memory_of
from screens.dashboard.readings.parts import parts_of
from screens.dashboard.readings.ranks import ranks_of
from screens.dashboard.readings.situation import Outcome, Situation
from screens.dashboard.readings.status import status_changes_in, status_of
from screens.needs import lacking_at, why_not

if TYPE_CHECKING:  # what the first charts do not need is imported after them
    from engine.events.control_line import CommandName
    from pgs_tui.runs.alarm import Watchman
    from pgs_tui.runs.source import Source

NOT_TOLD = "its log does not tell this"
"""What another tool's log has no numbers for."""


class LiveRun:
    """`take` updates in the order in which they come; the rest can be asked at any time."""

    def __init__(
        self,
        source: Source,
        clock: Callable[[], float] = time.time,
        readonly: bool = False,
        again: str = "attach",
    ) -> None:
        """`clock` is this machine's, or that of a run which is played. With `readonly` nothing is written from here.

        `again` is the command of pgs-tui that comes back to it.
        """
        self.source = source
        self.run = source.run
        self.readonly = readonly
        self._again = again
        self._clock = clock
        self._since = clock()
        self._begun = source.begun if isinstance(source, LocalRun) else None
        self._intake = Intake(source.run.events)
        self._commands = Commands(source)
        self._update = Update()
        self._sees_present = False
        """What goes on now is known already while the run's past is still being fetched."""
        self._host: str | None = None

    @classmethod
    def of(cls, source: Source, readonly: bool = False) -> LiveRun:
        """The run of a source, by its own clock where it is played."""
        if "clock" in source.abilities:
            return cls(source, readonly=readonly)
        from pgs_tui.replaying.played_time import played_time_of

        return cls(source, played_time_of(source) or time.time, readonly, again="replay")

    @property
    def history(self) -> History:
        """What the panels show: all that is known, or a survey of it while that is being read."""
        return self._intake.shown

    @property
    def is_here(self) -> bool:
        """True where `run` is the run's own folder, and not one that mirrors it."""
        return "inspect" in self.source.abilities

    @property
    def run_id(self) -> str:
        """The run's own id, wherever its folder is."""
        if self.is_here:
            return self.run.id
        info = read_run_info(self.run)
        return info.id if info is not None else self.source.name

    @property
    def folder(self) -> str:
        """Where the run is, as a person would name it."""
        return str(self.run.path) if self.is_here else self.source.address

    @property
    def going(self) -> bool:
        """True until the run has ended, as far as is known."""
        return self._situation().outcome == "running"

    @property
    def outcome(self) -> Outcome | Literal["unknown"]:
        """How the run ended, that it has not, or that nobody here can tell."""
        situation = self._situation()
        return "unknown" if situation.outcome == "running" and situation.is_untold else situation.outcome

    @property
    def age(self) -> float | None:
        """How many seconds ago the newest event was written; None without one."""
        last = self.history.last_t
        return max(self._situation().now - last, 0.0) if last is not None else None

    @property
    def version(self) -> tuple[int, int, bool]:
        """Another one whenever the charts may have something else to show."""
        return id(self.history), self.history.version, self.going

    @property
    def paused(self) -> bool:
        """True while it waits until somebody lets it go on."""
        phase = self.history.phase
        return phase is not None and phase.name == "paused"

    @property
    def loading(self) -> bool:
        """True while the run's past is still being read."""
        return self._update.loading

    @property
    def trouble(self) -> str | None:
        """Why its log cannot be read at the moment."""
        return self._update.trouble

    @property
    def exit_code(self) -> int:
        """What the run's end means for the exit code of whoever watched it; 0 while it goes on."""
        end = self.history.end if not self._is_awaited else None
        return end.exit_code if end is not None else 0 if self.going else 1

    def take(self, update: Update) -> None:
        """Take in news."""
        self._update = update
        self._sees_present = update.preview or (self._sees_present and update.loading)
        self._intake.take(update)
        since = self._since + (update.link.skew if update.link is not None else 0.0)
        for stamped in (*update.columns, *update.events):
            if isinstance(stamped, Stamped) and isinstance(stamped.event, Ack) and stamped.t >= since:
                self._commands.hear(stamped.event)

    def notes(self) -> tuple[str, ...]:
        """Sentences about what could not belong to the run, since they were asked for last."""
        return self._intake.read.notes()

    def status(self, held: bool = False) -> Status:
        """The first line; `held` says that the panels do not follow at the moment."""
        return status_of(self._situation(held))

    def looking(self, view: View, alpha: float | None, read: bool = False) -> Looking:
        """How a view looks at the run as it is now; `alpha` is the constant of the average over the raw values.

        With `read` the step under the cursor is read back from the log, which alone knows its rows.
        """
        return looking_at(self.history, view, alpha, read)

    def sees(self, view: View) -> bool:
        """Whether the view has something of the run before it, should there be anything to see."""
        ground = ground_of(self.history, view.axis)
        return ground is None or view.sees(ground)

    def chart(self, name: str, looking: Looking) -> ChartView:
        """What the chart of that name shows."""
        view = CHARTS[name](self.history, looking)
        if self._update.life == "foreign" and not is_told(self.history, name):
            return replace(view, curves=None, empty=NOT_TOLD)
        return view if self.going else replace(view, empty="no step was taken")

    def at_cursor(self, looking: Looking) -> CursorReading:
        """What is told of the step under the cursor."""
        apart = ""
        if looking.baseline is not None:
            from screens.dashboard.readings.baseline import from_baseline

            apart = from_baseline(self.history, looking, "loss")
        return cursor_reading(looking, looking.at is not None and self.source.has_spike(looking.at.step), apart)

    def status_changes_in(self) -> float:
        """In how many seconds there will be something else to say of its state, should no news come."""
        return 1.0 if self.unanswered else status_changes_in(self._situation())

    def memory(self) -> MemoryView:
        """What the memory panel shows."""
        view = memory_of(self.history)
        return replace(view, empty=NOT_TOLD) if self._update.life == "foreign" else view

    def parts(self, looking: Looking) -> PartsView:
        """What the panel of the time parts shows."""
        return parts_of(self.history, looking.sight, looking.view.axis, looking.at.step if looking.at else None)

    def cards(self, looking: Looking) -> GpuView:
        """What the panel of the GPUs shows."""
        return gpus_of(self.history, looking.sight, looking.view.axis, looking.at.t if looking.at else None)

    def ranks(self) -> RanksView:
        """What the panel of the ranks shows."""
        return ranks_of(self.history)

    def incidents(self) -> tuple[Incident, ...]:
        """All incidents, oldest first."""
        return self._intake.read.incidents.all()

    def touches(self, alert: Incident, step: int | None) -> bool:
        """Whether the alert is about that step."""
        return step is not None and self._intake.read.incidents.touch(alert.id, step) is not None

    def rows_of(self, step: int | None, alert: Incident | None) -> tuple[int, ...]:
        """The rows that a step trained on, or that an alert is about; none where nobody told them."""
        if step is None or alert is None:
            told = alert.rows if alert is not None else ()
        else:
            touch = self._intake.read.incidents.touch(alert.id, step)
            told = touch.rows if touch is not None else alert.rows if alert.step == step else ()
        if told or step is None:
            return told
        at = self.history.at(step)
        return (at.rows or ()) if at is not None and at.step == step else ()

    def in_full(self, last_words: tuple[str, ...]) -> tuple[str, str, Role] | None:
        """What has to be said in full: how it ended or what goes on, what is known about it, the role of the words."""
        return banner_of(self._situation(), last_words)

    def be_watched_by(self, watchman: Watchman) -> bool:
        """Let it look at the run as it is now; returns whether there is something to show for it.

        Of a log that cannot be read, or a machine out of reach, nobody knows whether the run is silent.
        """
        now = self._situation()
        return not now.is_cut_off and watchman.look(now.history, now.life, now.phase_since, now.now)

    def ask(self, command: CommandName, **args: float) -> None:
        """Send a command to the engine. May wait. Raises OSError."""
        self._commands.ask(command, **args)

    @property
    def unanswered(self) -> str | None:
        """A command from here that the engine, which goes on, has not answered."""
        return self._commands.unanswered if self.going else None

    def told(self) -> Iterator[tuple[str, Role]]:
        """What the engine has answered since the last time, whoever asked."""
        return self._commands.told()

    def why_not(self, need: Need) -> str:
        """A sentence that says why something cannot be done from here; empty where it can."""
        return why_not(self.source, self.readonly, need)

    @property
    def lacking(self) -> frozenset[Need]:
        """What keys cannot use here."""
        return lacking_at(self.source, self.readonly)

    @property
    def learning_rate(self) -> float | None:
        """That of the newest step; None before the first."""
        step = self.history.step
        return step.lr if step is not None else None

    def farewell(self) -> str:
        """What the restored terminal should say."""
        return farewell_of(self._situation(), self.run_id, self.source.address, self._again)

    def _situation(self, held: bool = False) -> Situation:
        update, link = self._update, self._update.link
        is_elsewhere = update.life in ("elsewhere", "lost")
        return Situation(
            name=self.source.name,
            history=self.history,
            life=update.life,
            now=self._clock() + (link.skew if link is not None else 0.0),
            exit_code=update.exit_code,
            held=held,
            loading=update.loading and not self._sees_present,
            progress=update.progress,
            trouble=update.trouble,
            host=self._engine_host() if is_elsewhere else None,
            phase_since=self._intake.phase_since,
            where=self.source.where,
            link=link,
            readonly=self.readonly,
            is_awaited=self._is_awaited,
        )

    @property
    def _is_awaited(self) -> bool:
        """True while an engine that was started from here has told nothing yet."""
        last = self.history.last_t
        is_there = self._update.life in ("live", "starting")
        return is_there and self._begun is not None and last is not None and last < self._begun

    def _engine_host(self) -> str | None:
        if self._host is None:
            info = read_run_info(self.run)
            self._host = info.host if info is not None else None
        return self._host

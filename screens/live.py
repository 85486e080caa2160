"""A run as the dashboard shows it: takes in its news, says what the panels show, passes on what the person wants."""

from __future__ import annotations

import shlex
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import chain, repeat
from typing import TYPE_CHECKING

from engine.events import Phase, Stamped
from engine.events.columns import Block
from engine.rundir import RunDir, name_of, read_run_info
from pgs_tui.drawing.lines import Role
from pgs_tui.format import plain, whole
from pgs_tui.history.history import History
from pgs_tui.history.incidents import Incident
from pgs_tui.history.log_lines import LogLines
from pgs_tui.history.retold import is_told_again
from pgs_tui.history.strays import NO_OFFSET
from pgs_tui.invocation import own_command
from pgs_tui.runs.control import Command, send
from pgs_tui.runs.follow import Update
from pgs_tui.view import View
from pgs_tui.widgets.chart_panel import ChartView
from pgs_tui.widgets.cursor_line import CursorReading
from pgs_tui.widgets.gpu_panel import GpuView
from pgs_tui.widgets.memory_panel import MemoryView
from pgs_tui.widgets.parts_panel import PartsView
from pgs_tui.widgets.rank_panel import RanksView
from pgs_tui.widgets.status_line import Status
from screens.readings.banner import banner_of
from screens.readings.charts import CHARTS
from screens.readings.cursor import cursor_reading
from screens.readings.gpus import gpus_of
from screens.readings.looking import Looking, ground_of, looking_at
from screens.readings.memory import memory_of
from screens.readings.parts import parts_of
from screens.readings.ranks import ranks_of
from screens.readings.situation import Outcome, Situation
from screens.readings.status import status_changes_in, status_of

if TYPE_CHECKING:  # what the first charts do not need is imported after them
    from pgs_tui.runs.alarm import Watchman


class LiveRun:
    """`take` updates in the order in which they come; the rest can be asked at any time."""

    def __init__(self, name: str, run: RunDir, clock: Callable[[], float] = time.time) -> None:
        self.run = run
        self.history = self._read = self._new_history()
        self._again: History | None = None
        """What a log tells that begins anew with what was known: it is shown once all of it has been read."""
        self._begins_anew = False
        self._name = name
        self._clock = clock
        self._update = Update()
        self._asked: dict[str, Command] = {}
        self._phase_since: float | None = None
        self._host: str | None = None

    @property
    def going(self) -> bool:
        """True until the run has ended, as far as is known."""
        return self._situation().outcome == "running"

    @property
    def outcome(self) -> Outcome:
        """How the run ended, or that it has not."""
        return self._situation().outcome

    @property
    def age(self) -> float | None:
        """How many seconds ago the newest event was written; None without one."""
        last = self.history.last_t
        return max(self._clock() - last, 0.0) if last is not None else None

    @property
    def version(self) -> tuple[int, int, bool]:
        """Another one whenever the charts may have something else to show."""
        return id(self.history), self.history.version, self.going

    @property
    def paused(self) -> bool:
        """True while it waits until somebody lets it go on."""
        phase = self._read.phase
        return phase is not None and phase.name == "paused"

    @property
    def loading(self) -> bool:
        """True while the run's past is still being read."""
        return self._update.loading

    @property
    def exit_code(self) -> int:
        """What the run's end means for the exit code of whoever watched it; 0 while it goes on."""
        end = self.history.end
        return end.exit_code if end is not None else 0 if self.going else 1

    def take(self, update: Update) -> None:
        """Take in news. A survey is shown in place of the past until all of that has been read."""
        self._update = update
        if update.survey:
            self.history = self._new_history()
            self._fold(self.history, update)
            return
        self._begin_anew(update)
        reading = self._again or self._read
        self._fold(reading, update)
        if self.history is not reading:  # work on what will be shown next is spread over the reading
            reading.table.keep_averages_of(self.history.table)
        if not update.loading:
            self._read, self._again = reading, None
        if not update.loading or update.restarted:
            self.history = self._read

    def _begin_anew(self, update: Update) -> None:
        """See to it that what the log told before it was emptied stays, and that nothing is taken in twice."""
        if update.afresh:
            self._read, self._again, self._phase_since = self._new_history(), None, None
        if update.restarted:
            self._read.begin_anew()
            self._again, self._begins_anew = None, True
        if self._begins_anew:
            is_again = is_told_again(self._read, (*update.columns, *update.events))
            self._begins_anew = is_again is None
            if is_again:
                self._again, self._phase_since = self._new_history(), None

    def notes(self) -> tuple[str, ...]:
        """Sentences about what could not belong to the run, since they were asked for last."""
        return self._read.notes()

    def _new_history(self) -> History:
        return History(LogLines(self.run.events))

    def _fold(self, history: History, update: Update) -> None:
        for block in update.columns:
            self._note_phase(history, block)
            history.extend(block)
        for stamped, offset in zip(update.events, chain(update.offsets, repeat(NO_OFFSET)), strict=False):
            self._note_phase(history, stamped)
            history.take(stamped.event, stamped.t, offset)

    def _note_phase(self, history: History, block: Block) -> None:
        if isinstance(block, Stamped) and isinstance(block.event, Phase):
            known = history.phase
            if known is None or known.name != block.event.name:
                self._phase_since = block.t

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
        return view if self.going else replace(view, empty="no step was taken")

    def at_cursor(self, looking: Looking) -> CursorReading:
        """What is told of the step under the cursor."""
        return cursor_reading(looking, looking.at is not None and self.run.spike(looking.at.step).is_file())

    def status_changes_in(self) -> float:
        """In how many seconds there will be something else to say of its state, should no news come."""
        return 1.0 if self.unanswered else status_changes_in(self._situation())

    def memory(self) -> MemoryView:
        """What the memory panel shows."""
        return memory_of(self.history)

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
        return self._read.incidents.all()

    def touches(self, alert: Incident, step: int | None) -> bool:
        """Whether the alert is about that step."""
        return step is not None and self._read.incidents.touch(alert.id, step) is not None

    def rows_of(self, step: int | None, alert: Incident | None) -> tuple[int, ...]:
        """The rows that a step trained on, or that an alert is about; none where nobody told them."""
        if step is None or alert is None:
            told = alert.rows if alert is not None else ()
        else:
            touch = self._read.incidents.touch(alert.id, step)
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

        Of a log that cannot be read nobody knows whether the run is silent.
        """
        now = self._situation()
        return now.trouble is None and watchman.look(now.history, now.life, now.phase_since, now.now)

    def ask(self, command: Command) -> None:
        """Send a command to the engine. Raises OSError."""
        self._asked[send(self.run, command)] = command

    @property
    def unanswered(self) -> Command | None:
        """A command from here that the engine, which goes on, has not answered."""
        return next(iter(self._asked.values()), None) if self.going else None

    def answers(self) -> Iterator[tuple[str, Role]]:
        """What the engine has answered since the last time to commands from here."""
        for command_id in self._asked.keys() & self._read.acks.keys():
            ack = self._read.acks[command_id]
            yield f"{self._asked.pop(command_id)}: {plain(ack.message)}", "good" if ack.ok else "bad"

    def farewell(self) -> str:
        """What the restored terminal should say."""
        step = self.history.last_step
        where = f" at step {whole(step)}" if step is not None else ""
        back = f"{own_command()} attach {shlex.quote(name_of(self.run))}"
        if self.going:
            return f"{self.run.id} goes on{where}. Come back with: {back}"
        end = self.history.end
        why = f"\n{plain(end.reason)}" if end is not None and end.status == "failed" and end.reason else ""
        return f"{self.run.id}: {self._situation().outcome}{where}.{why}\nLook again with: {back}"

    def _situation(self, held: bool = False) -> Situation:
        return Situation(
            name=self._name,
            history=self.history,
            life=self._update.life,
            now=self._clock(),
            exit_code=self._update.exit_code,
            held=held,
            loading=self._update.loading,
            progress=self._update.progress,
            trouble=self._update.trouble,
            host=self._engine_host() if self._update.life == "elsewhere" else None,
            phase_since=self._phase_since,
        )

    def _engine_host(self) -> str | None:
        if self._host is None:
            info = read_run_info(self.run)
            self._host = info.host if info is not None else None
        return self._host

"""Memory before the run: what a config takes on a GPU, and what other values would change."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from textual.binding import BindingType
from textual.message import Message

from pgs_tui.appearance.look import Look
from pgs_tui.keys import bindings_of
from pgs_tui.profiling.profiling import Profiling
from pgs_tui.profiling.what_if import Target
from screens.messages import LeavingMessage, RefusedMessage, ServerMessage
from screens.profile.dialogs import ProfileDialogs
from screens.profile.panes import STYLE_SHEET

if TYPE_CHECKING:  # what the first frame does not need is imported after it
    from pgs_tui.profiling.settings import Opened
    from pgs_tui.serving.client import Answer, Ended, Server

__all__ = ["STYLE_SHEET", "ProfileScreen"]
LOOK_SECONDS = 0.4
GPU_SECONDS = 5.0
"""How old what is shown of this machine's own GPU may be."""
FAR = 10**6
"""More rows than any list has."""


class ProfileScreen(ProfileDialogs, inherit_bindings=False):
    """`config` with the `overrides` of the command line, judged by the GPU `target`.

    It reports with `Leaving`, `Refused` and `Starting`. `above` says that there is a screen to go back to, `going` that
    a run goes on there. `command` replaces that of the profiler; tests do that. With `readonly` nothing is written,
    measured or started.
    """

    BINDINGS: ClassVar[list[BindingType]] = list(bindings_of("profile"))

    class Leaving(LeavingMessage):
        """The person wants to leave the program."""

    class Refused(RefusedMessage):
        """There is nothing to profile."""

    class Read(Message):
        """The config was read, in a thread."""

        def __init__(self, opened: Opened) -> None:
            super().__init__()
            self.opened = opened

    class Unreadable(Message):
        """The config cannot be used, and why."""

        def __init__(self, why: str) -> None:
            super().__init__()
            self.why = why

    class Arrived(ServerMessage):
        """News from the profiler."""

    def __init__(
        self,
        name: str,
        config: Path,
        look: Look,
        overrides: Sequence[str] = (),
        target: Target | None = None,
        above: bool = False,
        going: bool = False,
        command: Sequence[str] | None = None,
        readonly: bool = False,
    ) -> None:
        super().__init__(name, Profiling(config.absolute(), tuple(overrides), target), look, going, readonly)
        self._above = above
        self._command = command

    def on_mount(self) -> None:
        self.call_after_refresh(self._start)

    def on_unmount(self) -> None:
        self.profiling.close()

    def _start(self) -> None:
        self.open_config()
        try:
            self.profiling.start(self._open_profiler)
        except OSError as error:
            self._cannot_start(error)
            return
        self.set_interval(LOOK_SECONDS, self._look_again)
        self.set_interval(GPU_SECONDS, self.profiling.look_at_gpu)

    def open_config(self) -> None:
        """Read the config, in a thread."""
        self.run_worker(self._read, thread=True, group="reading")

    def _read(self) -> None:
        from pgs_tui.profiling.settings import open_config

        try:
            self.post_message(self.Read(open_config(self.profiling.config, self.profiling.overrides)))
        except ValueError as error:
            self.post_message(self.Unreadable(str(error)))

    def on_profile_screen_read(self, message: Read) -> None:
        self.profiling.begin(message.opened)
        self.show_now()

    def on_profile_screen_unreadable(self, message: Unreadable) -> None:
        if not self._above:
            self.post_message(self.Refused(message.why, 2))
            return
        self.profiling.problem = message.why
        self.show_now()

    def _open_profiler(self) -> Server:
        from pgs_tui.profiling.client import open_profiler

        def deliver(news: Answer | Ended) -> None:
            self.post_message(self.Arrived(news))

        return open_profiler(deliver, self._command)

    def _cannot_start(self, error: OSError) -> None:
        self.profiling.problem = f"the profiler cannot be started: {error}"
        self.show_now()

    def _look_again(self) -> None:
        """What is worth asking for when nobody has pressed a key for a moment."""
        profiling = self.profiling
        if profiling.measurement.is_running:
            profiling.look_at_measurement()
        was_slow, self.is_slow = self.is_slow, profiling.is_behind and not profiling.problem
        if self.is_slow or was_slow:
            self.show_status()
        profiling.ask_for_advice()

    def on_profile_screen_arrived(self, message: Arrived) -> None:
        self.profiling.take(message.news)
        self.show_now()

    def action_start_again(self) -> None:
        if self.profiling.ended is None:
            self.say("the profiler is running; s is there to start it again when it has ended")
            return
        try:
            self.profiling.start(self._open_profiler)
        except OSError as error:
            self._cannot_start(error)
            return
        self.show_now()

    def action_up(self) -> None:
        self._move(-1)

    def action_down(self) -> None:
        self._move(1)

    def action_first(self) -> None:
        self._move(-FAR)

    def action_last(self) -> None:
        self._move(FAR)

    def _move(self, rows: int) -> None:
        if self.focused is self.changes:
            self.changes.move(rows)
        else:
            self.settings.select(self.settings.selected + rows)

    def action_left(self) -> None:
        self._step(-1)

    def action_right(self) -> None:
        self._step(1)

    def _step(self, direction: int) -> None:
        chosen = self.settings.chosen
        if chosen is not None and self.step(chosen.key, direction):
            self.ask()

    def ask(self) -> None:
        """Ask about what is wanted now, and show that."""
        self.profiling.ask()
        self.show_now()

    def action_enter(self) -> None:
        chosen = self.settings.chosen
        if self.focused is self.changes:
            self.action_apply_change(str(self.changes.selected + 1))
        elif chosen is not None:
            self.choose(chosen)

    def action_apply_change(self, digit: str) -> None:
        advice, what_if = self.profiling.advice, self.profiling.what_if
        place = int(digit) - 1
        if what_if is None or place >= len(advice):
            self.say("there is no such change to make")
        elif what_if.set(advice[place].keys):
            self.ask()
        else:
            self.say("that change is made already")

    def action_undo(self) -> None:
        if self.profiling.what_if is not None and self.profiling.what_if.undo():
            self.ask()
        else:
            self.say("there is nothing to take back")

    def action_reset(self) -> None:
        if self.profiling.what_if is not None and self.profiling.what_if.reset():
            self.say("everything is as in the config; u takes that back")
            self.ask()
        else:
            self.say("everything is as in the config")

    def action_out(self) -> None:
        if self.profiling.measurement.is_running:
            self.profiling.stop_measuring()
            self.say("stopping the measurement")
        elif self.focused is not self.settings:
            self.show_pane(self.settings)
        elif self.filter_words:
            self.filter("")
        elif self._above and self.is_current:
            self.dismiss()

    def action_leave(self) -> None:
        self.post_message(self.Leaving())

    def action_ask_leave(self) -> None:
        self.post_message(self.Leaving(asking=True))

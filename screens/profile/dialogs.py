"""What the profile screen asks people: whether to measure, where to write, whether to start, which settings to list."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from pathlib import Path

from textual.message import Message

from pgs_tui.appearance.look import Look
from pgs_tui.profiling.profiling import Profiling
from pgs_tui.profiling.settings import shown_value
from screens.profile.choices import ProfileChoices

READONLY = "nothing is written, measured or started: it was opened with --readonly"


class ProfileDialogs(ProfileChoices, inherit_bindings=False):
    """Subclasses read a config anew with `open_config`."""

    class Starting(Message):
        """The person wants to train this config with these overrides; `name` is what it was called here."""

        def __init__(self, config: Path, overrides: tuple[str, ...], name: str) -> None:
            super().__init__()
            self.config = config
            self.overrides = overrides
            self.name = name

    def __init__(self, name: str, profiling: Profiling, look: Look, going: bool, readonly: bool) -> None:
        super().__init__(name, profiling, look, going, readonly)
        self._run_goes_on = going

    def open_config(self) -> None:
        """Read the config anew."""
        raise NotImplementedError

    def action_filter(self) -> None:
        from screens.dialogs.line_prompt import LinePrompt

        def take(written: str | None) -> None:
            if written is not None:
                self.filter(written.strip())

        hint = "part of a name or key; nothing shows all"
        self.app.push_screen(LinePrompt("/ only settings with", self.filter_words, hint), take)

    def filter(self, words: str) -> None:
        """List only the settings with these words."""
        self.filter_words = words
        self.show_pane(self.settings)
        self.show_now()
        if words and not self.settings.rows:
            self.say("no setting has these words; Esc shows all again")

    def action_measure(self) -> None:
        if self.readonly:
            self.say(READONLY)
        elif self.profiling.measurement.is_running:
            self.say("a measurement goes on; Esc stops it")
        elif self.profiling.what_if is None:
            self.say("the config is being read")
        else:
            question = (
                "Take a few real steps on this machine's GPU and see what they need? It takes a minute or more, and the"
                " GPU must be free for it. Nothing is kept but the figures."
            )
            self._confirm("measure", question, "Measure", "Leave it", self._measure)

    def _measure(self) -> None:
        self.profiling.measure()
        self.show_now()

    def action_write(self) -> None:
        if self.readonly:
            self.say(READONLY)
            return
        what_if = self.profiling.what_if
        if what_if is None or not what_if.to_write:
            self.say("nothing is changed yet that could be written")
            return
        from screens.dialogs.line_prompt import LinePrompt
        from screens.profile.writing import proposed_path

        def take(written: str | None) -> None:
            if written and written.strip():
                self._write(Path(written.strip()).expanduser())

        path = proposed_path(self.profiling.config)
        self.app.push_screen(LinePrompt("write to", path, "path of a new YAML file"), take)

    def _write(self, target: Path) -> None:
        if target.exists():
            question = f"{target} exists already. Write over it?"
            self._confirm("write", question, "Write over it", "Leave it", lambda: self._save(target, True))
        else:
            self._save(target, False)

    def _save(self, target: Path, overwrite: bool) -> None:
        from screens.profile.writing import save

        what_if = self.profiling.what_if
        assert what_if is not None, "there is nothing to write"
        try:
            written = save(self.profiling.config, what_if.to_write, target, overwrite)
        except (OSError, ValueError) as error:
            self.say(f"not written: {' '.join(str(error).split())}", "bad")
            return
        self._tell_of(written)

    def _tell_of(self, written: Path) -> None:
        from pgs_tui.invocation import own_command
        from screens.dialogs.confirm import Answer, Confirm

        command = f"{own_command()} {shlex.quote(str(written))}"
        text = f"Written: {written}. S here trains it, as does: {command}"
        self.app.push_screen(Confirm("written", text, [Answer("on", "Go on with it")], self.key_bar.glyphs))
        self._go_on_with(written)

    def _go_on_with(self, config: Path) -> None:
        """From now on it is this config that is looked at."""
        from pgs_tui.configs import short_name

        self.profiling.turn_to(config.absolute())
        self.config_name = short_name(config)
        self.open_config()

    def action_start(self) -> None:
        if self.readonly:
            self.say(READONLY)
            return
        if self._run_goes_on:
            self.say("a run goes on; write the changes with w, and start them when it has ended")
            return
        what_if, profile = self.profiling.what_if, self.profiling.profile
        if what_if is None:
            self.say("the config is being read")
            return
        changed = [f"{key} {shown_value(value)}" for key, value in what_if.changes.items()]
        question = f"Train {self.config_name}" + (f" with {', '.join(changed)}?" if changed else " as it is?")
        if profile is not None and profile.verdict.word == "does not fit":
            question += " It is not expected to fit."

        def start() -> None:
            self.post_message(self.Starting(self.profiling.config, self.profiling.flags, self.config_name))

        self._confirm("start", question, "Start training", "Not now", start)

    def action_assumptions(self) -> None:
        profile = self.profiling.profile
        if profile is None:
            self.say("there is no estimate yet")
            return
        from screens.dialogs.text_page import TextPage
        from screens.profile.assumptions import lines_of

        self.app.push_screen(TextPage("what it rests on", lambda cells: lines_of(profile, cells), self.key_bar.glyphs))

    def _confirm(self, title: str, question: str, yes: str, no: str, do: Callable[[], None]) -> None:
        from screens.dialogs.confirm import Answer, Confirm

        def take(answer: str | None) -> None:
            if answer == "yes":
                do()

        answers = [Answer("yes", yes), Answer("no", no)]
        self.app.push_screen(Confirm(title, question, answers, self.key_bar.glyphs), take)

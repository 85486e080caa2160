"""What the profile screen asks people: a value, a GPU, whether to measure, where to write, whether to start."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from textual.message import Message

from pgs_tui.look import Look
from pgs_tui.profiling.profiling import Profiling
from pgs_tui.profiling.settings import GPU, shown_value
from pgs_tui.profiling.what_if import Target
from pgs_tui.widgets.setting_list import SettingRow
from screens.profile_panes import ProfilePanes

OWN, TYPED = "own", "typed"
SIZE_HINT = "GiB of a GPU that is not in the list, such as 24"


class ProfileDialogs(ProfilePanes, inherit_bindings=False):
    """Subclasses ask for the estimate with `ask`, and read a config anew with `open_config`."""

    class Starting(Message):
        """The person wants to train this config with these overrides."""

        def __init__(self, config: Path, overrides: tuple[str, ...]) -> None:
            super().__init__()
            self.config = config
            self.overrides = overrides

    def __init__(self, name: str, profiling: Profiling, look: Look, going: bool) -> None:
        super().__init__(name, profiling, look, going)
        self._run_goes_on = going

    def ask(self) -> None:
        """Ask about what is wanted now, and show that."""
        raise NotImplementedError

    def open_config(self) -> None:
        """Read the config anew."""
        raise NotImplementedError

    def step(self, key: str, direction: int) -> bool:
        """Go to the next value of a setting; whether it is another one."""
        what_if = self.profiling.what_if
        if what_if is None:
            return False
        if key == GPU:
            return what_if.aim(self.profiling.target_after(direction))
        if key not in what_if.opened.kinds:
            self.say(f"{key} is not changed here; u takes it back")
            return False
        if what_if.step(key, direction):
            return True
        self.say("that is the smallest value")
        return False

    def choose(self, row: SettingRow) -> None:
        """Have a value of the setting chosen or written."""
        what_if = self.profiling.what_if
        if what_if is None:
            self.say("the config is being read")
        elif row.key == GPU:
            self._choose_gpu()
        elif row.key in what_if.opened.kinds:
            kind = what_if.opened.kinds[row.key]
            if set(kind.choices) == {False, True}:
                self._set(row.key, not what_if.value(row.key))
            elif kind.choices:
                self._choose_value(row, kind.choices)
            else:
                self._write_number(row, kind.least)

    def _set(self, key: str, value: object) -> None:
        if self.profiling.what_if is not None and self.profiling.what_if.set({key: value}):
            self.ask()

    def _choose_value(self, row: SettingRow, choices: tuple[object, ...]) -> None:
        from screens.choose import Choice, Choose

        def take(chosen: str | None) -> None:
            if chosen is not None:
                self._set(row.key, chosen)

        offered = [Choice(str(one), str(one)) for one in choices]
        self.app.push_screen(Choose(row.name, offered, row.value, self.key_bar.glyphs), take)

    def _write_number(self, row: SettingRow, least: int) -> None:
        from screens.line_prompt import LinePrompt

        def take(written: str | None) -> None:
            digits = (written or "").replace(" ", "").replace("_", "")
            if not digits:
                return
            if not digits.isdecimal() or not digits.isascii() or int(digits) < least:
                self.say(f"{row.key} takes a whole number of at least {least}, not {written!r}", "warn")
                return
            self._set(row.key, int(digits))

        self.app.push_screen(LinePrompt(row.name, row.value.replace(" ", ""), "a whole number"), take)

    def _choose_gpu(self) -> None:
        from screens.choose import Choice, Choose

        def take(chosen: str | None) -> None:
            if chosen == TYPED:
                self._write_size()
            elif chosen is not None:
                self._aim(Target() if chosen == OWN else Target(chosen.removeprefix("=")))

        profiling = self.profiling
        sizes = {one.name: f"{one.memory:.1f} GiB" for one in profiling.gpus}
        own = next((one for one in profiling.gpus if one.here), None)
        names = [target.name for target in profiling.targets if target.name is not None]
        offered = [
            Choice(OWN, own.name if own else "this machine's own", "this machine's" if own else "none here"),
            *(Choice(f"={name}", name, sizes.get(name, "")) for name in names),
            Choice(TYPED, "a size in GiB…"),
        ]
        target = profiling.target
        gpu = profiling.profile.gpu if profiling.profile else None
        now = OWN if target.is_own else TYPED if target.name is None else f"={gpu.name if gpu else target.name}"
        self.app.push_screen(Choose("GPU", offered, now, self.key_bar.glyphs), take)

    def _write_size(self) -> None:
        from screens.line_prompt import LinePrompt

        def take(written: str | None) -> None:
            text = (written or "").lower().replace("gib", "").replace("gb", "").replace(",", ".").strip()
            if not text:
                return
            try:
                size = float(text)
            except ValueError:
                size = 0.0
            if not 0 < size < 10**6:
                self.say(f"a GPU's size is a number of GiB, such as 24, not {written!r}", "warn")
            else:
                self._aim(Target(memory=size))

        self.app.push_screen(LinePrompt("GPU memory", "", SIZE_HINT), take)

    def _aim(self, target: Target) -> None:
        if self.profiling.what_if is not None and self.profiling.what_if.aim(target):
            self.ask()

    def action_filter(self) -> None:
        from screens.line_prompt import LinePrompt

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
        if self.profiling.is_measuring:
            self.say("a measurement goes on; Esc stops it")
        elif self.profiling.what_if is None:
            self.say("the config is being read")
        else:
            question = (
                "Take two real steps on this machine's GPU and see what they need? It loads the model, takes a minute"
                " or a few, and the GPU must be free for it. Nothing is kept but the figures."
            )
            self._confirm("measure", question, "Measure", "Leave it", self._measure)

    def _measure(self) -> None:
        self.profiling.measure()
        self.show_now()

    def action_write(self) -> None:
        what_if = self.profiling.what_if
        if what_if is None or not what_if.to_write:
            self.say("nothing is changed yet that could be written")
            return
        from screens.line_prompt import LinePrompt
        from screens.profile_writing import proposed_path

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
        from screens.profile_writing import save

        what_if = self.profiling.what_if
        assert what_if is not None, "there is nothing to write"
        try:
            written = save(self.profiling.config, what_if.to_write, target, overwrite)
        except (OSError, ValueError) as error:
            self.say(f"not written: {error}", "bad")
            return
        self._tell_of(written)

    def _tell_of(self, written: Path) -> None:
        from pgs_tui.invocation import own_command
        from screens.confirm import Answer, Confirm

        text = f"Written: {written}. Train it with: {own_command()} {written}   S here does that too."
        self.app.push_screen(Confirm("written", text, [Answer("on", "Go on with it")], self.key_bar.glyphs))
        self._go_on_with(written)

    def _go_on_with(self, config: Path) -> None:
        """From now on it is this config that is looked at."""
        from pgs_tui.configs import short_name

        self.profiling.turn_to(config.absolute())
        self.config_name = short_name(config)
        self.open_config()

    def action_start(self) -> None:
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
            self.post_message(self.Starting(self.profiling.config, self.profiling.flags))

        self._confirm("start", question, "Start training", "Not now", start)

    def action_assumptions(self) -> None:
        profile = self.profiling.profile
        if profile is None:
            self.say("there is no estimate yet")
            return
        from screens.profile_assumptions import lines_of
        from screens.text_page import TextPage

        self.app.push_screen(TextPage("what it rests on", lambda cells: lines_of(profile, cells), self.key_bar.glyphs))

    def _confirm(self, title: str, question: str, yes: str, no: str, do: Callable[[], None]) -> None:
        from screens.confirm import Answer, Confirm

        def take(answer: str | None) -> None:
            if answer == "yes":
                do()

        answers = [Answer("yes", yes), Answer("no", no)]
        self.app.push_screen(Confirm(title, question, answers, self.key_bar.glyphs), take)

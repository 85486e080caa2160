"""How the values of the profile screen's settings are changed: step by step, chosen from a list, or written."""

from __future__ import annotations

from pgs_tui.profiling.settings import GPU
from pgs_tui.profiling.what_if import Target
from pgs_tui.widgets.setting_list import SettingRow
from screens.profile.panes import ProfilePanes

OWN, TYPED = "own", "typed"
SIZE_HINT = "GiB of a GPU that is not in the list, such as 24"


class ProfileChoices(ProfilePanes, inherit_bindings=False):
    """Subclasses ask for the estimate with `ask`."""

    def ask(self) -> None:
        """Ask about what is wanted now, and show that."""
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
        from screens.dialogs.choose import Choice, Choose

        def take(chosen: str | None) -> None:
            if chosen is not None:
                self._set(row.key, chosen)

        offered = [Choice(str(one), str(one)) for one in choices]
        self.app.push_screen(Choose(row.name, offered, row.value, self.key_bar.glyphs), take)

    def _write_number(self, row: SettingRow, least: int) -> None:
        from screens.dialogs.line_prompt import LinePrompt

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
        from screens.dialogs.choose import Choice, Choose

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
        from screens.dialogs.line_prompt import LinePrompt

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

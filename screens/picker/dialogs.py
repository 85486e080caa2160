"""What the picker asks and shows in front of its list: errors, comparisons, the filter, the GPU, the editor."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING

from pgs_tui.appearance.look import Look
from screens.picker.panes import PickerPanes
from screens.picker.picking import Picking, read

if TYPE_CHECKING:  # what the first frame does not need is imported after it
    from pgs_tui.picking.collection import Entry
    from screens.dialogs.text_page import Text, TextPage


class PickerDialogs(PickerPanes, inherit_bindings=False):
    """The screen says in `go_on` what follows when something has changed."""

    def __init__(self, picking: Picking, look: Look) -> None:
        super().__init__(picking, look)
        self.page: TextPage | None = None
        """The page in front, while there is one."""
        self.compared: tuple[Entry, ...] = ()
        """The configs that stand on the page."""

    def go_on(self) -> None:
        """Show what is known now."""
        self.show_now()

    def chosen_entry(self) -> Entry | None:
        """The selected config; without one, that is said."""
        if self.list.entry is None:
            self.say("there is no config to choose")
        return self.list.entry

    def ask_whether(self, entry: Entry, doubt: str, choose: Callable[[str], object]) -> None:
        """Whether a config is to `start` in spite of the doubt, or its `profile` to be seen."""
        from screens.dialogs.confirm import Answer, Confirm

        def take(answer: str | None) -> None:
            if answer in ("start", "profile"):
                choose(answer)

        answers = [
            Answer("profile", "See what would make it fit"),
            Answer("start", "Start it all the same"),
            Answer("stay", "Stay here"),
        ]
        self.app.push_screen(Confirm(entry.shown, doubt, answers, self.key_bar.glyphs), take)

    def ask_for_trust(self, entry: Entry, then: Callable[[], None]) -> None:
        """Whether code that comes with the model may run; Enter alone allows nothing."""
        from pgs_tui.picking.words import code_of
        from screens.dialogs.confirm import Answer, Confirm

        model = entry.model

        def take(answer: str | None) -> None:
            if answer == "trust":
                entry.trusted_model = model
                then()

        answers = [Answer("trust", "I have read that code: let it run"), Answer("stay", "Stay here")]
        self.app.push_screen(Confirm(entry.shown, f"{code_of(model)}.", answers, self.key_bar.glyphs, marked=1), take)

    def show_problems(self, entry: Entry) -> None:
        """All that is wrong with it, with its places."""
        assert entry.checked is not None, "nothing is known of it"
        from screens.dialogs.text_page import as_written

        may_edit = not entry.found.shipped
        text = entry.checked.text + ("\n\ne edits it, and checks it again" if may_edit else "")
        self._open_page(entry.shown, lambda cells: as_written(text, cells), "e" if may_edit else "")

    def _open_page(self, title: str, text: Text, ways_out: str = "") -> None:
        from screens.dialogs.text_page import TextPage

        self.page = TextPage(title, text, self.key_bar.glyphs, ways_out)

        def closed(key: str | None) -> None:
            self.page, self.compared = None, ()
            if key:
                self.action_edit()

        self.app.push_screen(self.page, closed)

    def action_mark(self) -> None:
        entry = self.chosen_entry()
        if entry is None:
            return
        other = self.picking.collection.get(self.list.marked)
        if not entry.is_valid:
            self.say("only a valid config can be compared")
        elif other is None or not other.is_valid:
            self.list.marked = entry.path
            self.say("marked; m on another one compares the two")
        elif other is entry:
            self.unmark()
        else:
            self.unmark()
            self._compare(other, entry)
        self.list.redraw()

    def unmark(self) -> None:
        """No config is marked any more."""
        self.list.marked = None
        self.key_bar.quiet()
        self.list.redraw()

    def _compare(self, one: Entry, other: Entry) -> None:
        from screens.picker.comparing import comparison_lines

        self.compared = one, other
        self._open_page("two configs", lambda cells: comparison_lines(one, other, cells))

    def action_edit(self) -> None:
        entry = self.chosen_entry()
        if entry is None:
            return
        if entry.found.shipped:
            self.say("this config comes with the program: p opens it, and w there writes one of your own")
            return
        from pgs_tui.picking.editor import NoEditorError, edit, editor_command

        try:
            command = editor_command(os.environ)
        except NoEditorError as error:
            self.say(str(error), "warn")
            return
        try:
            with self.app.suspend():
                edit(entry.path, command)
        except NoEditorError as error:
            self.say(str(error), "warn")
        self.app.refresh(layout=True)
        self.picking.take(read([entry.path]))
        self.go_on()
        if entry.is_valid is False:
            self.show_problems(entry)

    def action_filter(self) -> None:
        from screens.dialogs.filter_prompt import FilterPrompt

        def take(written: str | None) -> None:
            if written is not None:
                self.filter_by(written.strip())

        hint = "words of a name, model, data set, fits, invalid; nothing shows all"
        self.app.push_screen(FilterPrompt(self.list.filter, hint, "/ only configs with"), take)

    def action_gpu(self) -> None:
        if self.picking.gpus:
            self._choose_gpu()
        elif not self.picking.want_gpus():
            self.say("there is no profiler to ask for the GPUs; r starts one")

    def _choose_gpu(self) -> None:
        from pgs_tui.profiling.what_if import Target
        from screens.dialogs.choose import Choice, Choose

        def take(chosen: str | None) -> None:
            if chosen is not None:
                self.picking.aim(Target(chosen.removeprefix("=") or None))
                self.go_on()

        here = next((gpu for gpu in self.picking.gpus if gpu.here), None)
        offered = [Choice("=", here.name if here else "this machine's own", "this machine's" if here else "none here")]
        offered += [Choice(f"={g.name}", g.name, f"{g.memory:.1f} GiB") for g in self.picking.gpus if not g.here]
        now = f"={self.picking.target.name or ''}"
        self.app.push_screen(Choose("GPU to hold them against", offered, now, self.key_bar.glyphs), take)

    def filter_by(self, wanted: str) -> None:
        """List only the configs that have all these words."""
        self.list.filter = wanted
        self.go_on()

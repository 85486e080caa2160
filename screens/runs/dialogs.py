"""What the list of runs asks: filter, tags, a note, and whether a run is to be deleted or gone on with."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from pgs_tui.format import counted, plain
from pgs_tui.listing.labels import Labels, LabelsError, note_of, tags_of, write_labels
from pgs_tui.listing.row import RunRow
from screens.runs.panes import RunsPanes

if TYPE_CHECKING:  # what the first frame does not need is imported after it
    from pgs_tui.listing.deletion import Deletion
    from pgs_tui.listing.resuming import Question

READONLY = "this list was opened with --readonly: nothing is written"
FILTER_HINT = "words of a name, model, note; tag:x status:failed model:qwen -word; nothing shows all"


class RunsDialogs(RunsPanes, inherit_bindings=False):
    """The screen says in `look_again` and `resume` what follows."""

    def look_again(self) -> None:
        """Something on the disk is another now."""
        raise NotImplementedError

    def resume(self, row: RunRow) -> None:
        """The person wants to go on with this run."""
        raise NotImplementedError

    def chosen_row(self) -> RunRow | None:
        """The selected run; without one, that is said."""
        if self.list.row is None:
            self.say("there is no run to choose")
        return self.list.row

    def _changeable(self) -> RunRow | None:
        """The selected run, where something of it can be changed from here; else that is said."""
        row = self.chosen_row()
        if row is None:
            return None
        if self.readonly:
            self.say(READONLY, "warn")
        elif row.where:
            self.say(f"only the list on {plain(row.where)} itself does that: pgs-tui runs {row.path.parent}", "warn")
        elif row.tool is not None:
            self.say("another tool has made this: it is watched, played and compared, and not changed", "warn")
        elif row.life is None:
            self.say(plain(row.trouble), "warn")
        else:
            return row
        return None

    def action_filter(self) -> None:
        from screens.dialogs.filter_prompt import FilterPrompt

        def take(written: str | None) -> None:
            if written is not None:
                self.filter_by(written.strip())

        self.app.push_screen(FilterPrompt(self.listing.filter, FILTER_HINT, "/ only runs with"), take)

    def filter_by(self, wanted: str) -> None:
        """List only the runs that have all of it."""
        self.listing.filter = wanted
        self.show_now()

    def action_tag(self) -> None:
        row = self._changeable()
        if row is not None:
            written = " ".join(row.labels.tags)
            self._ask_line(row, "tags", written, "words, such as baseline lr-sweep; nothing takes all away", _with_tags)

    def action_note(self) -> None:
        row = self._changeable()
        if row is not None:
            self._ask_line(row, "note", row.labels.note, "a sentence; nothing takes it away", _with_note)

    def _ask_line(
        self, row: RunRow, label: str, written: str, hint: str, changed: Callable[[Labels, str], Labels]
    ) -> None:
        from screens.dialogs.line_prompt import LinePrompt

        def take(answer: str | None) -> None:
            if answer is not None:
                self._keep(row, lambda labels: changed(labels, answer))

        self.app.push_screen(LinePrompt(f"{label} of {plain(row.name)}:", written, hint), take)

    def _keep(self, row: RunRow, changed: Callable[[Labels], Labels]) -> None:
        now = self.listing.rows.get(row.path, row)
        try:
            labels = changed(now.labels)
            write_labels(row.path, labels)
        except LabelsError as error:
            self.say(str(error), "warn")
        except OSError as error:
            self.say(f"it cannot be kept in the run's folder: {error.strerror}", "warn")
        else:
            self.listing.rows[row.path] = replace(now, labels=labels)
            self.show_now()
            self.say(_labels_words(row, labels))

    def action_delete(self) -> None:
        if self.listing.half_deleted and not self.readonly:
            self._work(self._finish_deletions, "taking away what was half deleted")
            return
        row = self._changeable()
        if row is not None:
            self._work(lambda: self._plan(row), f"looking through {plain(row.id)}")

    def _work(self, work: Callable[[], None], said: str) -> None:
        """In a thread, as a disk may be slow, and what reads configs takes long to import."""
        self.say(said)
        self.run_worker(work, thread=True, group="working")

    def _finish_deletions(self) -> None:
        from pgs_tui.listing.deletion import NotDeletedError, finish

        told = "what was half deleted is gone"
        try:
            for rest in self.listing.half_deleted:
                finish(rest)
        except NotDeletedError as error:
            told = str(error)
        self.app.call_from_thread(self._deleted, told)

    def _plan(self, row: RunRow) -> None:
        from pgs_tui.listing.deletion import NotDeletedError, deletion_of

        try:
            planned = deletion_of(row.path, self._below())
        except NotDeletedError as error:
            self.app.call_from_thread(self.say, str(error), "warn")
        else:
            self.app.call_from_thread(self._ask_to_delete, row, planned)

    def _ask_to_delete(self, row: RunRow, planned: Deletion) -> None:
        from pgs_tui.listing.words import size

        self.key_bar.quiet()
        saved = [counted(planned.checkpoints, "checkpoint")] if planned.checkpoints else []
        saved += ["the final model"] if planned.has_final else []
        among = f", {' and '.join(saved)} among them" if saved else ""
        begun = [plain(one.id) for one in self.listing.begun_from(row)]
        used = f" {', '.join(begun)} went on from a checkpoint of it." if begun else ""
        question = f"{plain(row.id)}: {size(planned.size)} in {counted(planned.files, 'file')}{among}, for good.{used}"

        def delete_it() -> None:
            self.listing.deleting += 1
            self._work(lambda: self._delete(planned), f"deleting {plain(row.id)}")

        self._ask_whether("delete", question, "Delete it", delete_it)

    def _below(self) -> Path | None:
        return self.listing.where if isinstance(self.listing.where, Path) else None

    def _delete(self, planned: Deletion) -> None:
        from pgs_tui.listing.deletion import NotDeletedError, delete

        told = f"{plain(planned.path.name)} is deleted"
        try:
            delete(planned, self._below())
        except NotDeletedError as error:
            told = str(error)
        self.listing.deleting -= 1
        self.app.call_from_thread(self._deleted, told)

    def _deleted(self, told: str) -> None:
        self.say(told)
        self.look_again()

    def action_resume(self) -> None:
        from pgs_tui.listing.resuming import why_not_resumed

        row = self.chosen_row()
        if row is None:
            return
        if self.readonly:
            self.say(READONLY, "warn")
            return
        if row.where:
            self._tell_command(row)
            return
        if why := why_not_resumed(row):
            self.say(why, "warn")
            return
        self._work(lambda: self._look_before_resuming(row), f"reading the config of {plain(row.id)}")

    def _look_before_resuming(self, row: RunRow) -> None:
        from pgs_tui.listing.resuming import question_before

        try:
            question = question_before(row)
        except ValueError as error:
            why = f"its config cannot be used any more: {plain(str(error).splitlines()[0])}"
            self.app.call_from_thread(self.say, why, "warn")
        else:
            self.app.call_from_thread(self._ask_to_resume, row, question)

    def _ask_to_resume(self, row: RunRow, question: Question) -> None:
        """Going on destroys nothing, so Enter does it, but runs nobody's code."""
        self.key_bar.quiet()
        told = f"{plain(row.id)}: {question.text}"
        self._ask_whether("resume", told, "Go on with it", lambda: self.resume(row), is_harmless=not question.runs_code)

    def _tell_command(self, row: RunRow) -> None:
        """What goes on with a run of another machine, there."""
        from pgs_tui.listing.resuming import resume_command
        from screens.dialogs.text_page import TextPage, as_written

        command = resume_command(row)
        self.app.copy_to_clipboard(command)
        text = (
            f"It takes the Python of {row.where} to go on with it. There:\n\n  {command}\n\n"
            "That goes on in its own folder, from its newest checkpoint; within tmux, or with nohup before it, it "
            "outlives the connection. The command has been copied to the clipboard."
        )
        self.app.push_screen(TextPage(row.name, lambda cells: as_written(text, cells), self.key_bar.glyphs))

    def _ask_whether(
        self, title: str, question: str, yes: str, then: Callable[[], None], is_harmless: bool = False
    ) -> None:
        """Enter alone does nothing that is not harmless."""
        from screens.dialogs.confirm import Answer, Confirm

        def take(answer: str | None) -> None:
            if answer == "yes":
                then()

        answers = [Answer("yes", yes), Answer("no", "Leave it as it is")]
        self.app.push_screen(
            Confirm(title, question, answers, self.key_bar.glyphs, marked=0 if is_harmless else 1), take
        )


def _labels_words(row: RunRow, labels: Labels) -> str:
    """What is kept now: a small terminal has no room for it beside the rest."""
    tags = " ".join(f"#{plain(tag)}" for tag in labels.tags) or "no tags"
    note = f"note: {plain(labels.note)}" if labels.note else "no note"
    return f"{plain(row.name)} has {tags} · {note}"


def _with_tags(labels: Labels, written: str) -> Labels:
    return replace(labels, tags=tags_of(written))


def _with_note(labels: Labels, written: str) -> Labels:
    return replace(labels, note=note_of(written))

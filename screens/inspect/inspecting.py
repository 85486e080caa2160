"""What the inspect screen shows and asks for, between its widgets and the inspector's process."""

from __future__ import annotations

from collections.abc import Callable

from pgs_tui.inspection.client import Answer, Ended, Inspector
from pgs_tui.inspection.reader import WINDOW, Reader
from pgs_tui.inspection.row_source import RowFilter, RowSource
from pgs_tui.inspection.shapes import (
    AuditState,
    Flag,
    Found,
    Hello,
    OpeningState,
    RowSummary,
    RowsWindow,
    Sample,
    Spike,
    SpikeSample,
    TokenFacts,
    Tokens,
)
from screens.inspect.opening import Opening

Walk = Callable[[Reader], object]


class Inspecting:
    """Takes in answers with `take`; the attributes are what is to be shown.

    `source` are the rows of the list and `selected` the place in it, `reader` the sample beside it.
    """

    def __init__(self, opening: Opening) -> None:
        self.opening = opening
        self.source = RowSource(ids=opening.rows)
        self.selected = opening.row or 0
        self.heading = opening.heading
        """What the rows of the list are."""
        self.reader: Reader | None = None
        self.facts: TokenFacts | None = None
        self.audit: AuditState | None = None
        self.opened: OpeningState | None = None
        """How far the opening of the data is."""
        self.hello: Hello | None = None
        self.spike: Spike | None = None
        self.ended: Ended | None = None
        self.problem = ""
        """Why the selected row cannot be shown."""
        self.said = ""
        """Something to tell the person, once."""
        self._inspector: Inspector | None = None
        self._open: RowSummary | int | None = None
        self._room = 50
        self._first = max(self.selected - self._room // 2, 0)
        self._seeking: bool | None = None
        """A flagged row is looked for further down (True) or up, and there may still be one."""
        self._walks: list[Walk] = []
        self._finding: Flag | None = None
        """The finding whose rows are being looked for."""

    def start(self, open_inspector: Callable[[], Inspector]) -> None:
        """Start the process and ask the first questions. Raises OSError when it cannot be started."""
        self._inspector = open_inspector()
        self._want("opening", "opening")
        self._want("hello", "hello")
        if self.opening.spike is not None:
            self._want("spike", "spike", step=self.opening.spike)
            return
        self._want_rows()
        self._want("audit", "audit")
        if self.source.ids:
            self._open_row(self.source.ids[self.selected])
        elif not self.source.filter:
            self._open_row(self.selected)

    def start_again(self, open_inspector: Callable[[], Inspector]) -> None:
        """The same after the process has ended, with the rows and the place that were chosen. Raises OSError."""
        self.ended = self.hello = self.opened = self.audit = self.reader = self.facts = self.spike = self._open = None
        self.problem = ""
        self.source = RowSource(self.source.filter, self.source.ids)
        self.start(open_inspector)

    def close(self) -> None:
        """End the process."""
        if self._inspector is not None:
            self._inspector.close()

    @property
    def pid(self) -> int | None:
        """The process id of the inspector, once it was started."""
        return self._inspector.pid if self._inspector else None

    @property
    def is_busy(self) -> bool:
        """Something is still to come without being asked for anew by a person."""
        if self.ended is not None:
            return False
        if self.hello is None:
            return True
        return self.opening.spike is None and not (self._is_audited and self.source.complete)

    def look_again(self) -> None:
        """Ask how far the opening is, then the audit, and for the rows in sight, of which more may be known by now."""
        if self.hello is None:
            self._want("opening", "opening")
            return
        if not self._is_audited:
            self._want("audit", "audit")
        if self._seeking is not None:
            self.next_flagged(self._seeking)
        self._want_rows(again=True)

    @property
    def _is_audited(self) -> bool:
        return self.audit is not None and (self.audit.finished or bool(self.audit.error))

    def scrolled(self, first: int, room: int) -> None:
        """These places of the list are in sight."""
        self._first, self._room = first, room
        self._want_rows()

    def select(self, place: int) -> None:
        """Go to a place of the list, and show its row."""
        self.selected, self._seeking = place, None
        self._walks.clear()
        if not self.source.answered and self._inspector is not None:
            self._inspector.forget("sample")  # of the row that was selected at first
            self._open = None
        self.open_selected()

    def open_selected(self) -> None:
        """Show the selected row, if it is known which one that is."""
        summary = self.source.row(self.selected)
        if summary is not None and summary.index is not None:
            self._open_spike_row(summary)
        elif summary is not None:
            self._open_row(summary.row)
        elif self.source.ids:
            self._open_row(self.source.ids[self.selected])
        elif self.source.answered and not self.source.filter:
            self._open_row(self.selected)

    def walk_later(self, walk: Walk) -> None:
        """Do this in the sample as soon as it is there."""
        self._walks.append(walk)

    def filter(self, wanted: RowFilter) -> None:
        """List only rows that match."""
        self.source = RowSource(wanted)
        self.selected, self._first, self._seeking, self._finding = 0, 0, None, None
        self.opening, self.heading = Opening(), "rows"
        self._want_rows()

    def show_finding(self, finding: Flag) -> None:
        """List the rows with this finding of the audit; of one about the whole set those that it names."""
        self.filter(RowFilter(flag=finding.code))
        self._finding = finding

    @property
    def is_narrowed(self) -> bool:
        """Only some rows are listed, and all of them could be."""
        return bool(self.source.filter) or bool(self.source.ids and not self.opening.rows)

    def next_flagged(self, forward: bool) -> None:
        """Go to the next row with a warning, or the one before."""
        shown = self.reader.sample.row if self.reader else self._open if isinstance(self._open, int) else 0
        params = {**self.source.filter.params, "flagged": True}
        self._want("next", "next", row=shown, forward=forward, **params)

    def cursor_moved(self) -> None:
        """Fetch what the reader needs now: tokens of what is in sight, and the facts of the one under the cursor."""
        reader = self.reader
        if reader is None:
            return
        at = reader.wanted()
        if at is not None and not reader.losses:
            self._want("tokens", "tokens", row=reader.sample.row, at=at, count=WINDOW)
        elif reader.token is not None and not reader.losses and not self._has_facts(reader.token.number):
            self._want("token", "token", row=reader.sample.row, token=reader.token.number)

    def _has_facts(self, number: int) -> bool:
        return self.facts is not None and self.facts.position == number

    def take(self, message: Answer | Ended) -> None:
        """Take in what the process said."""
        if isinstance(message, Ended):
            self.ended = message
        elif message.error:
            self._take_error(message)
        else:
            self._take_result(message)

    def _take_error(self, answer: Answer) -> None:
        topic = answer.wish.topic
        if topic == "sample":
            self.reader, self.problem = None, answer.error
        elif topic == "spike":
            self.problem = answer.error
        else:
            self.said = answer.error

    def _take_result(self, answer: Answer) -> None:
        match answer.result:
            case OpeningState() as opened:
                self.opened = opened
            case Hello() as hello:
                self.hello = hello
            case AuditState() as audit:
                self.audit = audit
                if self._is_audited:
                    self.source.forget_unmeasured(seen=range(self._first, self._first + self._room))
                    self._want_rows(again=True)
            case RowsWindow() as window:
                self._take_rows(window, answer.wish.params["start"])
            case Sample() as sample:
                self._read(Reader(sample))
            case Tokens() as tokens if self.reader is not None and tokens.row == self.reader.sample.row:
                self.reader.add(tokens)
                self.cursor_moved()
            case TokenFacts() as facts:
                self.facts = facts
            case Found() as found:
                self._take_found(found, answer)
            case Spike() as spike:
                self._take_spike(spike)
            case SpikeSample() as sample:
                self._read(Reader(sample.sample, losses=True), sample.tokens)
            case _:
                pass

    def _take_rows(self, window: RowsWindow, start: int) -> None:
        self.source.take(window, start)
        if self.selected >= window.total > 0 and self.selected == self.opening.row:
            self.said = f"there is no row {self.selected}; this is the last one"
        self.selected = min(self.selected, max(self.source.matched - 1, 0))
        if self._finding is not None and self.source.complete and not self.source.matched and self._finding.rows:
            self._name_rows_of(self._finding)
        elif not self.source.matched and self.source.answered:
            self.reader, self._open, self.problem = None, None, ""
        else:
            self.open_selected()
        self._want_rows()

    def _name_rows_of(self, finding: Flag) -> None:
        self._finding, self.heading = None, f"first rows of {finding.code}"
        self.source = RowSource(ids=finding.rows)
        self.open_selected()

    def _take_found(self, found: Found, answer: Answer) -> None:
        if answer.wish.topic == "place":
            if found.position is not None:
                self.selected = found.position
            return
        if found.row is None:
            forward = answer.wish.params["forward"]
            where = "further down" if forward else "further up"
            if self.hello is not None and self._is_audited:
                self.said, self._seeking = f"no flagged row {where}", None
            elif self._seeking is None:
                self.said, self._seeking = f"no flagged row {where} so far; the audit is still looking", forward
            return
        self._seeking = None
        if self.source.ids:
            self.filter(RowFilter())
        self._open_row(found.row)
        if self.source.filter:  # the place among the flagged rows is not the place in this list
            before = {"row": found.row - 1} if found.row else {}
            self._want("place", "next", forward=True, **before, **self.source.filter.params)
        else:
            self.selected = found.row

    def _take_spike(self, spike: Spike) -> None:
        self.spike = spike
        self.source.take_all(spike.rows)
        self.open_selected()

    def _read(self, reader: Reader, tokens: Tokens | None = None) -> None:
        if self.reader is not None:
            reader.boxes = self.reader.boxes
            reader.show(self.reader.view)
            reader.to_start()
        if tokens is not None:
            reader.add(tokens)
        for walk in self._walks:
            walk(reader)
        self._walks.clear()
        self.reader, self.facts, self.problem = reader, None, ""
        self.cursor_moved()

    def _open_row(self, row: int) -> None:
        if self._open != row:
            self._open = row
            self._want("sample", "sample", row=row)

    def _open_spike_row(self, summary: RowSummary) -> None:
        if self._open != summary and self.spike is not None:
            self._open = summary
            self._want("sample", "spike_sample", step=self.spike.step, index=summary.index)

    def _want_rows(self, again: bool = False) -> None:
        if self.opening.spike is not None:
            return
        params = self.source.wanted(self._first, self._room, again)
        if params is not None:
            self._want("rows", "rows", **params)

    def _want(self, topic: str, method: str, **params: object) -> None:
        if self._inspector is not None and self.ended is None:
            self._inspector.want(topic, method, **params)

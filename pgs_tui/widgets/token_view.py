"""One sample, turn by turn: what is trained lit, the rest dim, a cursor that walks from token to token."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pgs_tui.drawing.lines import Line, first_fitting, joined, line, line_width, spread, wrapped
from pgs_tui.drawing.severities import SIGNS
from pgs_tui.format import counted, percent, plain, whole
from pgs_tui.inspection.blocks import Title
from pgs_tui.inspection.reader import Reader
from pgs_tui.inspection.shapes import Flag
from pgs_tui.widgets.panel import Panel
from pgs_tui.widgets.token_styles import Styler

GUTTER = 2
VIEWS = {"turns": "", "raw": "as the model gets it", "trained": "only what is trained"}
MOST_FLAG_LINES = 3
SHORT_VALUE = 64
"""Cells below which the counts of tokens are told in short."""
EDGES = 8
"""Cells of the upper edge besides title and value."""


class TokenView(Panel):
    """Give it a reader; say `redraw` after the reader has moved. Without one it says what is being waited for."""

    def __init__(self, *, id: str) -> None:
        super().__init__(id=id)
        self.reader: Reader | None = None
        self._said: tuple[str, bool] = ("waiting for the first row", False)

    def read(self, reader: Reader) -> None:
        """Show this sample."""
        self.reader = reader
        self.redraw()

    def say(self, text: str, bad: bool = False) -> None:
        """Show these words in place of a sample."""
        if self.reader is not None or self._said != (text, bad):
            self.reader, self._said = None, (text, bad)
            self.redraw()

    def title(self) -> Line:
        if self.reader is None:
            return line(("sample", "title"))
        sample = self.reader.sample
        name = line((f"row {whole(sample.row)}", "title"))
        paths = [plain("/".join(sample.file.rsplit("/", parts)[-parts:])) for parts in (2, 1)]
        forms = [joined([name, line((f"{path}:{sample.line}", "dim"))], "  ") for path in paths]
        shortest = joined([name, line((f"line {sample.line}", "dim"))], "  ")
        room = self.size.width - line_width(self.value()) - EDGES
        return first_fitting([*forms, shortest, name], room)

    def value(self) -> Line:
        tokens = self.reader.tokens if self.reader else None
        if self.reader is None or not self.reader.sample.text:
            return ()
        if tokens is None:
            return line((counted(len(self.reader.sample.text), "character"), "dim"))
        share = percent(tokens.loss_tokens / tokens.num_tokens if tokens.num_tokens else 0.0)
        if self.size.width < SHORT_VALUE:
            return line((f"{whole(tokens.loss_tokens)}/{whole(tokens.num_tokens)}", "value"), (" trained", "text"))
        return line(
            (f"{counted(tokens.num_tokens, 'token')} · ", "text"),
            (f"{whole(tokens.loss_tokens)} trained", "value"),
            (f" {share}", "dim"),
        )

    def summary(self) -> Sequence[Line]:
        reader = self.reader
        if reader is None or not reader.sample.text:
            return ()
        view = line((VIEWS[reader.view], "accent"))
        share = reader.share
        where = line((f"{percent(share)} down", "dim")) if share is not None else ()
        if reader.losses:
            return [joined([line(("loss ", "dim"), *_heat_legend()), view, where]), joined([view, where]), where]
        cut = reader.tokens.kept_stop if reader.tokens else None
        cut_off = line(("cut off", "cut")) if cut is not None and cut < len(reader.sample.text) else ()
        legend = line(("┃", "good"), (" ", "text"), ("trained", "lit"), (" ", "text"), ("not", "dim"))
        return [joined([legend, cut_off, view, where]), joined([view, where]), where]

    def brief(self, width: int) -> Line:
        return joined([self.title(), self.value()], "  ")

    def body(self, width: int, height: int) -> Sequence[Line]:
        reader = self.reader
        if reader is None:
            text, bad = self._said
            paragraphs = (wrapped(plain(words), width, "bad" if bad else "dim") for words in text.split("\n"))
            return [row for paragraph in paragraphs for row in paragraph or [()]]
        if not reader.sample.text:
            return [*self._flag_lines(width, height), line(("there is no text to show", "dim"))][:height]
        flags = self._flag_lines(width, min(MOST_FLAG_LINES, height // 4))
        room = height - len(flags)
        reader.fit(max(width - GUTTER, 1), max(room, 1), self.glyphs == "ascii")
        if reader.is_empty:
            return [*flags, line(("nothing of this row is trained", "warn"))]
        return [*flags, *list(self._rows(reader, width))[:room]]

    def _rows(self, reader: Reader, width: int) -> Iterator[Line]:
        styler = Styler(reader, self.has_focus)
        for row in reader.rows():
            gutter = line(("┃ ", "good") if row.kind != "title" and styler.has_lit(row) else ("  ", "text"))
            if row.kind == "title" and row.title is not None:
                yield _title(row.title, width)
            elif row.kind == "boxes":
                upper, lower = styler.box_lines(row)
                yield (*gutter, *upper)
                yield (*gutter, *lower)
            elif row.kind == "waiting":
                yield line(("  waiting for the tokens", "dim"))
            else:
                yield (*gutter, *styler.text_line(row))

    def _flag_lines(self, width: int, most: int) -> list[Line]:
        assert self.reader is not None
        tokens = self.reader.tokens
        flags = tokens.flags if tokens is not None and tokens.flags else self.reader.sample.flags
        lines = [row for flag in flags for row in _flag(flag, width)]
        if len(lines) > most > 0:
            more = line((f" +{len(lines) - most} more", "dim"))
            lines = [*lines[: most - 1], spread(lines[most - 1], more, width)]
        return lines[: max(most, 0)]


def _flag(flag: Flag, width: int) -> list[Line]:
    sign, role = SIGNS.get(flag.severity, SIGNS["warning"])
    head = line((f"{sign} ", role), (plain(flag.code), role), ("  ", "text"))
    room = width - line_width(head)
    text = plain(flag.message)
    if room < 2 * line_width(head):
        return [head, *[line(("  ", "text"), *row) for row in wrapped(text, width - 2, "text")]]
    first, *rest = wrapped(text, room, "text") or [()]
    return [(*head, *first), *[line((" " * line_width(head), "text"), *row) for row in rest]]


def _title(title: Title, width: int) -> Line:
    turn = f"turn {title.turn}" if title.turn is not None else ""
    head = line((plain(title.role), "good" if title.role == "assistant" else "title"))
    note = line((title.note, "warn"))
    tail = line((f" {turn}" if turn else "", "dim"))
    text = joined([head, note], "  ")
    rule = max(width - line_width(text) - line_width(tail) - 1, 0)
    return line(*text, (" ", "text"), ("─" * rule, "frame"), *tail)


def _heat_legend() -> Line:
    return line(("<1", "text"), (" 1+ ", "heat-1"), (" 3+ ", "heat-2"), (" 6+ ", "heat-3"), (" 9+ ", "heat-4"))

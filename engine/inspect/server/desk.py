"""The rows that were asked for lately, so that the next question about one of them is answered at once."""

from __future__ import annotations

import threading
from collections import OrderedDict

from engine.data.conversation import Conversation, Document, Example
from engine.data.errors import BadRow
from engine.data.examine import Examined
from engine.data.masking.draft import Draft
from engine.inspect.opening import Inspection
from engine.inspect.tokens import RowTokens, Stretch

_ROWS_KEPT = 8
_PREVIEW_CHARACTERS = 160


class OpenRow:
    """One row: its draft at once, its tokens when they are asked for."""

    def __init__(self, row: int, inspection: Inspection) -> None:
        self._inspection = inspection
        self._renderer = inspection.examiner.renderer
        self._raw = inspection.rows.at(row)
        self.row, self.file, self.line = row, self._raw.file, self._raw.line
        self.example: Example | BadRow = inspection.examiner.parse(self._raw)
        self._draft: Draft | BadRow | None = None
        self._examined: Examined | None = None
        self._tokens: RowTokens | None = None
        self._lit: list[Stretch] | None = None
        self._tokenizing = threading.Lock()

    @property
    def kind(self) -> str:
        return "unknown" if isinstance(self.example, BadRow) else self.example.kind

    def draft(self) -> Draft | BadRow:
        """The text and its mask, for which no tokenizer is needed."""
        if self._draft is None:
            example = self.example
            self._draft = example if isinstance(example, BadRow) else self._renderer.draft(example)
        return self._draft

    def examined(self) -> Examined:
        """What training makes of the row. From any thread; while one works it out, the others wait for it."""
        with self._tokenizing:
            if self._examined is None:
                (self._examined,) = self._inspection.examiner.examine([self._raw])
            return self._examined

    def tokens(self) -> RowTokens | None:
        """The row's tokens; None for a row that cannot be used."""
        rendered = self.examined().rendered
        if self._tokens is None and rendered is not None:
            self._tokens = RowTokens(self.examined(), rendered, self._inspection.limit, self._inspection.token_bytes)
        return self._tokens

    def lit(self) -> list[Stretch]:
        """The stretches of the text that are trained."""
        if self._lit is None:
            tokens = self.tokens()
            self._lit = tokens.lit() if tokens is not None else []
        return self._lit

    def preview(self) -> str:
        """What the row is about, in one line: the first turn of the user, else the first text."""
        example = self.example
        if isinstance(example, BadRow):
            text = example.reason
        elif isinstance(example, Conversation):
            asked = [turn for turn in example.turns if turn.role == "user"]
            text = (asked or example.turns)[0].content
        elif isinstance(example, Document):
            text = "".join(part.text[:_PREVIEW_CHARACTERS] for part in example.parts[:2])
        else:
            text = f"{len(example.input_ids)} token ids"
        return " ".join(text[: 2 * _PREVIEW_CHARACTERS].split())[:_PREVIEW_CHARACTERS]


class Desk:
    """Keeps the last rows open. May be used from any thread."""

    def __init__(self, inspection: Inspection) -> None:
        self._inspection = inspection
        self._open: OrderedDict[int, OpenRow] = OrderedDict()
        self._lock = threading.Lock()

    def at(self, row: int) -> OpenRow:
        """The row of that number, kept for the next questions. Raises DataError for a number that no row has."""
        with self._lock:
            opened = self._open.pop(row, None) or OpenRow(row, self._inspection)
            self._open[row] = opened
            while len(self._open) > _ROWS_KEPT:
                self._open.popitem(last=False)
            return opened

    def prepare(self, row: int) -> None:
        """Tokenize a row that will probably be asked about next; nothing happens where there is no such row."""
        if 0 <= row < len(self._inspection.rows):
            self.at(row).lit()

    def glance(self, row: int) -> OpenRow:
        """The same for a row that is only listed."""
        return self._open.get(row) or OpenRow(row, self._inspection)

"""The record of a step's batch where its data and tokenizer are on another machine: rows, token ids, losses."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from pgs_tui.appearance.look import GlyphName
from pgs_tui.drawing.lines import Line, line, wrapped
from pgs_tui.format import counted, plain, value, whole
from pgs_tui.inspection.spike_record import SpikeRecord, SpikeRow
from pgs_tui.visible import shown
from screens.dialogs.text_page import TextPage

WORST = 12
"""Tokens that are told of a row, those with the highest losses."""
NO_WORDS_YET = "the tokens' text is being looked for in this machine's cache of the hub"


class RemoteSpike(TextPage):
    """Shows the record at once; the text of its tokens comes where this machine has the model's tokenizer."""

    def __init__(self, record: SpikeRecord, config: Path, where: str, glyphs: GlyphName) -> None:
        self._record = record
        self._config = config
        self._where = where
        self._words: Mapping[int, str] = {}
        self._no_words = NO_WORDS_YET
        super().__init__(f"the batch of step {whole(record.step)}", self._lines, glyphs)

    def on_mount(self) -> None:
        self.run_worker(self._look_up, thread=True, group="words")

    def _look_up(self) -> None:
        from pgs_tui.inspection.token_words import words_of

        ids = sorted({token.token_id for row in self._record.rows for token in row.worst[:WORST]})
        words = words_of(self._config, ids)
        self.app.call_from_thread(self._take, words)

    def _take(self, words: dict[int, str] | str) -> None:
        if isinstance(words, str):
            self._no_words = f"without the tokens' text: {plain(words)}"
        else:
            self._words, self._no_words = words, ""
        self.draw_again()

    def _lines(self, width: int) -> list[Line]:
        return [*self._head(width), *(part for row in self._record.rows for part in self._row(row, width))]

    def _head(self, width: int) -> Iterator[Line]:
        record = self._record
        figures = f"loss {value(record.loss)} · grad norm {value(record.grad_norm)}"
        left_out = ""
        if record.left_out_rows:
            left_out = f"; {whole(record.left_out_rows)} more with {counted(record.left_out_tokens, 'token')} not kept"
        yield from wrapped(f"{figures} · {counted(len(record.rows), 'row')}{left_out}", width)
        yield from wrapped(
            f"The rows themselves are on {plain(self._where)}; this is the record of the engine.", width, "dim"
        )
        if self._no_words:
            yield from wrapped(self._no_words, width, "dim")

    def _row(self, row: SpikeRow, width: int) -> Iterator[Line]:
        yield ()
        place = (
            f"{plain(row.file)}:{row.line}" if row.file is not None and row.line is not None else plain(row.file or "")
        )
        mean = f"mean loss {value(row.mean_loss)}" if row.mean_loss is not None else "no token with loss"
        title = f"row {whole(row.row)}  {mean} · {whole(len(row.worst))} of {whole(row.num_tokens)} tokens have loss"
        yield from wrapped(title, width, "title")
        if place:
            yield from wrapped(place, width, "dim")
        for token in row.worst[:WORST]:
            yield line(
                (f"  {value(token.loss):>8}", "value"),
                (f"  token {token.token_id:<7}", "text"),
                (f" at {whole(token.place):<7}", "dim"),
                (shown(self._words[token.token_id]) if token.token_id in self._words else "", "accent"),
            )
        if len(row.worst) > WORST:
            yield line((f"  {whole(len(row.worst) - WORST)} tokens with lower losses", "dim"))

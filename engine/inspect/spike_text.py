"""The rows behind a flagged step as text for people: the loss of each token as heat."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from typing import NamedTuple

import numpy as np

from engine.inspect.spikes import Spike, SpikeReader, SpikeRow
from engine.inspect.tokens import RowTokens
from engine.printing.paper import Ink, Paper

_LEVELS = (1.0, 2.5, 5.0, 8.0)
"""Where each level of heat ends, in nats; a guess among 3,000 tokens costs 8."""
_HOT = 4
"""From this level on a token is marked where there is no colour."""
_CONTEXT = 200
"""Characters that are shown around the hottest tokens, unless all are."""
_MOST_PLACES = 10
"""Hot tokens of a long row whose surroundings are shown; where a whole row is hot, that is enough to see why."""


class Heated(NamedTuple):
    """Text of tokens side by side with the same heat: 0 without loss, else 1 to 5."""

    text: str
    level: int
    loss: float


class SpikePrinter:
    """Prints recorded rows. Of long ones only the surroundings of hot tokens are shown unless `is_full`."""

    def __init__(self, reader: SpikeReader, paper: Paper, is_full: bool) -> None:
        self._reader = reader
        self._paper = paper
        self._is_full = is_full
        self._brackets = ("[[", "]]") if paper.signs.is_plain else ("⟦", "⟧")

    def headline(self, spike: Spike) -> None:
        """Say which step it was."""
        rows = f"{len(spike.rows)} rows" if len(spike.rows) != 1 else "1 row"
        loss, norm = _number(spike.loss), _number(spike.grad_norm)
        more = f" ({len(spike.left_out):,} more, less conspicuous, were not recorded)" if spike.left_out else ""
        said = f": loss {loss}, gradient norm {norm}, {rows}{more}, the highest mean loss first"
        self._paper.print(Ink(f"step {spike.step}", "heading"), said)
        self._paper.print()

    def row(self, row: SpikeRow) -> None:
        """Print one row and an empty line."""
        paper, tokens = self._paper, self._reader.tokens(row)
        file, line = self._reader.place(row)
        place = f"{paper.signs.show_in_line(file)}:{line}" if file else "its file is not known"
        mean = "no token has loss" if row.mean_loss is None else f"mean loss {_number(row.mean_loss)}"
        paper.rule([Ink(f"row {row.row}, {place}", "heading"), Ink(f"  {mean}, {row.loss_tokens:,} tokens with loss")])
        for token in row.worst():
            text = paper.signs.show_token(bytes.fromhex(tokens.as_json(token)["bytes"]))
            loss = float(row.losses[token])
            paper.print(Ink(f"  {_number(loss):>9}", _style(_level(loss))), f"  token {token:>6}  {text}")
        for inks in self._lines(list(_heated(row, tokens))):
            for part in paper.wrapped(inks, 2):
                paper.print(Ink("| " if paper.signs.is_plain else "│ ", "faint"), *part)
        paper.print()

    def legend(self) -> None:
        """Say what the signs mean."""
        if self._paper.has_colour:
            names = [f"under {end:g}" for end in _LEVELS] + [f"{_LEVELS[-1]:g} and more"]
            inks = [Ink(f"{name}  ", _style(level)) for level, name in enumerate(names, start=1)]
            self._paper.print("loss: ", *inks, Ink("no loss", "faint"))
        else:
            opening, closing = self._brackets
            self._paper.print(f"{opening}text{closing} with its loss behind it: {_LEVELS[_HOT - 2]:g} and more")

    def _lines(self, heated: list[Heated]) -> Iterator[list[Ink]]:
        inks: list[Ink] = []
        for text, level, loss in heated if self._is_full else self._surroundings(heated):
            *whole, rest = text.split("\n")
            is_marked = level >= _HOT and not self._paper.has_colour
            for part in whole:
                yield [*inks, self._ink(f"{part}\n", level, is_marked, loss)]
                inks = []
            inks += [self._ink(rest, level, is_marked, loss)] if rest else []
        if inks:
            yield inks

    def _ink(self, text: str, level: int, is_marked: bool, loss: float) -> Ink:
        shown = self._paper.signs.show_in_line(text, is_start=False, is_end=False)
        opening, closing = self._brackets
        return Ink(f"{opening}{shown}{closing}({_number(loss)})" if is_marked else shown, _style(level))

    def _surroundings(self, heated: list[Heated]) -> Iterator[Heated]:
        """What is hottest, and the text near to it; the rest as the count of its characters."""
        size = sum(len(piece.text) for piece in heated)
        if size <= 8 * _CONTEXT:
            yield from heated
            return
        hottest = sorted((piece.loss for piece in heated if piece.level >= _HOT), reverse=True)[:_MOST_PLACES]
        near = np.zeros(size + 1, dtype=np.int64)
        place = 0
        for piece in heated:
            if place == 0 or (piece.level >= _HOT and piece.loss >= hottest[-1]):
                near[max(0, place - _CONTEXT)] += 1
                near[min(size, place + len(piece.text) + _CONTEXT)] -= 1
            place += len(piece.text)
        is_near = np.cumsum(near) > 0
        place = 0
        pieces = []
        for piece in heated:
            pieces.append((bool(is_near[place]), piece))
            place += len(piece.text)
        for shown, group in groupby(pieces, key=lambda pair: pair[0]):
            if shown:
                yield from (piece for _, piece in group)
            else:
                left_out = sum(len(piece.text) for _, piece in group)
                yield Heated(f"\n[{left_out:,} characters left out; --full shows them]\n", 0, 0.0)


def _heated(row: SpikeRow, tokens: RowTokens) -> Iterator[Heated]:
    """The tokens in order; hot ones each by itself, neighbours of the same lesser heat together."""
    losses = row.losses.tolist()
    levels = [_level(loss) for loss in losses]
    for (level, _), group in groupby(
        range(len(losses)), key=lambda token: (levels[token], token if levels[token] >= _HOT else -1)
    ):
        members = list(group)
        yield Heated("".join(tokens.text_of(token) for token in members), level, losses[members[0]])


def _level(loss: float) -> int:
    if np.isnan(loss):
        return 0
    return 1 + sum(loss >= end for end in _LEVELS)


def _style(level: int) -> str:
    return f"heat{level}" if level else "faint"


def _number(value: object) -> str:
    return f"{value:.2f}" if isinstance(value, float | int) else str(value)

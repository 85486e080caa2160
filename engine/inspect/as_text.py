"""A row as text for people: turn by turn, with what is trained."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby

from engine.data.audit.flags import Severity
from engine.data.conversation import Conversation, Example, role_of
from engine.data.examine import Examined
from engine.inspect.as_json import all_flags
from engine.inspect.blocks import Block, Piece, blocks_of
from engine.inspect.opening import Inspection
from engine.inspect.tokens import RowTokens
from engine.printing.paper import Ink, Paper

_LONGEST_BLOCK, _HEAD, _TAIL = 4000, 2400, 1200
"""Characters of a turn that are shown whole, and how many of a longer one at either end."""


class RowPrinter:
    """Prints rows of one config. Long turns are shortened in the middle unless `is_full`."""

    def __init__(self, inspection: Inspection, paper: Paper, is_full: bool, lists_tokens: bool) -> None:
        self._inspection = inspection
        self._paper = paper
        self._is_full = is_full
        self._lists_tokens = lists_tokens
        self._is_behind_the_limit = False
        plain = paper.signs.is_plain
        self._brackets = ("[[", "]]") if plain else ("⟦", "⟧")
        self._gutters = ("+ ", "| ") if plain else ("▌ ", "│ ")

    def legend(self) -> None:
        """Say what the signs mean."""
        gutter = self._gutters[0].strip()
        if self._paper.has_colour:
            self._paper.print(Ink("green", "trained"), Ink(f" text is trained, in lines marked {gutter}", "faint"))
        else:
            self._paper.print(f"{self._brackets[0]}...{self._brackets[1]} is trained, in lines marked {gutter}")

    def row(self, examined: Examined) -> None:
        """Print one row and an empty line."""
        tokens = None
        if examined.rendered is not None:
            tokens = RowTokens(examined, examined.rendered, self._inspection.limit, self._inspection.token_bytes)
        self._is_behind_the_limit = False
        self._headline(examined, tokens)
        self._flags(examined)
        if tokens is not None:
            for block in blocks_of(tokens, self._inspection.added_system_prompt):
                self._block(block, tokens)
            if self._lists_tokens:
                self._tokens(tokens)
        self._paper.print()

    def _headline(self, examined: Examined, tokens: RowTokens | None) -> None:
        name = f"row {examined.row} · " if not self._paper.signs.is_plain else f"row {examined.row}, "
        said = f"{self._paper.signs.show_in_line(examined.file)}:{examined.line}"
        self._paper.print(Ink(f"{name}{said}", "heading"))
        if tokens is not None:
            self._paper.paragraph(Ink("  "), self._numbers(tokens), margin=4)

    def _numbers(self, tokens: RowTokens) -> str:
        limit, count, trained = self._inspection.limit, len(tokens), tokens.loss_tokens
        share = f" ({100 * trained / count:.0f} %)" if count else ""
        fate = ""
        if not tokens.examined.kept:
            fate = "; left out of training"
        elif tokens.examined.is_truncated:
            fate = f"; {count - limit:,} tokens are cut off"
        kind = tokens.rendered.example.kind
        return f"{kind}: {count:,} tokens, {trained:,} of them trained{share}, limit {limit:,}{fate}"

    def _flags(self, examined: Examined) -> None:
        marks = {"info": "-", "warning": "!", "error": "x", "critical": "x"}
        for flag in all_flags(examined):
            severity = Severity(flag["severity"])
            turn = f", turn {flag['turn']}" if flag["turn"] is not None else ""
            message = self._paper.signs.show_in_line(flag["message"])
            head = Ink(f"  {marks[severity]} {severity} {flag['code']}{turn}: ", severity)
            self._paper.paragraph(head, message, margin=4)

    def _block(self, block: Block, tokens: RowTokens) -> None:
        self._paper.rule(self._title(block, tokens.rendered.example))
        for line in self._lines(self._shortened(block)):
            is_trained = any(piece.is_trained for piece in line)
            gutter = Ink(self._gutters[0], "trained") if is_trained else Ink(self._gutters[1], "faint")
            for part in self._paper.wrapped(self._inks(line), len(gutter.text)):
                self._paper.print(gutter, *part)
        for text in dict.fromkeys(block.added):
            said = self._paper.signs.show_in_line(text)
            self._paper.print(Ink("  ^ added by the template, not in the data: ", "info"), Ink(said))

    def _title(self, block: Block, example: Example) -> Iterator[Ink]:
        role = role_of(example, block.turn)
        if block.turn is None or role is None:
            yield Ink("template" if isinstance(example, Conversation) else "text", "heading")
        else:
            number = f"turn {block.turn + 1}, " if isinstance(example, Conversation) else ""
            yield Ink(f"{number}{role}", "heading")
        if block.is_trained:
            yield Ink(", trained", "trained")
        elif block.why_not is not None:
            reason = block.why_not.meaning
            yield Ink(f", not trained: {reason[0].lower()}{reason[1:].rstrip('.')}")

    def _shortened(self, block: Block) -> list[Piece]:
        pieces = block.pieces
        length = sum(len(piece.text) for piece in pieces)
        if self._is_full or length <= _LONGEST_BLOCK:
            return pieces
        middle = _between(pieces, _HEAD, length - _TAIL)
        trained = sum(len(piece.text) for piece in middle if piece.is_trained)
        note = f"\n[{length - _HEAD - _TAIL:,} characters left out, {trained:,} of them trained; --full shows them]\n"
        return [
            *_between(pieces, 0, _HEAD),
            Piece(note, False, True, False),
            *_between(pieces, length - _TAIL, length),
        ]

    def _lines(self, pieces: list[Piece]) -> Iterator[list[Piece]]:
        """The pieces by lines of text, and a line of its own where the limit cuts."""
        line: list[Piece] = []
        for piece in pieces:
            if piece.is_cut and not self._is_behind_the_limit:
                if line:
                    yield line
                yield [Piece(f"---- the limit of {self._inspection.limit:,} tokens cuts here ----", False, True, False)]
                line, self._is_behind_the_limit = [], True
            for part in piece.text.splitlines(keepends=True) if "\n" in piece.text else [piece.text]:
                line.append(piece._replace(text=part))
                if part.endswith("\n"):
                    yield line
                    line = []
        if line:
            yield line

    def _inks(self, line: list[Piece]) -> Iterator[Ink]:
        opening, closing = self._brackets
        joined = [list(group) for _, group in groupby(line, key=lambda piece: (piece.is_trained, piece.is_faint))]
        for number, pieces in enumerate(joined):
            text = "".join(piece.text for piece in pieces)
            shown = self._paper.signs.show_in_line(text, number == 0, number == len(joined) - 1)
            if not pieces[0].is_trained:
                yield Ink(shown, "faint" if pieces[0].is_faint else "")
            else:
                yield Ink(shown if self._paper.has_colour else f"{opening}{shown}{closing}", "trained")

    def _tokens(self, tokens: RowTokens) -> None:
        paper = self._paper
        paper.rule([Ink("tokens", "heading")])
        paper.print(Ink(f"  {'token':>7} {'id':>7}  {'loss':<4} {'turn':>4} {'role':<9} {'why':<18} text", "faint"))
        for number, token_id in enumerate(tokens.rendered.input_ids):
            token = tokens.as_json(number)
            loss = "yes" if token["loss"] else "no"
            turn, role = token["turn"] or "-", token["role"] or "-"
            head = f"  {number:>7} {token_id:>7}  {loss:<4} {turn:>4} {role:<9} {token['why']:<18} "
            text = paper.signs.show_token(bytes.fromhex(token["bytes"]))
            paper.print(Ink(head, "trained" if token["loss"] else "faint"), Ink(text))


def _between(pieces: list[Piece], start: int, stop: int) -> list[Piece]:
    """The pieces' characters `start` up to `stop`."""
    found = []
    place = 0
    for piece in pieces:
        first, last = max(start - place, 0), min(stop - place, len(piece.text))
        if first < last:
            found.append(piece._replace(text=piece.text[first:last]))
        place += len(piece.text)
    return found

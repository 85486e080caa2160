"""The token under the cursor: which one, its bytes, whose it is, and why it is trained or not."""

from __future__ import annotations

from collections.abc import Sequence

from pgs_tui.drawing.lines import Line, first_fitting, joined, line
from pgs_tui.format import plain, value, whole
from pgs_tui.inspection.boxes import token_text
from pgs_tui.inspection.reader import Reader
from pgs_tui.inspection.shapes import Stretch, TokenFacts
from pgs_tui.widgets.drawn import Drawn

WHY: dict[str, str] = {
    "answer": "the assistant has to produce it",
    "wrapping": "printed around the answer because the data brings it there",
    "turn_end": "it ends the assistant's turn",
    "template_in_answer": "the template adds it to the answer (data.train_on_template_text)",
    "reasoning": "reasoning (data.train_on_reasoning)",
    "header": "the header, which is given before an answer",
    "supplied": "the generation prompt supplies it",
    "template": "text of the template",
    "other_role": "not the assistant's turn",
    "weight_zero": "the data excludes this turn",
    "empty_answer": "an answer without text",
    "not_last_turn": "not the last answer (data.last_turn_only)",
    "prompt": "the prompt of the row",
    "text": "plain text",
    "given_loss": "the row says so",
    "given_no_loss": "the row says so",
    "first_token": "nothing stands before it that it could be predicted from",
    "cut_off": "behind the limit of length (data.max_seq_length)",
}
"""The reasons for loss or none (docs/json.md), in a few words."""


class TokenLine(Drawn):
    """Two lines, or one where there is room for one only."""

    def __init__(self, *, id: str) -> None:
        super().__init__(id=id)
        self._reader: Reader | None = None
        self._facts: TokenFacts | None = None
        self._walking = False

    def show(self, reader: Reader | None, facts: TokenFacts | None, walking: bool) -> None:
        """Show the reader's token; `facts` may be those of an earlier one, or not be there yet.

        `walking` says that there is a cursor to be seen.
        """
        self._reader, self._facts, self._walking = reader, facts, walking
        self.redraw()

    def draw(self, width: int, height: int) -> Sequence[Line]:
        reader = self._reader
        if reader is None or not reader.sample.text:
            return []
        if not self._walking:
            return [line((" ", "text"), ("Enter", "key"), (" walks from token to token", "dim"))]
        what, why = self._what(reader), self._why(reader)
        if height < 2:
            return [_fullest([*why[:2], *what[:2], *why[2:], *what[2:]], width)]
        return [_fullest(what, width), _fullest(why, width)]

    def _what(self, reader: Reader) -> list[Line]:
        token = reader.token
        if token is None:
            return [line(("the tokens are on their way", "dim"))]
        shown, _ = token_text(reader.sample.text, token, self.glyphs == "ascii")
        total = f" of {whole(reader.tokens.num_tokens)}" if reader.tokens else ""
        facts = self._known(reader)
        octets = facts.octets.hex(" ") if facts else ""
        rank = reader.loss_rank()
        loss = line(("loss ", "dim"), (value(token.loss), "value")) if token.loss is not None else ()
        worst = line((f"{rank[0]}. worst of {rank[1]}", "dim")) if rank else ()
        return [
            line((shown, "value")),
            line(("id ", "dim"), (str(token.id), "text")),
            loss,
            line(("position ", "dim"), (f"{whole(token.number)}{total}", "text")),
            worst,
            line(("bytes ", "dim"), (_short(octets), "text")) if octets else (),
        ]

    def _why(self, reader: Reader) -> list[Line]:
        facts, stretch = self._known(reader), self._stretch(reader)
        if facts is not None:
            loss, why, turn, role = facts.loss, facts.why, facts.turn, facts.role
        elif stretch is not None:
            loss, why, turn, role = reader.is_lit(reader.cursor), stretch.why, stretch.turn, stretch.role
        else:
            return []
        trained = line(("┃ trained", "good")) if loss else line(("no loss", "text"))
        whose = f"turn {turn} {role or ''}".strip() if turn is not None else plain(role or "no turn")
        field = plain(facts.source) if facts is not None and facts.source not in ("", "content") else ""
        reason = line((WHY.get(why, plain(why.replace("_", " "))), "text"))
        return [trained, reason, line((whose, "dim")), line((field, "dim"))]

    def _known(self, reader: Reader) -> TokenFacts | None:
        token, facts = reader.token, self._facts
        return facts if token is not None and facts is not None and facts.position == token.number else None

    def _stretch(self, reader: Reader) -> Stretch | None:
        position = reader.token.start if reader.token is not None else reader.cursor
        return reader.stretch_at(position)


def _fullest(parts: Sequence[Line], width: int) -> Line:
    """As many of the parts as fit, the last ones left out first."""
    forms = [joined(parts[:count]) for count in range(len(parts), 0, -1)]
    return line((" ", "text"), *first_fitting(forms, width - 2))


def _short(octets: str, most: int = 16) -> str:
    """The first bytes."""
    return octets if len(octets) < most * 3 else f"{octets[: most * 3 - 1]} …"

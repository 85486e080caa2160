"""Small chats that show what a chat template prints around an answer.

No marker is looked for in anybody's data: what the probes show is only ever matched against the template's own text.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from engine.data.conversation import CONTENT, REASONING, TOOL_CALLS, Role, Turn
from engine.data.errors import DataError
from engine.data.template.chat_template import ChatTemplate, TemplateRefusedError, UntracedTextError
from engine.data.template.layout import DataPiece, data_pieces
from engine.data.template.traced import TracedStr

CALL_ID = "call00001"  # nine letters and digits, as some templates insist

INSTRUCTION = Turn("system", {CONTENT: "qzx instruction"})
QUESTION = Turn("user", {CONTENT: "qzx first question"})
ANSWER = Turn("assistant", {CONTENT: "qzx first answer"})
LATER = (Turn("user", {CONTENT: "qzx second question"}), Turn("assistant", {CONTENT: "qzx second answer"}))
THOUGHT = Turn("assistant", {CONTENT: "qzx first answer", REASONING: "qzx thought"})
WRITTEN_THOUGHT = Turn("assistant", {CONTENT: "<think>\nqzx thought\n</think>\n\nqzx first answer"})
RESULT = Turn("tool", {CONTENT: "qzx result", "name": "qzx_tool", "tool_call_id": CALL_ID})
TOOL: dict[str, Any] = {
    "type": "function",
    "function": {
        "name": "qzx_tool",
        "description": "qzx description",
        "parameters": {
            "type": "object",
            "properties": {"qzx_name": {"type": "string", "description": "qzx"}},
            "required": ["qzx_name"],
        },
    },
}


def call(content: str = "") -> Turn:
    """A turn that calls the probe's tool."""
    function = {"name": "qzx_tool", "arguments": {"qzx_name": "qzx value"}}
    calls = [{"id": CALL_ID, "type": "function", "function": function}]
    return Turn("assistant", {CONTENT: content, TOOL_CALLS: calls})


@dataclass(frozen=True, slots=True)
class Shown:
    """A rendered probe: its text, and where the data stands in it."""

    text: str
    pieces: list[DataPiece]

    def of_turn(self, turn: int, field: str = "") -> list[DataPiece]:
        """The pieces of one turn (from 0), with `field` those under a path that begins so."""
        return [piece for piece in self.pieces if piece.turn == turn and piece.origin.field.startswith(field)]

    def before(self, piece: DataPiece) -> str:
        """The template's text between the piece before this one and this one."""
        return self.text[
            max((other.stop for other in self.pieces if other.stop <= piece.start), default=0) : piece.start
        ]

    def after(self, piece: DataPiece) -> str:
        """The template's text between this piece and the next one, or the end."""
        stop = min((other.start for other in self.pieces if other.start >= piece.stop), default=len(self.text))
        return self.text[piece.stop : stop]

    @property
    def first_text(self) -> str:
        """What stands before any text of the data."""
        return self.text[: self.pieces[0].start] if self.pieces else self.text

    @property
    def tail(self) -> str:
        """What stands behind all text of the data."""
        return self.text[self.pieces[-1].stop :] if self.pieces else self.text


class Prober:
    """Renders probes; puts a system turn in front where the template insists on one.

    Raises:
        DataError: the template refuses the plainest chat.
    """

    def __init__(self, template: ChatTemplate) -> None:
        self._template = template
        self.prefix: tuple[Turn, ...] = self._accepted_prefix()

    @property
    def first(self) -> int:
        """The number of the first turn behind the prefix."""
        return len(self.prefix)

    def show(self, *turns: Turn, with_tool: bool = False, prompt: bool = False) -> Shown | None:
        """The chat behind the prefix, or None where the template refuses it or cannot be followed."""
        return self.show_bare(*self.prefix, *turns, with_tool=with_tool, prompt=prompt)

    def show_bare(self, *turns: Turn, with_tool: bool = False, prompt: bool = False) -> Shown | None:
        """The chat as it is, or None where the template refuses it or cannot be followed."""
        try:
            text = self._template.render(turns, [TOOL] if with_tool else (), prompt)
        except (TemplateRefusedError, UntracedTextError):
            return None
        return shown(text)

    def spans(self, *turns: Turn, with_tool: bool = False) -> list[tuple[int, int]]:
        """The `{% generation %}` marks of the chat behind the prefix."""
        try:
            return self._template.generation_spans((*self.prefix, *turns), [TOOL] if with_tool else ())
        except TemplateRefusedError:
            return []

    def _accepted_prefix(self) -> tuple[Turn, ...]:
        try:
            self._template.render((QUESTION, ANSWER))
        except TemplateRefusedError as refusal:
            if self.show_bare(INSTRUCTION, QUESTION, ANSWER) is None:
                raise DataError(
                    f"The chat template refuses a plain chat of a user and an assistant turn: {refusal}."
                ) from refusal
            return (INSTRUCTION,)
        return ()


def shown(text: TracedStr) -> Shown:
    """A rendered probe, taken apart. Text of the tools belongs to no turn and counts as the template's."""
    pieces = [piece for piece in data_pieces(text) if piece.turn is not None]
    return Shown(str.__getitem__(text, slice(None)), pieces)


def turn(role: Role, text: str) -> Turn:
    """A turn with nothing but text."""
    return Turn(role, {CONTENT: text})

"""The one internal form of a row, whatever format it came in: what rendering, masking and the audit work on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

from engine.data.blank import says_nothing
from engine.data.errors import BadRow
from engine.data.paths import strings_of

CONTENT = "content"
REASONING = "reasoning_content"
ROLE = "role"
TOOL_CALLS = "tool_calls"

Role = Literal["system", "developer", "user", "assistant", "tool"]
ROLES: tuple[Role, ...] = ("system", "developer", "user", "assistant", "tool")

Kind = Literal["messages", "conversations", "alpaca", "prompt_completion", "question_answer", "text", "tokenized"]
"""The format in which a row was written."""


@dataclass(frozen=True)
class Turn:
    """One message. `message` is what a chat template gets to see under every key but the role.

    `content` is a string or a list of parts `{"type": "text", "text": ...}`; `reasoning_content` a string;
    `tool_calls` a list of `{"type": "function", "function": {"name": str, "arguments": dict}}`; a tool's answer may
    have `name` and `tool_call_id`, and a call an `id`. Keys without a value are left out, except that `content` is
    always there.
    `trained` is False where the data excludes the turn from the loss (weight 0, or an answer that is part of a prompt).
    """

    role: Role
    message: Mapping[str, Any]
    trained: bool = True

    @cached_property
    def texts(self) -> Mapping[str, str]:
        """All strings of the message by their path (see `engine.data.paths`)."""
        return dict(strings_of(self.message))

    @cached_property
    def content(self) -> str:
        """The text of the content, its parts joined."""
        content = self.message.get(CONTENT) or ""
        return content if isinstance(content, str) else "".join(part.get("text", "") for part in content)

    @property
    def reasoning(self) -> str:
        """The reasoning under a key of its own."""
        reasoning: str = self.message.get(REASONING) or ""
        return reasoning

    @property
    def tool_calls(self) -> Sequence[Mapping[str, Any]]:
        """The calls in the order in which they are made."""
        calls: Sequence[Mapping[str, Any]] = self.message.get(TOOL_CALLS) or ()
        return calls

    @property
    def is_answer(self) -> bool:
        return self.role == "assistant"

    @property
    def is_empty(self) -> bool:
        """No call, and nothing to be seen in content and reasoning."""
        return not self.tool_calls and says_nothing(self.content) and says_nothing(self.reasoning)


@dataclass(frozen=True)
class Conversation:
    """The turns of one row, the tools that it offers, and where it stands."""

    row: int
    file: str
    line: int
    turns: tuple[Turn, ...]
    tools: tuple[Mapping[str, Any], ...] = ()
    kind: Kind = "messages"

    def bad_row(self, code: str, reason: str, turn: int | None = None) -> BadRow:
        """This row as a bad one; `turn` counts from 0."""
        return bad_row(self, code, reason, turn)


@dataclass(frozen=True)
class Part:
    """A stretch of plain text. A `prompt` has no loss, a `completion` and a `text` have."""

    role: Literal["prompt", "completion", "text"]
    text: str


@dataclass(frozen=True)
class Document:
    """A row of plain text that no chat template touches; the end token stands behind its last part."""

    row: int
    file: str
    line: int
    parts: tuple[Part, ...]
    kind: Kind = "text"

    @property
    def is_empty(self) -> bool:
        """Nothing to be seen that could be trained."""
        return all(says_nothing(part.text) for part in self.parts if part.role != "prompt")

    def bad_row(self, code: str, reason: str, turn: int | None = None) -> BadRow:
        """This row as a bad one; `turn` counts from 0."""
        return bad_row(self, code, reason, turn)


@dataclass(frozen=True)
class TokenRow:
    """A row that was tokenized elsewhere. `has_loss` has one entry a token; None where the row says nothing of it."""

    row: int
    file: str
    line: int
    input_ids: tuple[int, ...]
    has_loss: tuple[bool, ...] | None = None
    kind: Kind = field(default="tokenized", init=False)

    def bad_row(self, code: str, reason: str, turn: int | None = None) -> BadRow:
        """This row as a bad one; `turn` counts from 0."""
        return bad_row(self, code, reason, turn)


Example = Conversation | Document | TokenRow


def role_of(example: Example, turn: int | None) -> str | None:
    """Whose text that of a turn (or of a part of a document) is; `turn` counts from 0. None where nobody's."""
    if turn is None or isinstance(example, TokenRow):
        return None
    return example.turns[turn].role if isinstance(example, Conversation) else example.parts[turn].role


def bad_row(place: Any, code: str, reason: str, turn: int | None = None) -> BadRow:
    """A bad row at the place of anything with `row`, `file` and `line`; `turn` counts from 0."""
    number = None if turn is None else turn + 1
    return BadRow(code, place.row, place.file, place.line, reason, turn=number)

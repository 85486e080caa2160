"""Findings about what a chat says, before any template."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from engine.data.audit.flags import RowFlag, Severity, turn_flag
from engine.data.audit.hidden import hidden_characters, may_hide, told
from engine.data.audit.tool_checks import tool_flags
from engine.data.conversation import Conversation
from engine.data.masking.think import THINK_CLOSE, THINK_OPEN


def is_odd(texts: Iterable[str]) -> bool:
    """Whether there may be anything to tell about what the texts of a chat say; False is certain."""
    together = "\n".join(texts)
    return THINK_OPEN in together or THINK_CLOSE in together or may_hide(together)


def conversation_flags(conversation: Conversation) -> Iterator[RowFlag]:
    """Findings that need no template."""
    turns = conversation.turns
    for number, turn in enumerate(turns):
        if turn.is_answer and turn.is_empty:
            yield turn_flag(conversation, "EMPTY_ANSWER", Severity.WARNING, "empty answer, not trained", number)
        if turn.is_answer and turn.content.count(THINK_OPEN) != turn.content.count(THINK_CLOSE):
            message = "opening and closing think tags do not match; look at the rendered text"
            yield turn_flag(conversation, "UNBALANCED_THINK", Severity.WARNING, message, number)
        if number and turn.role == turns[number - 1].role and turn.role != "tool":
            yield turn_flag(conversation, "SAME_ROLE_TWICE", Severity.INFO, "same role twice in a row", number)
        yield from _hidden_characters(conversation, number)
    yield from tool_flags(conversation)
    yield from _missing_answer(conversation)


def _hidden_characters(conversation: Conversation, number: int) -> Iterator[RowFlag]:
    found = hidden_characters(conversation.turns[number].texts.values())
    if found:
        yield turn_flag(conversation, "HIDDEN_CHARACTERS", Severity.INFO, told(found), number, found.total())


def _missing_answer(conversation: Conversation) -> Iterator[RowFlag]:
    answers = [number for number, turn in enumerate(conversation.turns) if turn.is_answer]
    first = answers[-1] + 1 if answers else 0
    last = len(conversation.turns) - 1
    if first <= last:
        turns = f"turn {first + 1}" if first == last else f"turns {first + 1}-{last + 1}"
        message = f"ends without an answer ({turns}); is a role wrong?"
        yield turn_flag(conversation, "ENDS_WITHOUT_ANSWER", Severity.WARNING, message, first)

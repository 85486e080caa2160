"""Findings about one chat: what its text says, and what the template made of it."""

from __future__ import annotations

from collections.abc import Iterator

from engine.data.audit.flags import RowFlag, Severity
from engine.data.conversation import CONTENT, Conversation, Turn
from engine.data.rendering.reasons import Why
from engine.data.rendering.rendered import Rendered
from engine.data.template.facts import TemplateFacts
from engine.data.template.layout import DataPiece, data_pieces

THINK_OPEN, THINK_CLOSE = "<think>", "</think>"


def conversation_flags(conversation: Conversation) -> Iterator[RowFlag]:
    """Findings that need no template."""
    turns = conversation.turns
    for number, turn in enumerate(turns):
        if turn.is_answer and turn.is_empty:
            yield _flag(conversation, "EMPTY_ANSWER", Severity.WARNING, "empty answer, not trained", number)
        if turn.is_answer and turn.content.count(THINK_OPEN) != turn.content.count(THINK_CLOSE):
            message = "opening and closing think tags do not match; look at the rendered text"
            yield _flag(conversation, "UNBALANCED_THINK", Severity.WARNING, message, number)
        if number and turn.role == turns[number - 1].role:
            yield _flag(conversation, "SAME_ROLE_TWICE", Severity.INFO, "same role twice in a row", number)
    yield from _missing_answer(conversation)


def _missing_answer(conversation: Conversation) -> Iterator[RowFlag]:
    answers = [number for number, turn in enumerate(conversation.turns) if turn.is_answer]
    first = answers[-1] + 1 if answers else 0
    last = len(conversation.turns) - 1
    if first <= last:
        turns = f"turn {first + 1}" if first == last else f"turns {first + 1}-{last + 1}"
        message = f"ends without an answer ({turns}); is a role wrong?"
        yield _flag(conversation, "ENDS_WITHOUT_ANSWER", Severity.WARNING, message, first)


def rendering_flags(conversation: Conversation, rendered: Rendered, facts: TemplateFacts) -> Iterator[RowFlag]:
    """Findings about the rendered text."""
    if facts.turn_end is None and any(turn.is_answer for turn in conversation.turns):
        message = (
            "the template has no token that ends an answer; a special token that opens the next turn counts as the end"
        )
        yield _flag(conversation, "NO_TURN_END_TOKEN", Severity.WARNING, message)
    if facts.added_system_prompt.strip() and not any(turn.role == "system" for turn in conversation.turns):
        message = f"the template adds a system prompt that is not in the data: {facts.added_system_prompt[:80]!r}"
        yield _flag(conversation, "SYSTEM_PROMPT_ADDED", Severity.INFO, message)
    if not facts.is_prefix_stable and sum(turn.is_answer for turn in conversation.turns) > 1:
        message = "the template renders an answer in another way once the chat goes on"
        yield _flag(conversation, "NOT_PREFIX_STABLE", Severity.INFO, message)
    if rendered.special_texts:
        message = f"text like {rendered.special_texts[0]!r} in the data stays plain text"
        yield _flag(conversation, "SPECIAL_TEXT_IN_DATA", Severity.INFO, message)
    yield from _template_text_in_answers(conversation, rendered)
    yield from _changed_texts(conversation, rendered)


def _template_text_in_answers(conversation: Conversation, rendered: Rendered) -> Iterator[RowFlag]:
    for segment in rendered.segments:
        if segment.why is Why.TEMPLATE_IN_ANSWER:
            text = str.__getitem__(rendered.text, slice(segment.start, segment.stop))
            trained = "trained" if segment.loss else "not trained"
            message = f"the template adds {text[:80]!r} to the answer; it is {trained}"
            yield _flag(conversation, "TEMPLATE_TEXT_IN_ANSWER", Severity.INFO, message, segment.turn)


def _changed_texts(conversation: Conversation, rendered: Rendered) -> Iterator[RowFlag]:
    pieces = data_pieces(rendered.text)
    for number, turn in enumerate(conversation.turns):
        if turn.is_empty:
            continue
        printed = [piece for piece in pieces if piece.turn == number]
        if not printed:
            yield _flag(
                conversation, "TURN_NOT_RENDERED", Severity.WARNING, "the template leaves this turn out", number
            )
            continue
        reasoning = _dropped_reasoning(turn, printed)
        if reasoning:
            message = f"the template drops {reasoning} characters of reasoning"
            yield _flag(conversation, "REASONING_DROPPED", Severity.WARNING, message, number)
        removed = _removed(rendered, turn, printed)
        if removed and not reasoning:
            message = f"the template changed the text ({removed} characters removed)"
            yield _flag(conversation, "TEXT_CHANGED", Severity.INFO, message, number)


def _dropped_reasoning(turn: Turn, printed: list[DataPiece]) -> int:
    """How many characters of a think block, or of reasoning under a key of its own, the template leaves out."""
    dropped = 0
    for field, text in turn.texts.items():
        start, stop = _think_block(text) if field == CONTENT else (0, len(text))
        block = text[start:stop]
        start += len(block) - len(block.lstrip())
        stop = start + len(block.strip())
        shown = sum(
            max(0, min(stop, piece.index_stop) - max(start, piece.index))
            for piece in printed
            if piece.origin.field == field
        )
        dropped += max(0, stop - start - shown) if turn.is_answer else 0
    return dropped


def _think_block(text: str) -> tuple[int, int]:
    opening, closing = text.find(THINK_OPEN), text.find(THINK_CLOSE)
    return (opening + len(THINK_OPEN), closing) if 0 <= opening < closing else (0, 0)


def _removed(rendered: Rendered, turn: Turn, printed: list[DataPiece]) -> int:
    """Characters of the turn's texts that are not in its stretch of the rendered text."""
    wrapping = sum(
        segment.stop - segment.start
        for segment in rendered.segments
        if segment.why in (Why.WRAPPING, Why.SUPPLIED) and segment.turn == printed[0].turn
    )
    length = sum(map(len, turn.texts.values()))
    shown = sum(piece.stop - piece.start for piece in printed)
    return max(0, length - shown - wrapping)


def _flag(conversation: Conversation, code: str, severity: Severity, message: str, turn: int | None = None) -> RowFlag:
    """`turn` counts from 0 here and from 1 in the flag."""
    shown = None if turn is None else turn + 1
    return RowFlag(code, severity, conversation.row, conversation.file, conversation.line, message, shown)

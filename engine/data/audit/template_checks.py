"""Findings about what the template made of a chat."""

from __future__ import annotations

from collections.abc import Iterator
from reprlib import Repr

from engine.data.audit.changes import dropped_reasoning, lost_text, removed_characters
from engine.data.audit.flags import RowFlag, Severity, turn_flag
from engine.data.conversation import Conversation
from engine.data.counted import counted
from engine.data.masking.reasons import Why
from engine.data.masking.stretches import Kind, is_content, kind_of
from engine.data.masking.think import think_stop
from engine.data.rendering.rendered import Rendered
from engine.data.template.facts import TemplateFacts
from engine.data.template.layout import DataPiece, data_pieces
from engine.data.template.messages import TOOLS

_SHORT = Repr()
_SHORT.maxstring = 80


def rendering_flags(conversation: Conversation, rendered: Rendered, facts: TemplateFacts) -> Iterator[RowFlag]:
    """Findings about the rendered text."""
    pieces = data_pieces(rendered.text)
    yield from _ends(conversation, facts)
    yield from _system_prompt(conversation, facts)
    earlier = [turn for turn in conversation.turns if turn.is_answer][:-1]
    reasons = any(turn.reasoning or think_stop(turn.content) for turn in earlier)
    if earlier and not (facts.is_prefix_stable and (facts.keeps_reasoning or not reasons)):
        message = "the template renders an answer in another way once the chat goes on"
        yield turn_flag(conversation, "NOT_PREFIX_STABLE", Severity.INFO, message)
    if rendered.special_texts:
        message = f"text like {rendered.special_texts[0]!r} in the data stays plain text"
        yield turn_flag(conversation, "SPECIAL_TEXT_IN_DATA", Severity.INFO, message)
    if conversation.tools and not any(piece.origin.field.startswith(f"{TOOLS}.") for piece in pieces):
        message = "the template does not tell the model of the tools that the row offers"
        yield turn_flag(conversation, "TOOLS_NOT_RENDERED", Severity.WARNING, message)
    yield from _template_text_in_answers(conversation, rendered)
    yield from _changed_texts(conversation, rendered, pieces)


def _ends(conversation: Conversation, facts: TemplateFacts) -> Iterator[RowFlag]:
    answers = sum(turn.is_answer for turn in conversation.turns)
    if not answers:
        return
    last, earlier = facts.ends.last, facts.ends.earlier
    if last is None and earlier is None:
        message = (
            "the template has no token that ends an answer; a special token that opens the next turn counts as the end"
        )
        yield turn_flag(conversation, "NO_TURN_END_TOKEN", Severity.WARNING, message)
    elif answers > 1 and earlier is None:
        message = f"the template ends only the last answer of a chat (with {last!r}); earlier ones have no end to learn"
        yield turn_flag(conversation, "END_ONLY_IN_LAST_TURN", Severity.WARNING, message)
    elif answers > 1 and last != earlier:
        message = f"the template ends the last answer of a chat with {last!r} and earlier ones with {earlier!r}"
        yield turn_flag(conversation, "TURN_END_DIFFERS", Severity.INFO, message)


def _system_prompt(conversation: Conversation, facts: TemplateFacts) -> Iterator[RowFlag]:
    has_system = any(turn.role in ("system", "developer") for turn in conversation.turns)
    if not has_system and facts.added_system_prompt.strip():
        shown = _SHORT.repr(facts.added_system_prompt)
        message = f"the template adds a system prompt that is not in the data: {shown}"
        yield turn_flag(conversation, "SYSTEM_PROMPT_ADDED", Severity.INFO, message)
    elif facts.added_to_system_turn:
        shown = _SHORT.repr(facts.added_to_system_turn)
        message = f"the template adds text of its own in front of the chat, system turn or not: {shown}"
        yield turn_flag(conversation, "SYSTEM_PROMPT_EXTENDED", Severity.INFO, message)


def _template_text_in_answers(conversation: Conversation, rendered: Rendered) -> Iterator[RowFlag]:
    for segment in rendered.segments:
        if segment.why is Why.TEMPLATE_IN_ANSWER:
            text = str.__getitem__(rendered.text, slice(segment.start, segment.stop))
            trained = "trained" if segment.loss else "not trained"
            message = f"the template adds {text[:80]!r} to the answer; it is {trained}"
            yield turn_flag(conversation, "TEMPLATE_TEXT_IN_ANSWER", Severity.INFO, message, segment.turn)


def _changed_texts(conversation: Conversation, rendered: Rendered, pieces: list[DataPiece]) -> Iterator[RowFlag]:
    text = str.__getitem__(rendered.text, slice(None))
    by_turn: dict[int | None, list[DataPiece]] = {}
    for piece in pieces:
        by_turn.setdefault(piece.turn, []).append(piece)
    out_of_order = _turns_out_of_order(len(conversation.turns), by_turn)
    for number, turn in enumerate(conversation.turns):
        if turn.is_empty:
            continue
        printed = by_turn.get(number, [])
        if not printed:
            message = "the template leaves this turn out"
            yield turn_flag(conversation, "TURN_NOT_RENDERED", Severity.WARNING, message, number)
            continue
        if number in out_of_order:
            severity = Severity.WARNING if turn.is_answer else Severity.INFO
            message = "the template prints text of this turn behind that of a later one"
            yield turn_flag(conversation, "TURN_OUT_OF_ORDER", severity, message, number)
        if turn.tool_calls and not any(kind_of(piece.origin.field) is Kind.CALL for piece in printed):
            message = "the template leaves the tool call out"
            yield turn_flag(conversation, "TOOL_CALL_NOT_RENDERED", Severity.WARNING, message, number)
        if lost := lost_text(turn, printed):
            message = (
                f"the template leaves out the text of this turn ({counted(lost, 'character')}) and prints the rest"
            )
            yield turn_flag(conversation, "TEXT_NOT_RENDERED", Severity.WARNING, message, number)
        reasoning = dropped_reasoning(turn, printed) if turn.is_answer else 0
        if reasoning:
            message = f"the template drops {counted(reasoning, 'character')} of reasoning"
            yield turn_flag(conversation, "REASONING_DROPPED", Severity.WARNING, message, number)
        elif removed := removed_characters(turn, printed, text):
            message = f"the template changed the text ({counted(removed, 'character')} removed)"
            yield turn_flag(conversation, "TEXT_CHANGED", Severity.INFO, message, number)


def _turns_out_of_order(turns: int, by_turn: dict[int | None, list[DataPiece]]) -> set[int]:
    """Turns of which content stands behind content of one that comes later in the data."""
    found: set[int] = set()
    first_of_later: int | None = None
    for number in reversed(range(turns)):
        starts = [piece.start for piece in by_turn.get(number, []) if is_content(piece.origin.field)]
        if starts and first_of_later is not None and max(starts) > first_of_later:
            found.add(number)
        first_of_later = min([*starts, *([] if first_of_later is None else [first_of_later])], default=None)
    return found

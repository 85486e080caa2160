"""Finds out in which forms a template reads its messages, so that data in another form need not be refused."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from engine.data.conversation import CONTENT, TOOL_CALLS, Turn
from engine.data.errors import DataError
from engine.data.template.chat_template import ChatTemplate, TemplateRefusedError
from engine.data.template.messages import MessageForms
from engine.data.template.probes import ANSWER, QUESTION, RESULT, Prober, Shown, call, shown


def adapted_template(tokenizer: Any) -> ChatTemplate:
    """The tokenizer's chat template, given its messages in forms that it prints.

    Raises:
        DataError: there is none, or it prints the text of a chat in no form.
    """
    template = ChatTemplate(tokenizer)
    return _with_call_forms(template.with_forms(MessageForms(content=_content_form(template))))


def _content_form(template: ChatTemplate) -> Any:
    takes_text = _prints(template, QUESTION, ANSWER)
    takes_parts = _prints(template, *map(_in_parts, (QUESTION, ANSWER)))
    if takes_text:
        return "any" if takes_parts else "text"
    return "parts" if takes_parts else "any"


def _in_parts(turn: Turn) -> Turn:
    return Turn(turn.role, {**turn.message, CONTENT: [{"type": "text", "text": turn.content}]})


def _prints(template: ChatTemplate, *turns: Turn) -> bool:
    """Whether the texts of all turns are printed whole and as the data's."""
    try:
        text = shown(template.render(turns))
    except (TemplateRefusedError, DataError):
        return False
    return all(_is_whole(text, number, turn) for number, turn in enumerate(turns))


def _is_whole(text: Shown, number: int, turn: Turn) -> bool:
    printed = "".join(text.text[piece.start : piece.stop] for piece in text.of_turn(number, CONTENT))
    return printed == turn.content


def _with_call_forms(template: ChatTemplate) -> ChatTemplate:
    """The first forms in which a tool call is printed; unchanged where none is."""
    for forms in _call_forms(template.forms):
        tried = template.with_forms(forms)
        if _prints_call(tried):
            return tried
    return template


def _call_forms(forms: MessageForms) -> Iterator[MessageForms]:
    for arguments_as_json in (False, True):
        for bare_calls in (False, True):
            yield replace(forms, bare_calls=bare_calls, arguments_as_json=arguments_as_json)


def _prints_call(template: ChatTemplate) -> bool:
    try:
        prober = Prober(template)
        text = prober.show(QUESTION, call(), RESULT, ANSWER) or prober.show(QUESTION, call())
    except DataError:
        return False
    return text is not None and bool(text.of_turn(prober.first + 1, TOOL_CALLS))

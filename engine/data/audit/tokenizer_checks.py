"""Findings about the tokenizer and its template, which concern every row alike."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from engine.data.audit.flags import AuditFlag, Severity
from engine.data.template.facts import TemplateFacts
from engine.data.template.messages import MessageForms


def tokenizer_flags(tokenizer: Any, facts: TemplateFacts | None) -> Iterator[AuditFlag]:
    """Findings about the tokenizer and its template, which concern every row alike; none without a template."""
    if facts is None:
        return
    bos = tokenizer.bos_token
    if bos and not facts.first_text.startswith(bos) and tokenizer("x")["input_ids"][:1] == [tokenizer.bos_token_id]:
        message = f"the tokenizer would add {bos!r} in front, the chat template does not; the template is followed"
        yield AuditFlag("BOS_NOT_IN_TEMPLATE", Severity.INFO, 1, (), message)
    if getattr(tokenizer, "split_special_tokens", False):
        message = (
            "the tokenizer is told to read special tokens in a text as plain text, so at inference it would not know "
            "the turns of a chat; training takes them as tokens. Set split_special_tokens: false in "
            "tokenizer_config.json"
        )
        yield AuditFlag("SPECIAL_TOKENS_SPLIT", Severity.WARNING, 1, (), message)
    if facts.prints_date:
        message = (
            "the chat template prints today's date, so the tokens differ from day to day; one run keeps the date of "
            "its start"
        )
        yield AuditFlag("DATE_IN_TEMPLATE", Severity.WARNING, 1, (), message)
    if not facts.has_generation_prompt:
        message = (
            "the chat template prints no generation prompt; what it prints in front of every answer "
            f"({facts.generation_prompt!r}) counts as the header, which inference has to supply"
        )
        yield AuditFlag("NO_GENERATION_PROMPT", Severity.INFO, 1, (), message)
    if facts.prompt_beyond_chats:
        message = (
            f"at inference the generation prompt goes on with {facts.prompt_beyond_chats[:80]!r}, which the chat "
            "template prints in front of no answer, so the model is not trained to answer behind it"
        )
        yield AuditFlag("PROMPT_NOT_IN_CHATS", Severity.WARNING, 1, (), message)
    if facts.marks_fault is not None:
        message = (
            f"the {{% generation %}} marks of the chat template are wrong: {facts.marks_fault}; "
            "the mask follows the data's text instead"
        )
        yield AuditFlag("GENERATION_MARKS_WRONG", Severity.INFO, 1, (), message)
    if facts.forms not in (MessageForms(), MessageForms(content="text")):
        message = f"the chat template reads messages in forms of its own, and gets them so: {_told(facts.forms)}"
        yield AuditFlag("MESSAGES_ADAPTED", Severity.INFO, 1, (), message)


def _told(forms: MessageForms) -> str:
    told = ["content as a list of parts"] if forms.content == "parts" else []
    if forms.bare_calls:
        told.append("no content at all beside tool calls that stand alone")
    if forms.arguments_as_json:
        told.append("the arguments of tool calls as a string of JSON")
    return ", ".join(told)

"""Every kind of example to text, tokens and loss mask."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

from engine.data.conversation import Conversation, Document, Example
from engine.data.encoding.text_encoder import TextEncoder
from engine.data.errors import BadRow, DataError
from engine.data.masking.draft import Draft
from engine.data.masking.marks import marks_fault
from engine.data.masking.rules import MaskOptions, MaskRules
from engine.data.rendering.chat import ChatRenderer
from engine.data.rendering.given_tokens import GivenTokenRenderer
from engine.data.rendering.plain import PlainRenderer, frame_of
from engine.data.rendering.rendered import Rendered
from engine.data.template.facts import TemplateFacts, find_facts, turn_tokens
from engine.data.template.forms import adapted_template
from engine.data.template.special_tokens import special_tokens


class Renderer:
    """Renders, masks and tokenizes examples with one tokenizer and its chat template.

    `facts` is None where the tokenizer has no chat template that can be used: rows of plain text and of tokens do
    without, and only a chat is refused then.

    Raises:
        DataError: the tokenizer has no fast version.
    """

    facts: TemplateFacts | None

    def __init__(self, tokenizer: Any, options: MaskOptions | None = None) -> None:
        self._tokenizer = tokenizer
        self._options = options or MaskOptions()
        self._special_tokens = special_tokens(tokenizer)
        try:
            self._template = adapted_template(tokenizer)
            facts = find_facts(self._template, self._special_tokens)
            self.facts = replace(facts, marks_fault=marks_fault(self._template, facts, self._special_tokens))
        except DataError as error:
            self.facts, self._refusal = None, str(error)
        marks = turn_tokens(self.facts, self._special_tokens) if self.facts is not None else ()
        self._encoder = TextEncoder(tokenizer, marks)

    def render(self, examples: Sequence[Example]) -> list[Rendered | BadRow]:
        """One result an example, in order; a bad row where the template or the tokenizer refuses it.

        Raises:
            DataError: there is a chat among them, and the tokenizer has no chat template that can be used.
        """
        chats = [example for example in examples if isinstance(example, Conversation)]
        documents = [example for example in examples if isinstance(example, Document)]
        rendered_chats = iter(self._chats.render(chats) if chats else ())
        rendered_documents = iter(self._documents.render(documents) if documents else ())
        return [
            next(rendered_chats)
            if isinstance(example, Conversation)
            else next(rendered_documents)
            if isinstance(example, Document)
            else self._given_tokens.render(example)
            for example in examples
        ]

    def draft(self, example: Example) -> Draft | BadRow:
        """Text and mask without the tokenizer, which takes long for long rows; otherwise as `render`."""
        if isinstance(example, Conversation):
            return self._chats.draft(example)
        if isinstance(example, Document):
            return self._documents.draft(example)
        rendered = self._given_tokens.render(example)
        return rendered if isinstance(rendered, BadRow) else rendered.draft

    @cached_property
    def _chats(self) -> ChatRenderer:
        if self.facts is None:
            raise DataError(self._refusal)
        rules = MaskRules(self.facts, self._special_tokens, self._options)
        return ChatRenderer(self._template, rules, self._encoder)

    @cached_property
    def _documents(self) -> PlainRenderer:
        return PlainRenderer(frame_of(self._tokenizer), self._encoder)

    @cached_property
    def _given_tokens(self) -> GivenTokenRenderer:
        return GivenTokenRenderer(self._tokenizer)

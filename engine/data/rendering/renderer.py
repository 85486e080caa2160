"""Every kind of example to text, tokens and loss mask."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from engine.data.conversation import Conversation, Example
from engine.data.errors import BadRow
from engine.data.rendering.chat import ChatRenderer
from engine.data.rendering.draft import Draft
from engine.data.rendering.masking import MaskOptions, MaskRules
from engine.data.rendering.rendered import Rendered
from engine.data.rendering.tokens import TextEncoder
from engine.data.template.chat_template import ChatTemplate
from engine.data.template.facts import find_facts, special_tokens, turn_tokens


class Renderer:
    """Renders, masks and tokenizes examples with one tokenizer and its chat template.

    Raises:
        DataError: the tokenizer has no usable chat template, or no fast version.
    """

    def __init__(self, tokenizer: Any, options: MaskOptions | None = None) -> None:
        template = ChatTemplate(tokenizer)
        tokens = special_tokens(tokenizer)
        self.facts = find_facts(template, tokens)
        encoder = TextEncoder(tokenizer, turn_tokens(self.facts, tokens))
        self._chat = ChatRenderer(template, MaskRules(self.facts, tokens, options or MaskOptions()), encoder)

    def render(self, examples: Sequence[Example]) -> list[Rendered | BadRow]:
        """One result an example, in order; a bad row where the template or the tokenizer refuses it."""
        chats = iter(self._chat.render([example for example in examples if isinstance(example, Conversation)]))
        return [
            next(chats)
            if isinstance(example, Conversation)
            else example.bad_row("NOT_AVAILABLE", "plain text and token rows are not available yet")
            for example in examples
        ]

    def draft(self, example: Example) -> Draft | BadRow:
        """Text and mask without the tokenizer, which takes long for long rows; otherwise as `render`."""
        if isinstance(example, Conversation):
            return self._chat.draft(example)
        return example.bad_row("NOT_AVAILABLE", "plain text and token rows are not available yet")

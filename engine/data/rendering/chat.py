"""Conversations through the model's chat template, masked by where each character comes from."""

from __future__ import annotations

from collections.abc import Sequence

from engine.data.conversation import Conversation
from engine.data.errors import BadRow
from engine.data.rendering.masking import MaskRules, mask_segments
from engine.data.rendering.rendered import Rendered
from engine.data.rendering.tokens import EncodedText, SpecialTextError, TextEncoder
from engine.data.template.chat_template import ChatTemplate, TemplateRefusedError
from engine.data.template.traced import TracedStr


class ChatRenderer:
    """Renders, masks and tokenizes conversations."""

    def __init__(self, template: ChatTemplate, rules: MaskRules, encoder: TextEncoder) -> None:
        self._template = template
        self._rules = rules
        self._encoder = encoder

    def render(self, conversations: Sequence[Conversation]) -> list[Rendered | BadRow]:
        """One result a conversation, in order; a bad row where the template or the tokenizer refuses it."""
        texts = [self._text(conversation) for conversation in conversations]
        encoded = iter(self._encoder.encode([text for text in texts if isinstance(text, TracedStr)]))
        return [
            text if isinstance(text, BadRow) else self._rendered(conversation, text, next(encoded))
            for conversation, text in zip(conversations, texts, strict=True)
        ]

    def _text(self, conversation: Conversation) -> TracedStr | BadRow:
        try:
            return self._template.render(conversation.turns)
        except TemplateRefusedError as refusal:
            return conversation.bad_row("TEMPLATE_REFUSED", f"the chat template refuses it: {refusal}")

    def _rendered(
        self, conversation: Conversation, text: TracedStr, encoded: EncodedText | SpecialTextError
    ) -> Rendered | BadRow:
        if isinstance(encoded, SpecialTextError):
            return conversation.bad_row("SPECIAL_TEXT", str(encoded))
        segments = mask_segments(text, conversation.turns, self._rules)
        return Rendered.of(conversation, text, segments, encoded)

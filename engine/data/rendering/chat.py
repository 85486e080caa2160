"""Conversations through the model's chat template, masked by where each character comes from."""

from __future__ import annotations

from collections.abc import Sequence

from engine.data.conversation import Conversation
from engine.data.errors import BadRow
from engine.data.rendering.draft import Draft
from engine.data.rendering.masking import MaskRules, mask_segments
from engine.data.rendering.rendered import Rendered
from engine.data.rendering.tokens import EncodedText, SpecialTextError, TextEncoder
from engine.data.template.chat_template import ChatTemplate, TemplateRefusedError


class ChatRenderer:
    """Renders, masks and tokenizes conversations."""

    def __init__(self, template: ChatTemplate, rules: MaskRules, encoder: TextEncoder) -> None:
        self._template = template
        self._rules = rules
        self._encoder = encoder

    def draft(self, conversation: Conversation) -> Draft | BadRow:
        """The text and its mask, without tokens; a bad row where the template refuses the conversation."""
        try:
            text = self._template.render(conversation.turns, conversation.tools)
        except TemplateRefusedError as refusal:
            return conversation.bad_row("TEMPLATE_REFUSED", f"the chat template refuses it: {refusal}")
        return Draft(conversation, text, mask_segments(text, conversation.turns, self._rules))

    def render(self, conversations: Sequence[Conversation]) -> list[Rendered | BadRow]:
        """One result a conversation, in order; a bad row where the template or the tokenizer refuses it."""
        drafts = [self.draft(conversation) for conversation in conversations]
        encoded = iter(self._encoder.encode([draft.text for draft in drafts if isinstance(draft, Draft)]))
        return [draft if isinstance(draft, BadRow) else _with_tokens(draft, next(encoded)) for draft in drafts]


def _with_tokens(draft: Draft, encoded: EncodedText | SpecialTextError) -> Rendered | BadRow:
    if isinstance(encoded, SpecialTextError):
        return draft.example.bad_row("SPECIAL_TEXT", str(encoded))
    return Rendered.of(draft.example, draft.text, draft.segments, encoded)

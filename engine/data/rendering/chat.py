"""Conversations through the model's chat template, masked by where each character comes from."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count

from engine.data.conversation import Conversation
from engine.data.encoding.encoded import EncodedText
from engine.data.encoding.text_encoder import SpecialTextError, TextEncoder
from engine.data.errors import BadRow, DataError
from engine.data.masking.draft import Draft, OwnDraft
from engine.data.masking.rules import MaskRules
from engine.data.masking.segments import mask_segments
from engine.data.rendering.comparisons import Comparisons
from engine.data.rendering.plans import PlanBook
from engine.data.rendering.rendered import Rendered
from engine.data.template.chat_template import ChatTemplate, TemplateRefusedError, UntracedTextError

_CHECK_EVERY = 500  # chats drawn up by a plan: one of them goes the long way, too, and the two are compared


class ChatRenderer:
    """Renders, masks and tokenizes conversations."""

    def __init__(self, template: ChatTemplate, rules: MaskRules, encoder: TextEncoder) -> None:
        self._template = template
        self._rules = rules
        self._encoder = encoder
        self._plans = PlanBook(rules)
        self._planned = count(1)
        self._comparisons = Comparisons()

    def draft(self, conversation: Conversation) -> Draft | BadRow:
        """The text and its mask, without tokens; a bad row where the template refuses the conversation."""
        planned = self._plans.draft(conversation)
        if planned is None:
            return self._draft_and_learn(conversation)
        if next(self._planned) % _CHECK_EVERY == 0:
            self._check(planned, conversation)
        return planned

    def _draft_and_learn(self, conversation: Conversation) -> Draft | BadRow:
        may_learn = self._plans.may_learn(conversation)
        draft = self._draft_anew(conversation, compares=self._comparisons.is_due(conversation) or may_learn)
        if may_learn and isinstance(draft, Draft):
            self._plans.learn(draft, lambda watch: self._template.render_watched(conversation.turns, watch))
        return draft

    def _check(self, planned: Draft, conversation: Conversation) -> None:
        draft = self._draft_anew(conversation, compares=True)
        if not isinstance(draft, Draft) or (draft.text, draft.segments) != (planned.text, planned.segments):
            raise _unsteady(conversation)

    def _draft_anew(self, conversation: Conversation, compares: bool) -> Draft | BadRow:
        try:
            text = self._template.render(conversation.turns, conversation.tools, compares=compares)
        except TemplateRefusedError as refusal:
            return conversation.bad_row("TEMPLATE_REFUSED", self._told(conversation, refusal))
        except UntracedTextError as error:
            if not self._comparisons.found_different(conversation):
                raise _unsteady(conversation) from error
            return conversation.bad_row("TEMPLATE_NOT_FOLLOWED", str(error))
        return OwnDraft(conversation, text, mask_segments(text, conversation.turns, self._rules))

    def render(self, conversations: Sequence[Conversation]) -> list[Rendered | BadRow]:
        """One result a conversation, in order; a bad row where the template or the tokenizer refuses it."""
        drafts = [self.draft(conversation) for conversation in conversations]
        encoded = iter(self._encoder.encode([draft for draft in drafts if isinstance(draft, Draft)]))
        return [draft if isinstance(draft, BadRow) else _with_tokens(draft, next(encoded)) for draft in drafts]

    def _told(self, conversation: Conversation, refusal: TemplateRefusedError) -> str:
        told = f"the chat template refuses it: {refusal}"
        if self._rules.facts.takes_system or conversation.turns[0].role not in ("system", "developer"):
            return told
        return f"{told}; it takes no system turn, so put that text into the first question"


def _unsteady(conversation: Conversation) -> DataError:
    return DataError(
        f"{conversation.file}, line {conversation.line}: the chat template does not do the same for chats of "
        "the same kind, so no mask can be proved."
    )


def _with_tokens(draft: Draft, encoded: EncodedText | SpecialTextError) -> Rendered | BadRow:
    if isinstance(encoded, SpecialTextError):
        return draft.example.bad_row("SPECIAL_TEXT", str(encoded))
    return Rendered.of(draft, encoded)

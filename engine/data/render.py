"""From conversations to token ids and labels, with the reason for each token's loss."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from engine.data.conversation import Conversation
from engine.data.errors import BadRow
from engine.data.masking import MaskRules, Segment, mask_segments
from engine.data.template import ChatTemplate, TemplateRefusedError
from engine.data.template_facts import find_facts, special_tokens
from engine.data.tokens import EncodedText, SpecialTextError, TextEncoder
from engine.data.traced import TracedStr

IGNORED = -100


@dataclass(frozen=True, slots=True)
class Rendered:
    """One conversation as text and tokens, before any limit of length.

    `segments` cover the text; `token_segments[i]` is the number of the segment that token i belongs to, that of the
    token's first byte. `labels` has the indices of `input_ids`, with -100 for no loss.
    """

    conversation: Conversation
    text: TracedStr
    segments: list[Segment]
    input_ids: list[int]
    starts: list[int]
    token_segments: list[int]
    special_texts: tuple[str, ...]

    @property
    def labels(self) -> list[int]:
        """The ids of the tokens that have loss, -100 elsewhere and always for the first token."""
        has_loss = [segment.loss for segment in self.segments]
        labels = [
            token_id if has_loss[number] else IGNORED
            for token_id, number in zip(self.input_ids, self.token_segments, strict=True)
        ]
        labels[:1] = [IGNORED] * len(labels[:1])
        return labels

    def segment_of(self, token: int) -> Segment:
        """Turn, reason and loss of one token."""
        return self.segments[self.token_segments[token]]


class Renderer:
    """Renders, masks and tokenizes conversations with one tokenizer and its chat template.

    Raises:
        DataError: the tokenizer has no usable chat template, or no fast version.
    """

    def __init__(self, tokenizer: Any, train_on_template_text: bool = False) -> None:
        self.template = ChatTemplate(tokenizer)
        tokens = special_tokens(tokenizer)
        self.facts = find_facts(self.template, tokens)
        self._rules = MaskRules(self.facts, tokens, train_on_template_text)
        self._encoder = TextEncoder(tokenizer)

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
            return self.template.render(conversation.turns)
        except TemplateRefusedError as refusal:
            return conversation.bad_row("TEMPLATE_REFUSED", f"the chat template refuses it: {refusal}")

    def _rendered(
        self, conversation: Conversation, text: TracedStr, encoded: EncodedText | SpecialTextError
    ) -> Rendered | BadRow:
        if isinstance(encoded, SpecialTextError):
            return conversation.bad_row("SPECIAL_TEXT", str(encoded))
        segments = mask_segments(text, conversation.turns, self._rules)
        return Rendered(
            conversation,
            text,
            segments,
            encoded.ids,
            encoded.starts,
            _segment_numbers(segments, encoded.starts),
            encoded.special_texts,
        )


def _segment_numbers(segments: list[Segment], starts: list[int]) -> list[int]:
    numbers: list[int] = []
    number = 0
    for start in starts:
        while number + 1 < len(segments) and start >= segments[number].stop:
            number += 1
        numbers.append(number)
    return numbers

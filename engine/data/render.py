"""From conversations to token ids and labels, with the reason for each token's loss."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from engine.data.conversation import Conversation
from engine.data.errors import BadRow
from engine.data.masking import MaskRules, Segment, mask_segments
from engine.data.template import ChatTemplate, TemplateRefusedError
from engine.data.template_facts import find_facts, special_tokens, turn_tokens
from engine.data.tokens import EncodedText, SpecialTextError, TextEncoder
from engine.data.traced import TracedStr
from engine.labels import IGNORED_LABEL


@dataclass(frozen=True, slots=True)
class Rendered:
    """One conversation as text and tokens, before any limit of length.

    `segments` cover the text. A token belongs to the segment of its first byte: `token_stops[i]` is the number of
    tokens up to the end of segment i. `labels` has the indices of `input_ids`, with -100 for no loss.
    """

    conversation: Conversation
    text: TracedStr
    segments: list[Segment]
    input_ids: list[int]
    starts: list[int]
    token_stops: list[int]
    special_texts: tuple[str, ...]

    @property
    def labels(self) -> list[int]:
        """The ids of the tokens that have loss, -100 elsewhere and always for the first token."""
        labels = [IGNORED_LABEL] * len(self.input_ids)
        for segment, start, stop in zip(self.segments, [0, *self.token_stops], self.token_stops, strict=False):
            if segment.loss:
                labels[start:stop] = self.input_ids[start:stop]
        labels[:1] = [IGNORED_LABEL] * len(labels[:1])
        return labels

    def segment_of(self, token: int) -> Segment:
        """Turn, reason and loss of one token."""
        return self.segments[bisect_right(self.token_stops, token)]


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
        self._encoder = TextEncoder(tokenizer, turn_tokens(self.facts, tokens))

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
            [bisect_left(encoded.starts, segment.stop) for segment in segments],
            encoded.special_texts,
        )

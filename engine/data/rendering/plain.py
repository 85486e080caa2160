"""Documents of plain text, which no chat template touches.

What the tokenizer itself puts in front of a text (a BOS, in some) comes first, without loss. The prompt has no loss;
the text or completion has, and so does the end token behind it. A document that says nothing is not trained.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from engine.data.conversation import Document
from engine.data.encoding.encoded import EncodedText
from engine.data.encoding.text_encoder import SpecialTextError, TextEncoder
from engine.data.errors import BadRow
from engine.data.masking.draft import OwnDraft
from engine.data.masking.reasons import Segment, Why
from engine.data.rendering.rendered import Rendered
from engine.data.template.traced import Origin, Run, TracedStr


@dataclass(frozen=True, slots=True)
class Frame:
    """What stands around every document: token ids and their texts. `end_ids` has one token, or none at all."""

    start_ids: list[int]
    start_texts: list[str]
    end_ids: list[int]
    end_text: str

    @property
    def start_text(self) -> str:
        return "".join(self.start_texts)


def frame_of(tokenizer: Any) -> Frame:
    """What the tokenizer puts in front of a text by itself, and its end token."""
    bare: list[int] = tokenizer("x", add_special_tokens=False)["input_ids"]
    framed: list[int] = tokenizer("x")["input_ids"]
    places = [place for place in range(len(framed)) if framed[place : place + len(bare)] == bare]
    start_ids = framed[: places[0]] if places else []
    end = tokenizer.eos_token_id
    return Frame(
        start_ids,
        [str(text) for text in tokenizer.convert_ids_to_tokens(start_ids)],
        [] if end is None else [end],
        "" if end is None else str(tokenizer.eos_token),
    )


class PlainRenderer:
    """Renders, masks and tokenizes documents."""

    def __init__(self, frame: Frame, encoder: TextEncoder) -> None:
        self._frame = frame
        self._encoder = encoder

    def draft(self, document: Document) -> OwnDraft:
        """The text and its mask, without tokens."""
        pieces = [self._frame.start_text, *(part.text for part in document.parts), self._frame.end_text]
        runs = [
            Run(len(self._frame.start_text), None, 0),
            *_runs(document),
            Run(len(self._frame.end_text), None, 0),
        ]
        text = TracedStr.build("".join(pieces), [run for run in runs if run.length])
        return OwnDraft(
            document, text, [segment for segment in self._segments(document) if segment.start < segment.stop]
        )

    def render(self, documents: Sequence[Document]) -> list[Rendered | BadRow]:
        """One result a document, in order; a bad row where the tokenizer cannot keep its text apart from its own."""
        texts = [
            OwnDraft(document, TracedStr.build("".join(part.text for part in document.parts), _runs(document)), [])
            for document in documents
        ]
        return [
            self._rendered(document, encoded)
            for document, encoded in zip(documents, self._encoder.encode(texts), strict=True)
        ]

    def _rendered(self, document: Document, encoded: EncodedText | SpecialTextError) -> Rendered | BadRow:
        if isinstance(encoded, SpecialTextError):
            return document.bad_row("SPECIAL_TEXT", str(encoded))
        frame, draft = self._frame, self.draft(document)
        begin, end = len(frame.start_text), len(draft.text) - len(frame.end_text)
        starts = [sum(map(len, frame.start_texts[:number])) for number in range(len(frame.start_ids))]
        starts += [*(begin + start for start in encoded.starts), *([end] if frame.end_ids else [])]
        ids = [*frame.start_ids, *encoded.ids, *frame.end_ids]
        stops = [bisect_left(starts, border) for border in draft.borders]
        return Rendered.of(draft, EncodedText(ids, starts, stops, encoded.special_texts))

    def _segments(self, document: Document) -> Iterator[Segment]:
        position = len(self._frame.start_text)
        yield Segment(0, position, None, Why.TEMPLATE, False)
        for number, part in enumerate(document.parts):
            stop = position + len(part.text)
            yield Segment(position, stop, number, *_why(document, Why.PROMPT if part.role == "prompt" else Why.TEXT))
            position = stop
        last = len(document.parts) - 1 if document.parts else None
        yield Segment(position, position + len(self._frame.end_text), last, *_why(document, Why.TURN_END))


def _runs(document: Document) -> list[Run]:
    return [
        Run(len(part.text), Origin(number, part.role), 0) for number, part in enumerate(document.parts) if part.text
    ]


def _why(document: Document, why: Why) -> tuple[Why, bool]:
    """The reason, and whether it means loss."""
    if why is Why.PROMPT:
        return why, False
    return (Why.EMPTY_ANSWER, False) if document.is_empty else (why, True)

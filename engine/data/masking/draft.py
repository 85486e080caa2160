"""One example as text with its mask, before any tokenizer has seen it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

from engine.data.conversation import Example
from engine.data.masking.reasons import Segment
from engine.data.template.layout import data_spans
from engine.data.template.traced import TracedStr

Spans = tuple[Sequence[int], Sequence[int]]
"""Where stretches of a text start, and where they stop."""


class Draft(ABC):
    """The text of one example, and the segments that cover it in order and without a hole.

    Drafts with the same `plan` differ in the strings of the data alone; None where nothing is known of the kind.
    """

    example: Example
    plan: object | None

    @property
    @abstractmethod
    def text(self) -> TracedStr:
        """The text with its origins."""

    @property
    @abstractmethod
    def segments(self) -> list[Segment]:
        """What covers the text."""

    @property
    def plain(self) -> str:
        """The text without its origins."""
        return str.__getitem__(self.text, slice(None))

    @property
    def borders(self) -> Sequence[int]:
        """The ends of the segments."""
        return [segment.stop for segment in self.segments]

    @property
    def losses(self) -> Sequence[bool]:
        """Which of the segments have loss."""
        return [segment.loss for segment in self.segments]

    @property
    def data_spans(self) -> Spans:
        """Where the data's own text stands."""
        return data_spans(self.text)


class OwnDraft(Draft):
    """A draft that was made for its example alone."""

    def __init__(self, example: Example, text: TracedStr, segments: list[Segment]) -> None:
        self.example = example
        self.plan = None
        self._text = text
        self._segments = segments

    @property
    def text(self) -> TracedStr:
        return self._text

    @property
    def segments(self) -> list[Segment]:
        return self._segments

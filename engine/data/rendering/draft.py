"""One example as text with its mask, before any tokenizer has seen it."""

from __future__ import annotations

from dataclasses import dataclass

from engine.data.conversation import Example
from engine.data.rendering.reasons import Segment
from engine.data.template.traced import TracedStr


@dataclass(frozen=True, slots=True)
class Draft:
    """The text of one example, and the segments that cover it in order and without a hole.

    Drafts with the same `plan` differ in the strings of the data alone; None where nothing is known of the kind.
    """

    example: Example
    text: TracedStr
    segments: list[Segment]
    plan: object | None = None

"""The template's own text between the strings of the data, and the mask over both, for all chats of one shape."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from typing import NamedTuple

from engine.data.conversation import Conversation
from engine.data.masking.draft import Draft, Spans
from engine.data.masking.reasons import Segment, Why
from engine.data.template.traced import Origin, Run, TracedStr
from engine.data.template.watched import Guard


class Border(NamedTuple):
    """The end of a segment: behind so many strings of the data and so many characters of the template."""

    strings: int
    characters: int


@dataclass(frozen=True, eq=False)
class Plan:
    """How chats of one shape become text and mask.

    `parts` and `runs` are those of the whole text, with places to fill for the strings of the data: each second part,
    and the runs at `run_places`. `pieces` are these strings in order. `masks` holds turn, reason and loss by segment.
    """

    guards: tuple[Guard, ...]
    pieces: tuple[Origin, ...]
    parts: tuple[str, ...]
    runs: tuple[Run | None, ...]
    run_places: tuple[int, ...]
    borders: tuple[Border, ...]
    masks: tuple[tuple[int | None, ...], tuple[Why, ...], tuple[bool, ...]]
    after_half_prompts: tuple[Origin, ...]

    def draft(self, conversation: Conversation, supplied: tuple[str, ...]) -> Draft | None:
        """The chat as text with its mask; None where it does not give the answers of the plan.

        That is also where an answer in front of which the template printed a part of the generation prompt begins with
        one of `supplied`.
        """
        turns = conversation.turns
        for origin in self.after_half_prompts:
            if turns[origin.turn].message[origin.field].startswith(supplied):  # type: ignore[index]
                return None
        for turn, field, method, arguments, answer in self.guards:
            if method(turns[turn].message[field], *arguments) != answer:
                return None
        return PlannedDraft(
            self,
            conversation,
            [turns[origin.turn].message[origin.field] for origin in self.pieces],  # type: ignore[index]
        )

    @cached_property
    def template_before(self) -> list[int]:
        """Characters of the template in front of each string of the data."""
        return list(accumulate(map(len, self.parts[:-1:2])))


class PlannedDraft(Draft):
    """A chat drawn up by a plan; `texts` are the strings of the data, all of them and in the order of the text.

    What only the inspector and some findings look at is made when it is asked for.
    """

    def __init__(self, plan: Plan, conversation: Conversation, texts: list[str]) -> None:
        self.example = conversation
        self.plan: Plan = plan
        self.texts = texts
        self._lengths = list(map(len, texts))
        self._before = [0, *accumulate(self._lengths)]

    @property
    def plain(self) -> str:
        parts = list(self.plan.parts)
        parts[1::2] = self.texts
        return "".join(parts)

    @property
    def borders(self) -> Sequence[int]:
        before = self._before
        return [before[strings] + characters for strings, characters in self.plan.borders]

    @property
    def losses(self) -> Sequence[bool]:
        return self.plan.masks[2]

    @property
    def data_spans(self) -> Spans:
        starts = [data + template for data, template in zip(self._before, self.plan.template_before, strict=False)]
        return starts, [start + length for start, length in zip(starts, self._lengths, strict=True)]

    @cached_property
    def segments(self) -> list[Segment]:
        stops = self.borders
        return list(map(Segment._make, zip([0, *stops], stops, *self.plan.masks, strict=False)))

    @cached_property
    def text(self) -> TracedStr:
        runs = list(self.plan.runs)
        for place, length, origin in zip(self.plan.run_places, self._lengths, self.plan.pieces, strict=True):
            runs[place] = Run(length, origin, 0)
        return TracedStr.build(self.plain, runs)  # type: ignore[arg-type]

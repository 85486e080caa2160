"""What rendering and masking one chat teach about the next one of the same shape.

A plan is kept only where it is all there is to know: the template was watched while it rendered
(`engine.data.template.watched`), every string of the chat is printed whole and once, and the mask looks at nothing but
the template's text, the roles and whether a turn is trained. A chat follows a plan if it has the same roles, keys and
trained turns, and gives the same answers to the questions that the template asked; then its text and its mask are what
the long way would give.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from engine.data.blank import says_nothing
from engine.data.conversation import Conversation
from engine.data.masking.draft import Draft
from engine.data.masking.reasons import Why
from engine.data.masking.rules import MaskRules
from engine.data.masking.think import THINK_CLOSE
from engine.data.rendering.plan import Border, Plan
from engine.data.template.chat_template import TemplateRefusedError
from engine.data.template.header import beginnings
from engine.data.template.layout import data_pieces, template_gaps
from engine.data.template.traced import Origin, Run, runs_of
from engine.data.template.watched import UnwatchableError, Watch

_MOST_PLANS = 4  # of one shape; each more is one more way through the template
_MOST_SHAPES = 5000
_MOST_FAILURES = 3  # of one shape, before it goes the long way for good

Shape = tuple[Any, ...]


@dataclass(slots=True)
class _Known:
    """What is known of one shape."""

    plans: list[Plan] = field(default_factory=list)
    failures: int = 0


class PlanBook:
    """The plans of one template under one set of rules."""

    def __init__(self, rules: MaskRules) -> None:
        self._shapes: dict[Shape, _Known] = {}
        self._prompt = rules.facts.generation_prompt
        self._supplied = tuple(_beginnings_of_rests(rules))

    def draft(self, conversation: Conversation) -> Draft | None:
        """The chat by a plan; None where there is none that fits it."""
        shape = self._shape_of(conversation)
        known = self._shapes.get(shape) if shape is not None else None
        for plan in known.plans if known is not None else ():
            draft = plan.draft(conversation, self._supplied)
            if draft is not None:
                return draft
        return None

    def may_learn(self, conversation: Conversation) -> bool:
        """Whether there may be a plan, still unknown, for chats like this one, which none of the known ones fits."""
        shape = self._shape_of(conversation)
        if shape is None or len(self._shapes) > _MOST_SHAPES:
            return False
        known = self._shapes.get(shape)
        return known is None or (known.failures < _MOST_FAILURES and len(known.plans) < _MOST_PLANS)

    def learn(self, draft: Draft, watched: Callable[[Watch], str]) -> None:
        """Take note of a chat that went the long way; `watched` renders it anew with the strings of a watch."""
        conversation = draft.example
        shape = self._shape_of(conversation) if isinstance(conversation, Conversation) else None
        assert shape is not None, "only asked for a chat that may have a plan"
        known = self._shapes.setdefault(shape, _Known())
        plan = _plan_of(draft, watched, self._prompt)
        if plan is not None and self._gives_back(plan, draft):
            known.plans.append(plan)
        else:
            known.failures += 1

    def _gives_back(self, plan: Plan, draft: Draft) -> bool:
        """Whether the plan makes of its own chat what the long way made of it."""
        assert isinstance(draft.example, Conversation)
        planned = plan.draft(draft.example, self._supplied)
        return (
            planned is not None
            and (planned.text, planned.segments) == (draft.text, draft.segments)
            and runs_of(planned.text) == runs_of(draft.text)
        )

    def _shape_of(self, conversation: Conversation) -> Shape | None:
        """What chats of one plan have in common; None for a chat that no plan can describe.

        That is one with anything but text in it, and one with think tags, in which the mask takes an interest.
        """
        if conversation.tools:
            return None
        shape: list[Any] = []
        for turn in conversation.turns:
            message = turn.message
            for value in message.values():
                if not isinstance(value, str) or says_nothing(value):
                    return None
                if turn.is_answer and THINK_CLOSE in value:
                    return None
            shape += (turn.role, turn.trained, *message)
        return tuple(shape)


def _beginnings_of_rests(rules: MaskRules) -> Iterator[str]:
    """What an answer begins with if it writes the rest of a generation prompt of which the template printed a part."""
    prompt, added = rules.facts.generation_prompt, rules.tokens.added
    for printed in beginnings(prompt, added):
        if rest := prompt[printed:]:
            yield rest[: min(beginnings(rest, added))]


def _plan_of(draft: Draft, watched: Callable[[Watch], str], generation_prompt: str) -> Plan | None:
    watch = Watch()
    try:
        if watched(watch) != str.__getitem__(draft.text, slice(None)):
            return None
    except (UnwatchableError, TemplateRefusedError):
        return None
    pieces = data_pieces(draft.text)
    origins = tuple(piece.origin for piece in pieces)
    if not _is_each_string_once_and_whole(draft, origins) or any(piece.index for piece in pieces):
        return None
    gaps = template_gaps(pieces, len(draft.text))
    borders = [_border(segment.stop, gaps) for segment in draft.segments]
    if any(border is None for border in borders):
        return None
    parts: list[str] = []
    runs: list[Run | None] = []
    places: list[int] = []
    for start, stop in gaps:
        gap = draft.text.cut(start, stop)
        parts += (str.__getitem__(gap, slice(None)), "")
        runs += runs_of(gap)
        places.append(len(runs))
        runs.append(None)
    return Plan(
        guards=tuple(watch.guards),
        pieces=origins,
        parts=tuple(parts[:-1]),
        runs=tuple(runs[:-1]),
        run_places=tuple(places[:-1]),
        borders=tuple(border for border in borders if border is not None),
        masks=(
            tuple(segment.turn for segment in draft.segments),
            tuple(segment.why for segment in draft.segments),
            tuple(segment.loss for segment in draft.segments),
        ),
        after_half_prompts=tuple(_after_half_prompts(draft, origins, generation_prompt)),
    )


def _after_half_prompts(draft: Draft, origins: tuple[Origin, ...], generation_prompt: str) -> Iterator[Origin]:
    """The strings of those answers that do not stand behind the whole of a generation prompt."""
    assert isinstance(draft.example, Conversation)
    text = str.__getitem__(draft.text, slice(None))
    headers = (segment for segment in draft.segments if segment.why is Why.HEADER)
    whole = {header.turn for header in headers if text[header.start : header.stop] == generation_prompt}
    for origin in origins:
        if origin.turn is not None and draft.example.turns[origin.turn].is_answer and origin.turn not in whole:
            yield origin


def _is_each_string_once_and_whole(draft: Draft, origins: tuple[Origin, ...]) -> bool:
    assert isinstance(draft.example, Conversation)
    strings = {
        Origin(number, path): text
        for number, turn in enumerate(draft.example.turns)
        for path, text in turn.texts.items()
    }
    printed = sum(piece.stop - piece.start for piece in data_pieces(draft.text))
    is_once = len(origins) == len(set(origins)) and set(origins) == set(strings)
    return is_once and printed == sum(map(len, strings.values()))


def _border(stop: int, gaps: list[tuple[int, int]]) -> Border | None:
    """The place of a segment's end in or beside a gap; None inside of a string of the data."""
    characters = 0
    for number, (gap_start, gap_stop) in enumerate(gaps):
        if gap_start <= stop <= gap_stop:
            return Border(number, characters + stop - gap_start)
        characters += gap_stop - gap_start
    return None

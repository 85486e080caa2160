"""Where the answers stand in a row that came tokenized, found by what the chat template puts around answers."""

from __future__ import annotations

import re
from bisect import bisect_left
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from engine.data.rendering.rendered import Rendered
from engine.data.template.facts import TemplateFacts


@dataclass(frozen=True, slots=True)
class Answer:
    """Tokens `start` up to `stop` are what the assistant has to produce, with the token that ends its turn."""

    start: int
    stop: int
    has_end: bool


@dataclass(frozen=True)
class GivenAnswers:
    """Looks for answers in one row. There are none where the template has no header that could be looked for."""

    rendered: Rendered
    facts: TemplateFacts

    @property
    def text(self) -> str:
        return str.__getitem__(self.rendered.text, slice(None))

    @property
    def header(self) -> str:
        """The first line of what inference supplies; some go on into a think block, which not all answers have."""
        return self.facts.generation_prompt.strip().split("\n")[0].split("<think>")[0]

    def find(self) -> list[Answer]:
        """The answers in their order."""
        if not self.header:
            return []
        matches = re.finditer(re.escape(self.header), self.text)
        headers = [match.span() for match in matches if self._begins_token(match.start())]
        bounds = [*(start for start, _ in headers), len(self.text)][1:]
        return [self._answer(stop, bound) for (_, stop), bound in zip(headers, bounds, strict=True)]

    def prompts(self, answers: list[Answer]) -> NDArray[np.bool_]:
        """[S] bool: the tokens that stand in front of an answer and are not part of one."""
        is_prompt = np.zeros(len(self.rendered.input_ids), dtype=np.bool_)
        is_prompt[: answers[-1].start] = True
        for answer in answers:
            is_prompt[answer.start : answer.stop] = False
        return is_prompt

    def opening(self) -> NDArray[np.bool_]:
        """[S] bool: what is no answer even where no header shows the answers.

        That is the first word of the chat, behind what the template prints in front of all chats.
        """
        is_opening = np.zeros(len(self.rendered.input_ids), dtype=np.bool_)
        before = self.facts.first_text.rstrip()
        if not self.header and before and self.text.startswith(before):
            word = re.compile(r"\s*\S*").match(self.text, len(before))
            stop = word.end() if word is not None else len(before)
            starts = self.rendered.starts
            is_opening[bisect_left(starts, len(before)) : bisect_left(starts, stop)] = True
        return is_opening

    def readable(self, start: int, stop: int) -> str:
        """What the tokens `start` up to `stop` say in front of an answer, without headers and ends."""
        bounds = [*self.rendered.starts, len(self.text)]
        text = self.text[bounds[start] : bounds[stop]]
        marks = "|".join(map(re.escape, filter(None, (self.header, *self.facts.ends.all))))
        parts = [part for part in re.split(marks, text) if part.strip()] if marks else [text]
        if not parts:
            return text.strip()
        return parts[-1 if self.header else 0].strip()

    def _begins_token(self, place: int) -> bool:
        starts = self.rendered.starts
        token = bisect_left(starts, place)
        return token < len(starts) and starts[token] == place

    def _answer(self, start: int, bound: int) -> Answer:
        starts, end = self.rendered.starts, self._end(start, bound)
        return Answer(bisect_left(starts, start), bisect_left(starts, bound if end is None else end), end is not None)

    def _end(self, start: int, bound: int) -> int | None:
        """Where the end behind an answer stops: the first that is one token, as text that looks like one is not."""
        if not self.facts.ends.all:
            return None
        ends = list(re.finditer("|".join(map(re.escape, self.facts.ends.all)), self.text[:bound]))
        behind = [match for match in ends if match.start() >= start]
        whole = [match for match in behind if self._is_one_token(*match.span())]
        return (whole or behind)[0].end() if behind else None

    def _is_one_token(self, start: int, stop: int) -> bool:
        starts = self.rendered.starts
        token = bisect_left(starts, start)
        return self._begins_token(start) and (token + 1 == len(starts) or starts[token + 1] >= stop)

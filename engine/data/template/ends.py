"""How a template ends an answer."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

from engine.data.conversation import TOOL_CALLS
from engine.data.template.probes import ANSWER, LATER, QUESTION, RESULT, Prober, Shown, call
from engine.data.template.special_tokens import SpecialTokens


@dataclass(frozen=True, slots=True)
class TurnEnds:
    """`last` closes an answer at the end of the chat, `earlier` one that others follow, `call` a turn of tool calls.

    Each is None where nothing does, or where nothing is known. `tail` is what every answer has between its text and
    the end, `closer` the last thing that the template prints behind a tool call of its own.
    """

    last: str | None
    earlier: str | None
    call: str | None = None
    tail: str = ""
    closer: str = ""

    @property
    def all(self) -> tuple[str, ...]:
        """Every end that there is."""
        return tuple(dict.fromkeys(end for end in (self.last, self.earlier, self.call) if end))

    def find(self, text: str, start: int, stop: int) -> re.Match[str] | None:
        """The first end in this stretch."""
        if not self.all:
            return None
        return re.compile("|".join(map(re.escape, sorted(self.all, key=len, reverse=True)))).search(text, start, stop)


def find_turn_ends(prober: Prober, short: Shown, tokens: SpecialTokens, prompt: str) -> TurnEnds:
    """Compare what follows an answer at the end of a chat and in its middle. `prompt` is the header of an answer."""
    last_tail = short.tail
    longer = prober.show(QUESTION, ANSWER, *LATER)
    pieces = longer.of_turn(prober.first + 1) if longer else []
    if longer is None or not pieces:
        last = _first_end(last_tail, tokens)
        return _with_calls(TurnEnds(last, last), prober, tokens)
    earlier_tail = longer.after(pieces[-1])
    common = tokens.common_prefix(last_tail, earlier_tail)
    in_common = list(tokens.special.finditer(common)) or list(tokens.added.finditer(common))
    if in_common:
        in_common = _without_openings(
            in_common, [*_first_tokens(prompt, tokens, 1), *_first_tokens(short.text, tokens, 2)]
        )
        end = in_common[-1]
        ends = TurnEnds(end.group(), end.group(), tail=common[: end.start()])
    elif common.strip():
        ends = TurnEnds(common.strip(), common.strip())
    else:
        ends = TurnEnds(_first_end(last_tail, tokens), _users_end(prober, earlier_tail, tokens))
    return _with_calls(ends, prober, tokens)


def _first_tokens(text: str, tokens: SpecialTokens, count: int) -> list[str]:
    return [match.group() for match in islice(tokens.added.finditer(text), count)]


def _without_openings(found: list[re.Match[str]], openings: list[str]) -> list[re.Match[str]]:
    """The tokens before the first that opens a turn, as some templates print a header behind every chat."""
    border = next((number for number, match in enumerate(found) if number and match.group() in openings), len(found))
    return found[:border]


def _first_end(tail: str, tokens: SpecialTokens) -> str | None:
    match = tokens.special.search(tail) or tokens.added.search(tail)
    return match.group() if match else tail.strip() or None


def _users_end(prober: Prober, tail: str, tokens: SpecialTokens) -> str | None:
    """The end that closes the turns of all roles, if it closes this one, too: an opening token is no end."""
    question = prober.show(QUESTION)
    if question is None or not question.tail.strip() or not tail.startswith(question.tail.rstrip()):
        return None
    return _first_end(question.tail, tokens)


def _with_calls(ends: TurnEnds, prober: Prober, tokens: SpecialTokens) -> TurnEnds:
    tails = list(_call_tails(prober))
    if not tails:
        return ends
    common = tails[0]
    for tail in tails[1:]:
        common = tokens.common_prefix(common, tail)
    found = list(tokens.special.finditer(common))
    closers = list(tokens.added.finditer(tails[0]))
    return TurnEnds(
        ends.last,
        ends.earlier,
        found[-1].group() if found and not ends.find(common, 0, len(common)) and ends.all else None,
        ends.tail,
        closers[-1].group() if closers and not ends.all else "",
    )


def _call_tails(prober: Prober) -> Iterator[str]:
    """What follows a tool call at the end of a chat, and in front of the tool's result."""
    alone = prober.show(QUESTION, call(), with_tool=True) or prober.show(QUESTION, call())
    pieces = alone.of_turn(prober.first + 1, TOOL_CALLS) if alone else []
    if alone is None or not pieces:
        return
    yield alone.after(pieces[-1])
    answered = prober.show(QUESTION, call(), RESULT, ANSWER, with_tool=True)
    if answered is not None:
        same = answered.of_turn(prober.first + 1, TOOL_CALLS)[: len(pieces)]
        yield answered.after(same[-1])

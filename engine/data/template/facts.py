"""What a chat template puts around any answer, found by rendering small chats.

No marker is looked for in the data: these facts are only ever matched against the template's own text.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from engine.data.conversation import CONTENT, Role, Turn
from engine.data.errors import DataError
from engine.data.template.chat_template import ChatTemplate, TemplateRefusedError
from engine.data.template.layout import DataPiece, data_pieces
from engine.data.template.traced import TracedStr


@dataclass(frozen=True, slots=True)
class TemplateFacts:
    """What holds for every chat.

    `generation_prompt` is the header that inference supplies before an answer. `turn_end` closes an answer that ends
    the chat; None where nothing does. `added_system_prompt` is what the template says in the system's name when the
    data has no system turn. `is_prefix_stable`: the rendering of the first turns is the beginning of the whole
    chat's. `first_text` is what the template prints before any text of the data.
    """

    generation_prompt: str
    turn_end: str | None
    added_system_prompt: str
    is_prefix_stable: bool
    first_text: str


@dataclass(frozen=True, slots=True)
class SpecialTokens:
    """Patterns for a tokenizer's added tokens, the longest first: those flagged special, and all of them."""

    special: re.Pattern[str]
    added: re.Pattern[str]


def special_tokens(tokenizer: Any) -> SpecialTokens:
    """The patterns for `tokenizer`; they match nothing where it has no such token."""
    added = [(token.content, token.special) for token in tokenizer.added_tokens_decoder.values()]
    return SpecialTokens(
        special=_any_of([content for content, is_special in added if is_special]),
        added=_any_of([content for content, _ in added]),
    )


def turn_tokens(facts: TemplateFacts, tokens: SpecialTokens) -> set[str]:
    """The added tokens that open an answer and end it; not all tokenizers call them special."""
    opening = tokens.added.search(facts.generation_prompt)
    return {*([opening.group()] if opening else []), *([facts.turn_end] if facts.turn_end else [])}


def find_facts(template: ChatTemplate, tokens: SpecialTokens) -> TemplateFacts:
    """Probe the template.

    Raises:
        DataError: it refuses the plainest chat, or treats text in a way that cannot be followed.
    """
    prefix = _accepted_prefix(template)
    user, answer = _probe("user", "qzx first question"), _probe("assistant", "qzx first answer")
    later = (_probe("user", "qzx second question"), _probe("assistant", "qzx second answer"))
    short = template.render((*prefix, user, answer))
    _check_traced(short, (user, answer))
    return TemplateFacts(
        generation_prompt=_generation_prompt(template, (*prefix, user), tokens),
        turn_end=_turn_end(_tail(short), tokens),
        added_system_prompt=_added_system_prompt(template, user, answer),
        is_prefix_stable=_begins_with(template, (*prefix, user, answer, *later), short),
        first_text=str.__getitem__(short, slice(0, data_pieces(short)[0].start)),
    )


def _any_of(contents: list[str]) -> re.Pattern[str]:
    longest_first = sorted(filter(None, contents), key=len, reverse=True)
    return re.compile("|".join(map(re.escape, longest_first)) or "(?!)")


def _probe(role: Role, text: str) -> Turn:
    return Turn(role, {CONTENT: text})


def _accepted_prefix(template: ChatTemplate) -> tuple[Turn, ...]:
    """No system turn, or one where the template insists on it."""
    chat = _probe("user", "qzx question"), _probe("assistant", "qzx answer")
    system = _probe("system", "qzx instruction")
    try:
        template.render(chat)
    except TemplateRefusedError as refusal:
        try:
            template.render((system, *chat))
        except TemplateRefusedError:
            raise DataError(
                f"The chat template refuses a plain chat of a user and an assistant turn: {refusal}."
            ) from refusal
        return (system,)
    return ()


def _check_traced(text: TracedStr, turns: tuple[Turn, ...]) -> None:
    """Wherever the text of a turn is printed, it must be known as the data's."""
    plain, pieces = str.__getitem__(text, slice(None)), data_pieces(text)
    if not pieces:
        raise DataError(
            "The chat template prints neither the user's nor the assistant's text when that is a plain string; "
            "templates that take lists of parts alone are not available yet."
        )
    for turn in turns:
        for match in re.finditer(re.escape(turn.content), plain):
            if not any(piece.start <= match.start() and match.end() <= piece.stop for piece in pieces):
                raise DataError(
                    f"The chat template treats the text of {turn.role} turns in a way that cannot be followed from "
                    "the data to the text, so no mask can be proved; simplify the template."
                )


def _tail(text: TracedStr) -> str:
    """What the template prints after the last character of the data."""
    last: DataPiece = data_pieces(text)[-1]
    return str.__getitem__(text, slice(last.stop, None))


def _generation_prompt(template: ChatTemplate, turns: tuple[Turn, ...], tokens: SpecialTokens) -> str:
    with_prompt = _split_at_tokens(_tail(template.render(turns, add_generation_prompt=True)), tokens)
    try:
        without = _split_at_tokens(_tail(template.render(turns)), tokens)
    except TemplateRefusedError:
        without = []
    common = 0
    while common < min(len(with_prompt), len(without)) and with_prompt[common] == without[common]:
        common += 1
    return "".join(with_prompt[common:])


def _split_at_tokens(text: str, tokens: SpecialTokens) -> list[str]:
    """Added tokens whole, everything else in single characters."""
    position = 0
    parts: list[str] = []
    for match in tokens.added.finditer(text):
        parts += [*text[position : match.start()], match.group()]
        position = match.end()
    return [*parts, *text[position:]]


def _turn_end(tail: str, tokens: SpecialTokens) -> str | None:
    match = tokens.special.search(tail) or tokens.added.search(tail)
    if match is not None:
        return match.group()
    return tail.strip() or None


def _added_system_prompt(template: ChatTemplate, user: Turn, answer: Turn) -> str:
    """The text between what stands around a system turn of the data."""
    system = _probe("system", "qzx instruction")
    try:
        with_system = template.render((system, user, answer))
        without = template.render((user, answer))
    except TemplateRefusedError:
        return ""
    pieces = data_pieces(with_system)
    if len(pieces) < 2 or pieces[0].turn != 0:
        return ""
    before = str.__getitem__(with_system, slice(0, pieces[0].start))
    after = str.__getitem__(with_system, slice(pieces[0].stop, pieces[1].start))
    opening = str.__getitem__(without, slice(0, data_pieces(without)[0].start))
    has_both = opening.startswith(before) and opening.endswith(after) and before and after
    return opening[len(before) : len(opening) - len(after)] if has_both else ""


def _begins_with(template: ChatTemplate, turns: tuple[Turn, ...], beginning: str) -> bool:
    try:
        return template.render(turns).startswith(beginning)
    except TemplateRefusedError:
        return True

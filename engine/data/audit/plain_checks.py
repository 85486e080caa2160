"""Findings about rows that no chat template touches: plain documents, and rows that came tokenized."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from engine.data.audit.flags import RowFlag, Severity
from engine.data.audit.given_answers import GivenAnswers
from engine.data.audit.hidden import hidden_characters, told
from engine.data.conversation import Document, TokenRow
from engine.data.masking.reasons import Why
from engine.data.rendering.rendered import Rendered
from engine.data.template.facts import TemplateFacts

_SHOWN = 160  # characters of a text in a message


def document_flags(document: Document, rendered: Rendered) -> Iterator[RowFlag]:
    """Findings about a row of plain text."""
    if document.is_empty:
        message = "there is no text that could be trained; the end token alone is not"
        yield _flag(document, "EMPTY_ANSWER", message)
    elif rendered.segments[-1].why is not Why.TURN_END:
        message = "the tokenizer has no end token, so nothing ends the text and the model does not learn to stop there"
        yield _flag(document, "NO_EOS", message)
    if rendered.special_texts:
        if _writes_the_end(document, rendered):
            reason = "one is put behind each text anyway, so leave it out of the data"
        else:
            reason = "give chats as 'messages', not as text that a template has made of them"
        message = f"{rendered.special_texts[0]!r} in plain text is not read as the token of that name; {reason}"
        yield _flag(document, "SPECIAL_TEXT_IN_DATA", message)
    hidden = hidden_characters(part.text for part in document.parts)
    if hidden:
        yield _flag(document, "HIDDEN_CHARACTERS", told(hidden), Severity.INFO, hidden.total())
    yield from _token_across_the_border(document, rendered)


def _token_across_the_border(document: Document, rendered: Rendered) -> Iterator[RowFlag]:
    """A token that is prompt and completion at once, as a space at the end of a prompt makes it."""
    bounds = [*rendered.starts, len(rendered.text)]
    for before, after in pairwise(rendered.segments):
        behind = bisect_left(bounds, after.start)
        if (before.why, after.why) == (Why.PROMPT, Why.TEXT) and bounds[behind] != after.start:
            text = str.__getitem__(rendered.text, slice(bounds[behind - 1], bounds[behind]))
            message = (
                f"the token {text!r} begins in the prompt and ends in the completion, so it is not trained; put white "
                "space in front of the completion and not behind the prompt"
            )
            yield _flag(document, "TOKEN_ACROSS_BORDER", message)


def token_row_flags(row: TokenRow, rendered: Rendered, facts: TemplateFacts | None) -> Iterator[RowFlag]:
    """Findings about a row that came tokenized: whether the answers of this template are what it trains.

    Nothing is said of rows in which nothing looks like such an answer.
    """
    if facts is None:
        return
    found = GivenAnswers(rendered, facts)
    answers = found.find()
    has_loss = rendered.has_loss if row.has_loss is None else np.array(row.has_loss, dtype=np.bool_)
    trained_prompts = has_loss & (found.prompts(answers) if answers else found.opening())
    start = _first_that_says_something(rendered, found.text, trained_prompts)
    if start is not None:
        trained = f"{has_loss.sum()} of {len(has_loss)} tokens have loss"
        shown = found.readable(*_stretch_around(trained_prompts if answers else has_loss, start))
        shown = shown if len(shown) <= _SHOWN else f"{shown[:_SHOWN]}…"
        yield _flag(row, "PROMPT_IS_TRAINED", f"{trained}, among them what stands in front of an answer: {shown!r}")
    if not answers:
        return
    if facts.ends.all and not answers[-1].has_end and has_loss[-1]:
        message = "the last answer has no token that ends it, so the model does not learn to stop there"
        yield _flag(row, "NO_EOS", message)


def _writes_the_end(document: Document, rendered: Rendered) -> bool:
    """Whether the data writes the end token itself behind its text, and nothing else that looks special."""
    last = rendered.segments[-1]
    end = str.__getitem__(rendered.text, slice(last.start, last.stop)) if last.why is Why.TURN_END else None
    return rendered.special_texts == (end,) and document.parts[-1].text.rstrip().endswith(end or "")


def _first_that_says_something(rendered: Rendered, text: str, tokens: NDArray[np.bool_]) -> int | None:
    """The first of the tokens that is more than white space, such as the newline behind the end of a turn."""
    bounds = [*rendered.starts, len(text)]
    numbers: list[int] = np.flatnonzero(tokens).tolist()
    return next((number for number in numbers if text[bounds[number] : bounds[number + 1]].strip()), None)


def _stretch_around(tokens: NDArray[np.bool_], number: int) -> tuple[int, int]:
    """Start and stop of the unbroken stretch of True around a place."""
    before, behind = np.flatnonzero(~tokens[:number]), np.flatnonzero(~tokens[number:])
    start = int(before[-1]) + 1 if before.size else 0
    return start, number + int(behind[0]) if behind.size else len(tokens)


def _flag(
    example: Document | TokenRow, code: str, message: str, severity: Severity = Severity.WARNING, count: int = 1
) -> RowFlag:
    return RowFlag(code, severity, example.row, example.file, example.line, message, count=count)

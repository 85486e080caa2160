"""Reasoning that an answer of the data writes into its text, between think tags."""

from __future__ import annotations

THINK_OPEN, THINK_CLOSE = "<think>", "</think>"


def think_stop(text: str) -> int:
    """How many characters of an answer are reasoning, with the tags and white space behind them; 0 for none.

    The reasoning is what stands up to the closing tag. It has to begin with the opening tag, unless there is none at
    all, as in answers whose opening tag was part of the prompt.
    """
    closing = text.find(THINK_CLOSE)
    opening = text.find(THINK_OPEN)
    if closing < 0 or (opening >= 0 and text[:opening].strip()):
        return 0
    after = closing + len(THINK_CLOSE)
    return len(text) - len(text[after:].lstrip())

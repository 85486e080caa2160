"""Samples and their tokens for the tests of everything that reads one."""

from __future__ import annotations

import re

from pgs_tui.inspection.shapes import Sample, Stretch, Tokens


def chat(*turns: tuple[str, str], flags: tuple = ()) -> Sample:
    """As a ChatML template renders it."""
    text, stretches = "", []

    def add(part: str, turn: int | None, role: str | None, why: str, loss: bool = False) -> None:
        nonlocal text
        stretches.append(Stretch(len(text), len(text) + len(part), turn, role, why, loss))
        text += part

    for number, (role, said) in enumerate(turns, start=1):
        answer = role == "assistant"
        add(f"<|im_start|>{role}\n", number, role, "header" if answer else "template")
        if said:
            add(said, number, role, "answer" if answer else "other_role", answer)
        add(
            "<|im_end|>",
            number if answer else None,
            role if answer else None,
            "turn_end" if answer else "template",
            answer and bool(said),
        )
        add("\n", None, None, "template")
    return Sample(7, "/data/rows.jsonl", 8, text, tuple(stretches), flags)


def tokens_of(sample: Sample, start: int = 0, count: int = 10**9, by_byte: bool = False, **fields) -> Tokens:
    """A window of tokens: words with the blank before them, or single bytes."""
    text = sample.text
    if by_byte:
        starts = [place for place, character in enumerate(text) for _ in character.encode()]
    else:
        starts = [match.start() for match in re.finditer(r"\n| ?[^ \n]+| ", text)]
    lit: list[tuple[int, int]] = []
    for one in sample.stretches:
        if one.loss and lit and lit[-1][1] == one.start:
            lit[-1] = (lit[-1][0], one.stop)
        elif one.loss:
            lit.append((one.start, one.stop))
    window = starts[start : start + count]
    known = {"kept_stop": len(text), "lit": tuple(lit), **fields}
    ids = tuple(range(start + 100, start + 100 + len(window)))
    return Tokens(
        sample.row, len(starts), 0, known.pop("kept_stop"), known.pop("lit"), start, ids, tuple(window), **known
    )

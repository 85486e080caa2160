"""The sentences that an estimate rests on, to be read in full."""

from __future__ import annotations

from pgs_tui.drawing.lines import Line, line, wrapped
from pgs_tui.format import plain
from pgs_tui.profiling.shapes import Profile


def lines_of(profile: Profile, cells: int) -> list[Line]:
    """Verdict, what holds the GPU, and the assumptions behind memory and time."""
    held = [f"pid {one.pid} {one.name} holds {one.gib:.1f} GiB" for one in profile.gpu.others] if profile.gpu else []
    notes = [profile.gpu.note] if profile.gpu and profile.gpu.note else []
    groups = (
        ("verdict", (profile.verdict.sentence, *profile.verdict.warnings)),
        ("the GPU", (*notes, *held)),
        ("memory", profile.assumptions),
        ("steps and time", profile.work.assumptions),
    )
    rows: list[Line] = []
    for heading, sentences in groups:
        if not sentences:
            continue
        rows += [(), line((heading, "title"))] if rows else [line((heading, "title"))]
        rows += [row for sentence in sentences for row in _sentence(sentence, cells)]
    return rows


def _sentence(text: str, cells: int) -> list[Line]:
    rows = wrapped(plain(text), max(cells - 2, 1))
    return [line(("· " if place == 0 else "  ", "dim"), *row) for place, row in enumerate(rows)]

"""Whatever a log holds: it is folded without an error, and to the same whether event by event or block by block."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from engine.events import Stamped, Step, decode, encode
from engine.events.portions import portion_of
from pgs_tui.history.axis import AXES
from pgs_tui.history.gpu_history import FIELDS
from pgs_tui.history.history import History
from pgs_tui.history.step_table import METRICS
from tests.pgs_tui.random_runs import logs

LIMITED = settings(max_examples=80, deadline=None, phases=[Phase.explicit, Phase.reuse, Phase.generate, Phase.shrink])
CUTS = st.lists(st.floats(0.0, 1.0), max_size=3)


@LIMITED
@given(logs(), CUTS)
def test_a_log_is_the_same_event_by_event_and_block_by_block(events: tuple[Stamped, ...], cuts: list[float]) -> None:
    lines = [encode(one.event, one.t).encode() + b"\n" for one in _as_written(events)]
    one_by_one, in_blocks = History(), History()
    offset = 0
    for line in lines:
        stamped = decode(line)
        assert stamped is not None
        one_by_one.take(stamped.event, stamped.t, offset if isinstance(stamped.event, Step) else -1)
        offset += len(line)
    begin = 0
    for piece in _pieces(lines, cuts):
        for block in portion_of(piece, begin).blocks:
            in_blocks.extend(block)
        begin += len(piece)
    assert _content(in_blocks) == _content(one_by_one)


@LIMITED
@given(logs(), st.lists(st.integers(-5, 70), min_size=1, max_size=5), st.floats(-10, 200), st.integers(0, 40))
def test_whatever_is_folded_can_be_asked_for_everything(
    events: tuple[Stamped, ...], asked: list[int], start: float, width: int
) -> None:
    history = History()
    history.fold(events)
    count = len(history.steps)
    assert all(len(series) == count for series in history.series.values())
    assert len(history.table.parts) == len(history.table.offsets) == count
    for axis in AXES:
        positions = history.positions(axis)
        assert len(positions) == count
        assert all(math.isfinite(one) for one in positions)
        assert all(one <= following for one, following in pairwise(positions))
        _draw(history, axis, start, start + width)
    marked = [mark.step for mark in history.marks.between(-(2**53), 2**53)]
    assert marked == sorted(marked)
    assert history.marks.newest() is None or history.marks.newest().step == marked[-1]  # type: ignore[union-attr]
    for step in (*asked, -(2**70), 2**70):
        at = history.at(step)
        assert (at is None) == (count == 0)
        assert at is None or at.step in history.steps
    history.remaining_seconds(), history.ranks.all(), history.notes()


@LIMITED
@given(logs())
def test_walking_the_marks_meets_every_marked_step_both_ways(events: tuple[Stamped, ...]) -> None:
    history = History()
    history.fold(events)
    marked = sorted({mark.step for mark in history.marks.between(-(2**53), 2**53)})
    forward, backward, place = [], [], history.marks.after(-(2**60))
    while place is not None:
        forward.append(place.step)
        place = history.marks.after(place.step)
    place = history.marks.newest()
    while place is not None:
        backward.append(place.step)
        place = history.marks.before(place.step)
    assert forward == marked
    assert backward == marked[::-1]


def _draw(history: History, axis: Any, start: float, end: float) -> None:
    for metric in METRICS:
        reduced = history.columns(metric, start, end, 7, axis)
        assert len(reduced.low) == 7
    history.smooth_columns("loss", 0.9, start, end, 7, axis)
    assert all(amount >= 0 for one in history.part_columns(start, end, 7, axis).seconds.values() for amount in one)
    for index in history.cards:
        history.gpu_columns(index, "power", start, end, 7, axis)
    assert all(start <= x < end for x, _ in history.eval_points(start, end, 7, axis))
    assert len(history.column_marks(start, end, 7, axis)) <= 7


def _as_written(events: tuple[Stamped, ...]) -> list[Stamped]:
    """Times are finite in a log that can be read."""
    return [one if math.isfinite(one.t) else Stamped(1e300, one.event) for one in events]


def _pieces(lines: list[bytes], cuts: list[float]) -> list[bytes]:
    places = sorted({0, len(lines), *(int(cut * len(lines)) for cut in cuts)})
    return [b"".join(lines[start:end]) for start, end in pairwise(places)]


def _content(history: History) -> dict[str, Any]:
    """All that can be seen of a history, NaN made comparable."""
    table = history.table
    whole: dict[str, Any] = {
        "axes": {axis: list(history.positions(axis)) for axis in AXES},
        "wall": [table.axes.wall(index) for index in range(len(table))],
        "values": {name: [series.at(index) for index in range(len(series))] for name, series in history.series.items()},
        "extents": {name: series.extent(0, len(series)) for name, series in history.series.items()},
        "offsets": [table.offsets[index] for index in range(len(table))],
        "parts": table.parts.seconds(history.steps, 0, len(table)),
        "superseded": [(one.resumed_from, list(one.steps), one.values) for one in history.superseded],
        "recent": [(t, step.step, step.dt, step.time) for t, step in history.recent],
        "incidents": [(one, history.incidents.touches(one.id)) for one in history.incidents.all()],
        "marks": list(history.marks.between(-(2**53), 2**53)),
        "evals": (list(history.evals.values()), history.evals.newest, history.best),
        "cards": {
            index: (list(card.t), [card.extent(field, [(-math.inf, math.inf)]) for field in FIELDS])
            for index, card in history.cards.items()
        },
        "gpus": history.gpus,
        "ranks": [(one.rank, one.step, one.dt) for one in history.ranks.all()],
        "rest": (history.tokens, history.peak, history.end, history.phase, history.left_out),
    }
    return {name: repr(one) for name, one in whole.items()}

"""Which part of a run the charts show."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pgs_tui.view import FEWEST_STEPS, Ground, View

STEPS = range(1, 1001)
RUN = Ground(STEPS, [float(step) for step in STEPS], 1001.0)
TOKENS = Ground(STEPS, [step * 4096.0 for step in STEPS], 1001 * 4096.0)


def grown(to: int) -> Ground:
    steps = range(1, to + 1)
    return Ground(steps, [float(step) for step in steps], float(to + 1))


def test_at_first_everything_is_seen() -> None:
    assert View().seen(RUN) == (1.0, 1001.0)
    assert View().seen(grown(5000)) == (1.0, 5001.0)


def test_zooming_without_a_cursor_keeps_the_newest_step_in_sight() -> None:
    view = View()
    for _ in range(20):
        view = view.zoomed(2, RUN)
        start, end = view.seen(RUN)
        assert start < 1000 < end
    assert FEWEST_STEPS <= end - start < 3 * FEWEST_STEPS


def test_zooming_keeps_the_cursor_where_it_is_on_the_screen() -> None:
    view = View().at(250, RUN)
    view = view.zoomed(2, RUN)
    start, end = view.seen(RUN)
    assert end - start == pytest.approx(500, rel=0.1)
    assert (250 - start) / (end - start) == pytest.approx(0.25, abs=0.05)


def test_zooming_out_ends_with_the_whole_run() -> None:
    view = View().at(250, RUN).zoomed(2, RUN).zoomed(2, RUN)
    for _ in range(3):
        view = view.zoomed(0.5, RUN)
    assert view.window is None
    assert view.cursor == 250


def test_a_window_that_follows_moves_on_in_jumps() -> None:
    view = View().zoomed(2, RUN).zoomed(2, RUN)
    ends = {view.seen(grown(to)) for to in range(1000, 1200)}
    assert len(ends) <= 5, "the axes seldom change"
    for to in range(1000, 1200):
        start, end = view.seen(grown(to))
        assert start < to < end, "the newest step is always seen"


def test_the_cursor_stops_following_and_the_end_resumes_it() -> None:
    view = View().zoomed(4, RUN)
    seen = view.seen(RUN)
    still = view.moved(-1, 80, RUN)
    assert not still.follow
    assert still.seen(grown(3000)) == seen, "what is looked at stays on the screen"
    start, end = still.at_end().seen(grown(3000))
    assert start < 3000 < end and end - start == pytest.approx(seen[1] - seen[0])


def test_the_cursor_begins_at_the_newest_step_that_is_seen() -> None:
    assert View().moved(-1, 80, RUN).cursor == 1000
    assert View(window=(100.0, 200.0), follow=False).moved(1, 80, RUN).cursor == 199


def test_the_cursor_moves_by_a_column_and_always_to_another_step() -> None:
    wide = View().at(500, RUN)
    assert wide.moved(1, 100, RUN).cursor == pytest.approx(515, abs=10)
    assert wide.moved(-10, 100, RUN).cursor == pytest.approx(400, abs=10)
    close = View(window=(496.0, 506.0), cursor=500, follow=False)
    assert close.moved(1, 100, RUN).cursor == 501
    assert close.moved(-1, 100, RUN).cursor == 499


def test_the_cursor_stops_at_both_ends() -> None:
    assert View().at(1, RUN).moved(-5, 80, RUN).cursor == 1
    assert View().at(1000, RUN).moved(5, 80, RUN).cursor == 1000


def test_the_window_goes_with_the_cursor() -> None:
    view = View(window=(100.0, 200.0), cursor=195, follow=False)
    for _ in range(40):
        view = view.moved(1, 20, RUN)
        start, end = view.seen(RUN)
        assert view.cursor is not None and start <= view.cursor < end
        assert end - start == pytest.approx(100, rel=0.1)
    far = view.at(900, RUN)
    start, end = far.seen(RUN)
    assert start <= 900 < end


def test_a_step_that_is_gone_leaves_the_cursor_on_the_one_before() -> None:
    view = View().at(800, RUN)
    assert view.index(grown(600)) == 599
    assert view.moved(-1, 80, grown(600)).cursor != 800
    gaps = Ground([1, 2, 50, 51], [1.0, 2.0, 50.0, 51.0], 60.0)
    assert View().at(30, gaps).cursor == 2


def test_panning_stops_at_the_ends() -> None:
    view = View(window=(400.0, 600.0), follow=False)
    assert view.panned(0.5, RUN).seen(RUN) == (500.0, 700.0)
    for _ in range(20):
        view = view.panned(0.5, RUN)
    assert view.seen(RUN)[1] == pytest.approx(1001, abs=20)
    for _ in range(20):
        view = view.panned(-0.5, RUN)
    assert view.seen(RUN)[0] == 1.0
    assert View().panned(0.5, RUN) == View(), "of the whole run there is no other part"


def test_following_out_of_the_whole_run_takes_its_last_quarter() -> None:
    view = View().following(RUN)
    start, end = view.seen(RUN)
    assert view.follow and end - start == pytest.approx(250, rel=0.1)
    held = view.following(RUN)
    assert not held.follow and held.seen(grown(5000)) == (start, end)
    assert held.following(RUN).follow


def test_another_axis_shows_the_same_steps() -> None:
    view = View(window=(400.0, 600.0), cursor=500, follow=False).on_axis("tokens", RUN, TOKENS)
    start, end = view.seen(TOKENS)
    assert view.axis == "tokens" and view.cursor == 500
    assert start <= 400 * 4096 and end > 599 * 4096
    assert end - start == pytest.approx(200 * 4096, rel=0.15)
    assert View().on_axis("time", RUN, TOKENS) == View("time")


MOVES: dict[str, Callable[[View, Ground], View]] = {
    "+": lambda view, here: view.zoomed(2, here),
    "-": lambda view, here: view.zoomed(0.5, here),
    "<": lambda view, here: view.panned(-0.5, here),
    ">": lambda view, here: view.panned(0.5, here),
    "left": lambda view, here: view.moved(-1, 60, here),
    "right": lambda view, here: view.moved(10, 60, here),
    "home": lambda view, here: view.at_start(here),
    "end": lambda view, here: view.at_end(),
    "f": lambda view, here: view.following(here),
    "0": lambda view, here: view.all(),
    "n": lambda view, here: view.at(here.steps[len(here.steps) // 2], here),
}
KEYS = st.lists(st.sampled_from([*MOVES, "t"]), max_size=25)
GAPS = st.lists(st.sampled_from([0.0, 1e-9, 1.0, 7.0, 1e6]), min_size=1, max_size=40)


@given(KEYS, GAPS, GAPS)
def test_no_keys_lead_nowhere(keys: list[str], gaps: list[float], growth: list[float]) -> None:
    steps, positions = [3], [0.0]
    for gap in gaps:
        steps.append(steps[-1] + 1 + int(gap))
        positions.append(positions[-1] + gap)
    ground = Ground(tuple(steps), tuple(positions), positions[-1] + 1)
    by_step = Ground(tuple(steps), tuple(map(float, steps)), steps[-1] + 1.0)
    view = View()
    for key in keys:
        here, other = (ground, by_step) if view.axis == "time" else (by_step, ground)
        if key == "t":
            view = view.on_axis("time" if other is ground else "step", here, other)
        else:
            view = MOVES[key](view, here)
        now = ground if view.axis == "time" else by_step
        start, end = view.seen(now)
        assert start < end, "there is always something to draw"
        assert start <= now.newest and end >= now.positions[0], "and some of the run is in it"
        if view.cursor is not None and key in ("left", "right", "home", "n"):
            index = view.index(now)
            assert index is not None and start <= now.positions[index] < end

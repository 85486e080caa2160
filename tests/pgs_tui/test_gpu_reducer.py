"""The readings of a card, reduced again and again while the run goes on, are those of one look at the end."""

from hypothesis import given
from hypothesis import strategies as st

from engine.events import Gpu, Stamped
from pgs_tui.history.axis import AXES
from pgs_tui.history.history import History
from tests.pgs_tui.making import step


def reading(number: int) -> Gpu:
    return Gpu(index=0, uuid="u", utilisation=number % 101, throttle=("thermal",) if number % 7 == 0 else ())


ahead = st.lists(st.tuples(st.integers(1, 3), st.integers(1, 3)), min_size=1, max_size=40)
"""By how many steps and seconds the run goes on, and how often the card is read meanwhile."""


@given(ahead, st.sampled_from(AXES), st.integers(1, 40), st.integers(0, 30))
def test_looking_often_shows_what_looking_once_does(
    moves: list[tuple[int, int]], axis: str, count: int, back: int
) -> None:
    often, once = History(), History()
    now, number = 1000.0, 0
    end = {"step": 130.0, "tokens": 13_000.0, "time": 130.0, "epoch": 1.3}[axis]
    for place, (steps, readings) in enumerate(moves):
        number = max(number - back, 0) if place == len(moves) // 2 else number
        events = []
        for _ in range(steps):
            number, now = number + 1, now + 1.0
            events += [Stamped(now, step(number)), *(Stamped(now, reading(place + one)) for one in range(readings))]
        often.fold(events)
        once.fold(events)
        seen = often.gpu_columns(0, "utilisation", 0.0, end, count, axis)
    assert seen == once.gpu_columns(0, "utilisation", 0.0, end, count, axis)

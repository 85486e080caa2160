"""What the panels say of a history."""

import pytest

from engine.events import Alert, Eval, StepMemory
from pgs_tui.history.at_step import Usual
from pgs_tui.history.history import History
from pgs_tui.view import View
from screens.dashboard.readings.charts import CHARTS
from screens.dashboard.readings.looking import label_of, looking_at
from screens.dashboard.readings.memory import memory_of
from screens.dashboard.readings.wording import WORDINGS
from tests.pgs_tui.making import stamped, step
from tests.screens.scenes import GPU


def alert(number: int, metric: str | None) -> Alert:
    return Alert(
        id=f"a{number}",
        state="open",
        code="SPIKE_SKIPPED",
        severity="warning",
        meaning="",
        step=number,
        metric=metric,
        value=9.0,
    )


def test_an_incident_stands_on_the_chart_of_the_metric_it_measured() -> None:
    history = History()
    steps = [step(number) for number in range(1, 31)]
    history.fold(stamped(*steps, alert(10, "loss"), alert(20, "grad_norm"), alert(25, None)))

    def marked(name: str) -> list[tuple[float, str]]:
        looking = looking_at(history, View(), None, read=False)
        curves = CHARTS[name](history, looking).curves
        assert curves is not None
        return [(mark.x, mark.kind) for mark in curves(40).marks]

    assert marked("loss") == [(10, "spike"), (25, "spike")]
    assert marked("grad_norm") == [(20, "spike"), (25, "spike")]
    assert marked("tok_s") == [(25, "spike")], "one that measured nothing belongs to all"


def test_the_peak_is_the_highest_of_all_steps_and_provisional_in_the_first() -> None:
    history = History()
    history.fold(stamped(GPU, step(1, mem=StepMemory(peak=1.27))))
    assert memory_of(history).readings[0] == ("peak so far", "1.3")
    history.fold(stamped(step(2, mem=StepMemory(peak=2.1)), step(3, mem=StepMemory(peak=1.27))))
    assert memory_of(history).readings[0] == ("peak", "2.1")


def test_the_best_evaluation_is_marked_beside_whatever_graver_happened_there() -> None:
    history = History()
    steps = [step(number) for number in range(1, 31)]
    history.fold(stamped(*steps, Eval(step=20, loss=1.5, best=True), alert(20, "loss")))
    curves = CHARTS["loss"](history, looking_at(history, View(), None, read=False)).curves
    assert curves is not None
    assert {(mark.x, mark.kind) for mark in curves(40).marks} == {(20, "spike"), (20, "best")}


def test_an_axis_of_time_has_whole_seconds_unless_it_is_looked_at_closely() -> None:
    wide, close = label_of("time", (0.000127, 50.0)), label_of("time", (1.5, 2.25))
    assert wide is not None and close is not None
    assert [wide(position) for position in (0.000127, 20.0, 59.8, 90.4)] == ["0 s", "20 s", "1 m", "1 m 30 s"]
    assert [close(position) for position in (1.5, 1.75)] == ["1.5 s", "1.75 s"]


@pytest.mark.parametrize(
    ("level", "spread", "words"),
    [
        (1.64, 0.1, "1.640 ± 0.10"),
        (1.64, 0.0834, "1.640 ± 0.083"),
        (3900.0, 0.0, "3 900"),
        (3900.0, 12.4, "3 900 ± 12"),
        (3900.0, 240.0, "3 900 ± 240"),
        (1.0, None, "1.000"),
    ],
)
def test_what_is_usual_is_written_as_closely_as_it_is_known(level: float, spread: float | None, words: str) -> None:
    assert WORDINGS["loss"].usual(Usual(level, spread)) == words

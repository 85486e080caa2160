"""What the panels say of a history."""

from engine.events import Alert, StepMemory
from pgs_tui.runs.history import History
from pgs_tui.widgets.chart_panel import ChartView
from screens.readings import charts
from screens.readings.memory import memory_of
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

    def flagged(view: ChartView) -> list[int]:
        assert view.curves is not None
        return [flag.step for flag in view.curves(40).flags]

    assert flagged(charts.loss(history, None)) == [10, 25]
    assert flagged(charts.grad_norm(history, None)) == [20]
    assert flagged(charts.tok_s(history, None)) == []


def test_the_peak_is_the_highest_of_all_steps_and_provisional_in_the_first() -> None:
    history = History()
    history.fold(stamped(GPU, step(1, mem=StepMemory(peak=1.27))))
    assert memory_of(history).readings[0] == ("peak so far", "1.3")
    history.fold(stamped(step(2, mem=StepMemory(peak=2.1)), step(3, mem=StepMemory(peak=1.27))))
    assert memory_of(history).readings[0] == ("peak", "2.1")

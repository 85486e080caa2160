"""What the panels say of a history."""

from engine.events import Alert
from pgs_tui.runs.history import History
from screens import readings
from tests.pgs_tui.making import stamped, step


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

    def flagged(view: readings.ChartView) -> list[int]:
        assert view.curves is not None
        return [flag.step for flag in view.curves(40).flags]

    assert flagged(readings.loss(history, None)) == [10, 25]
    assert flagged(readings.grad_norm(history, None)) == [20]
    assert flagged(readings.tok_s(history, None)) == []

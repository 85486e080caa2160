import math

import pytest

from engine.events import (
    Ack,
    Advice,
    Alert,
    Audit,
    AuditFlag,
    Checkpoint,
    End,
    Eval,
    Gpu,
    Host,
    ModelInfo,
    Phase,
    Resume,
    Stamped,
    Start,
    StepMemory,
)
from pgs_tui.history.history import History
from tests.pgs_tui.making import stamped, step


def history_of(*events) -> History:
    history = History()
    history.fold(stamped(*events))
    return history


def start(total: int | None = None) -> Start:
    model = ModelInfo(name="m", params=10, trainable=5)
    return Start(run="r", command="c", config="x.yaml", model=model, device="cpu", total_steps=total)


def test_every_step_is_kept() -> None:
    history = history_of(*(step(number, loss=1 / number) for number in range(1, 5001)))
    assert len(history.steps) == 5000
    assert history.last_step == 5000
    assert history.series["loss"].values[4999] == 1 / 5000


def test_steps_after_a_resume_replace_the_earlier_ones() -> None:
    before = [step(number, loss) for number, loss in enumerate([2.0, 1.8, 1.6, 1.5, 1.4, 1.3], 1)]
    after = [step(number, loss) for number, loss in zip(range(4, 8), [1.52, 1.38, 1.31, 1.2], strict=True)]
    history = history_of(*before, Resume(from_step=3, checkpoint="checkpoints/step-3"), *after)
    assert list(history.steps) == [1, 2, 3, 4, 5, 6, 7]
    assert list(history.series["loss"].values) == [2.0, 1.8, 1.6, 1.52, 1.38, 1.31, 1.2]
    assert history.last_step == 7
    assert history.tokens == 700, "the tokens of replaced steps do not count twice"
    (old,) = history.superseded
    assert list(old.steps) == [4, 5, 6]
    assert list(old.values["loss"]) == [1.5, 1.4, 1.3]


def test_as_many_steps_at_other_places_after_a_resume_fall_into_their_own_columns() -> None:
    before = [step(number, 1.0) for number in range(1, 21)]
    after = [step(number, 2.0) for number in range(30, 40)]
    history = history_of(*before)
    history.columns("loss", 1, 61, 12)
    history.smooth_columns("loss", 0.9, 1, 61, 12)
    history.fold(stamped(Resume(from_step=10, checkpoint="c"), *after))
    afresh = history_of(*before[:10], *after)
    assert len(history.steps) == len(before)
    assert history.columns("loss", 1, 61, 12) == afresh.columns("loss", 1, 61, 12)
    assert history.smooth_columns("loss", 0.9, 1, 61, 12) == afresh.smooth_columns("loss", 0.9, 1, 61, 12)


def test_steps_that_go_back_without_a_resume_event_are_one_line_too() -> None:
    history = history_of(step(1), step(2), step(3), step(2, 1.0))
    assert list(history.steps) == [1, 2]
    assert history.series["loss"].last == 1.0


def test_a_resume_takes_back_the_evaluations_after_it() -> None:
    history = history_of(
        step(1),
        Eval(step=1, loss=1.9, best=True),
        step(2),
        Eval(step=2, loss=1.5, best=True),
        Resume(from_step=1, checkpoint="c"),
    )
    assert [event.step for event in history.evals.values()] == [1]
    assert history.best is not None
    assert history.best.loss == 1.9


def test_nan_and_infinity_are_kept_as_they_are() -> None:
    history = history_of(step(1, 2.1), step(2, math.nan), step(3, math.inf), step(4, 1.9))
    columns = history.columns("loss", 1, 5, 4)
    assert columns.marks == {1, 2}
    assert columns.extent() == (1.9, 2.1)
    assert history.recent_values("loss") == [2.1, 1.9]


def test_an_incident_is_one_whatever_number_of_alerts_tells_of_it() -> None:
    advice = Advice(key="train.learning_rate", value=1e-6)
    opened = Alert(
        id="a", state="open", code="LOSS_NAN", severity="error", meaning="not a number", step=6, advice=(advice,)
    )
    updated = Alert(id="a", state="update", code="LOSS_NAN", severity="critical", meaning="", step=8, count=3)
    history = history_of(opened, updated)
    (incident,) = history.incidents.all()
    assert (incident.step, incident.count, incident.severity, incident.open) == (6, 3, "critical", True)
    assert incident.meaning == "not a number"
    assert incident.advice == (advice,)


def test_nan_that_comes_and_goes_makes_two_incidents() -> None:
    def alert(name: str, state, at: int, count: int, severity="error") -> Alert:
        return Alert(id=name, state=state, code="LOSS_NAN", severity=severity, meaning="m", step=at, count=count)

    losses = [2.1, 2.0, math.nan, 1.9, 1.9, math.nan, math.nan, math.nan]
    events = [step(number, loss) for number, loss in enumerate(losses, 1)]
    events[3:3] = [alert("nan-3", "open", 3, 1)]  # type: ignore[list-item]
    events[5:5] = [alert("nan-3", "closed", 3, 1)]  # type: ignore[list-item]
    events += [alert("nan-6", "open", 6, 1), alert("nan-6", "update", 8, 3, "critical")]  # type: ignore[list-item]
    history = history_of(*events)
    assert [(one.step, one.count, one.open) for one in history.incidents.all()] == [(3, 1, False), (6, 3, True)]
    assert history.columns("loss", 1, 9, 8).extent() == (1.9, 2.1)


def test_findings_about_the_data_are_incidents_from_warning_up() -> None:
    flags = (
        AuditFlag(code="HIDDEN_CHARACTERS", severity="info", count=2, message="some"),
        AuditFlag(code="NO_TRAINABLE_TOKENS", severity="warning", count=7, message="7 rows", first_rows=(3, 9)),
    )
    (incident,) = history_of(Audit(flags=flags)).incidents.all()
    assert (incident.code, incident.count, incident.rows) == ("NO_TRAINABLE_TOKENS", 7, (3, 9))
    assert incident.title == "no trainable tokens"


def test_the_smoothed_line_is_the_average_without_its_bias_and_skips_nan() -> None:
    history = history_of(step(1, 4.0), step(2, math.nan), step(3, 2.0))
    history.smooth_columns("loss", 0.5, 1, 4, 3)
    weights, values = (0.25, 0.5), (4.0, 2.0)
    assert history.smoothed("loss") == pytest.approx(
        sum(w * v for w, v in zip(weights, values, strict=True)) / sum(weights)
    )


def test_the_smoothed_line_starts_again_where_a_resume_went_back_to() -> None:
    whole = history_of(*(step(number, float(number)) for number in (1, 2, 3)))
    resumed = history_of(step(1, 1.0), step(2, 9.0), Resume(from_step=1, checkpoint="c"), step(2, 2.0), step(3, 3.0))
    for history in (whole, resumed):
        history.smooth_columns("loss", 0.9, 1, 4, 3)
    assert resumed.smoothed("loss") == whole.smoothed("loss")


def test_the_remaining_time_follows_the_present_rate() -> None:
    history = History()
    history.fold(stamped(start(100), *(step(number) for number in range(1, 11)), every=2.0))
    assert history.seconds_per_step() == pytest.approx(2.0)
    assert history.remaining_seconds() == pytest.approx(180.0)


def told_at(*events: tuple[float, object]) -> History:
    history = History()
    history.fold([Stamped(t, event) for t, event in events])
    return history


def in_pause(begin: int, pause: float) -> list[tuple[float, object]]:
    """Steps of two seconds, a pause behind step 10, and steps again."""
    before = [(begin + 2.0 * number, step(number, dt=2.0)) for number in range(1, 11)]
    after = [(begin + pause + 2.0 * number, step(number, dt=2.0)) for number in range(11, 16)]
    end = begin + 20.0
    return [*before, (end, Phase(name="paused")), (end + pause, Phase(name="training")), *after]


@pytest.mark.parametrize("pause", [20.0, 8 * 3600.0])
def test_a_pause_is_no_training_that_the_remaining_time_expects_again(pause: float) -> None:
    history = told_at((0.0, start(100)), *in_pause(0, pause))
    assert history.seconds_per_step() == pytest.approx(2.0)
    assert history.remaining_seconds() == pytest.approx(170.0)
    assert history.positions("time")[-1] - history.positions("time")[0] == pytest.approx(28.0)


def test_a_night_in_which_the_machine_slept_is_no_training_either() -> None:
    slept = [(2.0 * number + (30_000.0 if number > 10 else 0.0), step(number, dt=2.0)) for number in range(1, 21)]
    assert told_at((0.0, start(100)), *slept).remaining_seconds() == pytest.approx(160.0)


def test_evaluating_and_saving_are_part_of_the_rate_a_pause_amid_them_is_not() -> None:
    events = [
        *((2.0 * number, step(number, dt=2.0)) for number in range(1, 11)),
        (20.0, Phase(name="evaluating")),
        (120.0, Phase(name="paused")),
        (9120.0, Phase(name="evaluating")),
        (9220.0, Eval(step=10, name="held out", loss=1.0, seconds=200.0)),
        (9222.0, step(11, dt=2.0)),
    ]
    history = told_at(*events)
    assert history.seconds_per_step() == pytest.approx((18 + 202) / 10)
    assert history.positions("time")[-1] - history.positions("time")[0] == pytest.approx(220.0)


def test_a_run_that_was_killed_in_a_pause_does_not_count_the_hours_until_it_was_resumed() -> None:
    paused = in_pause(0, 3600.0)[:11]
    again = [
        (9000.0, Phase(name="loading model")),
        (9010.0, Resume(from_step=8, checkpoint="checkpoints/step-8")),
        *((9010.0 + 2 * (number - 8), step(number, dt=2.0)) for number in range(9, 13)),
    ]
    history = told_at((0.0, start(100)), *paused, *again)
    assert history.remaining_seconds() == pytest.approx(2.0 * 88)


def test_the_remaining_time_is_not_invented() -> None:
    assert history_of(step(1)).remaining_seconds() is None
    assert history_of(start(None), step(1), step(2)).remaining_seconds() is None
    ended = history_of(start(5), step(1), step(2), End(status="stopped", reason="", exit_code=0, last_step=2))
    assert ended.remaining_seconds() is None


def test_the_newest_of_everything_else_is_kept() -> None:
    history = history_of(
        Phase(name="training"),
        Gpu(index=1, uuid="b", total=40.0),
        Gpu(index=0, uuid="a", total=80.0),
        Host(cpu=50, rss=1.0, disk_free=10),
        Checkpoint(step=2, path="checkpoints/step-2", seconds=1.0, bytes=5),
        Ack(id="1", ok=True, message="yes"),
        step(1, mem=StepMemory(allocated=1.0, peak=3.0)),
        step(2, mem=StepMemory(allocated=1.0, peak=2.0)),
    )
    assert history.phase is not None and history.phase.name == "training"
    assert sorted(history.gpus) == [0, 1]
    assert history.host is not None and history.checkpoint is not None and history.acks["1"].ok
    assert history.peak == 3.0


def test_a_run_that_goes_on_after_its_end_has_not_ended() -> None:
    end = End(status="stopped", reason="asked", exit_code=0, last_step=2)
    assert history_of(step(1), end).end == end
    assert history_of(step(1), end, start(10), Resume(from_step=1, checkpoint="c"), step(2)).end is None


def test_steps_of_other_ranks_are_no_part_of_the_line() -> None:
    assert list(history_of(step(1), step(1, rank=1), step(2)).steps) == [1, 2]

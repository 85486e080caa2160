"""The alerts of a run, step by step, and when it gives up."""

from __future__ import annotations

import json
import math
import random
from dataclasses import replace
from typing import Any

import pytest

from engine.config.schema import Config, Model, Train
from engine.events import Alert, decode, encode
from engine.health import Judgement, TrainingHealth
from engine.health.spikes import NEAR


def make_health(**train: Any) -> TrainingHealth:
    return TrainingHealth(Config(model=Model(name_or_path="model"), train=Train(**train)), warmup_steps=0)


def judge(
    health: TrainingHealth,
    step: int,
    loss: float | None,
    norm: float,
    *,
    rows: tuple[int, ...] = (),
    moved: float | None = 1.0,
    non_finite_parameter: str | None = None,
) -> Judgement:
    """All that is asked of a step in a run that has every gradient before it moves; `norm` is both norms."""
    found = health.gate(step, loss, norm if math.isfinite(norm) else 1.0, rows=rows)
    refused = None
    if not found.skip:
        refused = health.refuse_gradient(step, loss, norm, non_finite_parameter, rows=rows, judges_size=True)
    alerts = found.alerts + (refused.alerts if refused else ())
    found = refused or found
    alerts += health.after(step, loss, norm, moved, learning_rate=1e-5, skipped=found.skip, rows=rows)
    return replace(found, alerts=alerts)


def judge_all(
    health: TrainingHealth, losses: list[float | None], norms: list[float] | None = None, first_step: int = 1
) -> list[Judgement]:
    return [
        judge(health, step, loss, norms[index] if norms else 1.0, rows=(step,))
        for index, (step, loss) in enumerate(enumerate(losses, first_step))
    ]


def alerts_of(judgements: list[Judgement], code: str | None = None) -> list[Alert]:
    return [alert for judgement in judgements for alert in judgement.alerts if code in (None, alert.code)]


def test_nan_that_comes_goes_and_comes_to_stay_is_two_incidents() -> None:
    nan = math.nan
    judgements = judge_all(make_health(), [2.1, 2.0, nan, 1.9, 1.9, nan, nan, nan])
    alerts = alerts_of(judgements)

    assert [judgement.skip for judgement in judgements] == [False, False, True, False, False, True, True, True]
    assert [(alert.state, alert.step, alert.count) for alert in alerts] == [
        ("open", 3, 1),
        ("closed", 3, 1),
        ("open", 6, 1),
        ("update", 7, 2),
        ("update", 8, 3),
    ]
    assert len({alert.id for alert in alerts}) == 2
    assert alerts[1].meaning.endswith("over after 1 step")
    assert [alert.severity for alert in alerts] == ["error", "error", "error", "error", "critical"]
    assert alerts[0].advice[0].key == "train.learning_rate" and alerts[0].advice[0].value == 1e-6


def test_a_spike_names_value_baseline_and_rows() -> None:
    judgements = judge_all(make_health(), [1.7] * 40 + [9.41] + [1.7] * NEAR)
    opened, closed = alerts_of(judgements)

    assert judgements[40].skip and not judgements[41].skip
    assert (opened.id, opened.state, opened.code, opened.step) == ("spike_skipped-41", "open", "SPIKE_SKIPPED", 41)
    assert opened.value == 9.41 and opened.baseline == 1.7 and opened.rows == (41,)
    assert opened.spread and opened.meaning.startswith(f"loss 9.41, usually 1.7 ± {opened.spread:.3g}: ")
    assert opened.severity == "warning" and closed.state == "closed" and closed.id == opened.id


def test_an_infinite_gradient_is_named() -> None:
    health = make_health()
    judgement = judge(health, 1, 2.0, math.inf, non_finite_parameter="layers.3.up_proj.weight")
    (alert,) = judgement.alerts
    assert judgement.skip and alert.code == "NON_FINITE_GRAD"
    assert "the gradient of layers.3.up_proj.weight is not finite" in alert.meaning


def test_one_cause_ends_when_another_begins() -> None:
    judgements = judge_all(make_health(), [2.0] * 30 + [9.0, math.nan] + [2.0] * NEAR)
    assert [(alert.code, alert.state) for alert in alerts_of(judgements)] == [
        ("SPIKE_SKIPPED", "open"),
        ("NON_FINITE_LOSS", "open"),
        ("NON_FINITE_LOSS", "closed"),
        ("SPIKE_SKIPPED", "closed"),
    ]


def test_spikes_near_each_other_are_one_incident_each_with_its_own_baseline() -> None:
    losses: list[float | None] = [2.0 - 0.001 * step for step in range(1, 201)]
    for step in (60, 75, 94, 150):
        losses[step - 1] = 9.0
    judgements = judge_all(make_health(), losses)
    alerts = alerts_of(judgements, "SPIKE_SKIPPED")

    assert [step for step, judgement in enumerate(judgements, 1) if judgement.skip] == [60, 75, 94, 150]
    assert [(alert.state, alert.step, alert.count) for alert in alerts] == [
        ("open", 60, 1),
        ("update", 75, 2),
        ("update", 94, 3),
        ("closed", 94, 3),
        ("open", 150, 1),
        ("closed", 150, 1),
    ]
    usual = [alert.baseline for alert in alerts if alert.state != "closed" and alert.baseline is not None]
    assert usual == sorted(usual, reverse=True) and len(set(usual)) == 4, "as it was at that step"
    assert alerts[3].meaning.endswith("over after 3 steps")


def test_only_spikes_in_a_row_make_their_incident_graver() -> None:
    scattered: list[float | None] = [9.0 if step > 40 and step % 12 == 0 else 2.0 for step in range(1, 161)]
    assert {alert.severity for alert in alerts_of(judge_all(make_health(), scattered), "SPIKE_SKIPPED")} == {"warning"}
    in_a_row: list[float | None] = [2.0] * 40 + [9.0, 2.0] + [9.0 * 2**step for step in range(5)] + [2.0] * 5
    severities = [alert.severity for alert in alerts_of(judge_all(make_health(), in_a_row), "SPIKE_SKIPPED")]
    assert severities == [*["warning"] * 5, "error"]


def test_a_step_without_loss_tokens_is_skipped_and_counted() -> None:
    judgements = judge_all(make_health(), [2.0, None, None, 2.0])
    alerts = alerts_of(judgements)

    assert [judgement.skip for judgement in judgements] == [False, True, True, False]
    assert [(alert.code, alert.state, alert.count) for alert in alerts] == [
        ("NO_TRAINABLE_TOKENS", "open", 1),
        ("NO_TRAINABLE_TOKENS", "update", 2),
        ("NO_TRAINABLE_TOKENS", "closed", 2),
    ]
    assert alerts[0].value is None and alerts[0].rows == (2,)


@pytest.mark.parametrize("loss", [math.nan, None], ids=["nan", "no loss tokens"])
def test_the_run_gives_up_after_so_many_skipped_steps_with_advice(loss: float | None) -> None:
    judgements = judge_all(make_health(max_skipped_in_a_row=5), [2.0] * 3 + [loss] * 5)

    assert [judgement.stop is not None for judgement in judgements] == [False] * 7 + [True]
    stop = judgements[-1].stop
    assert stop is not None and stop.startswith("5 steps in a row were skipped") and "\n" not in stop
    assert "train.learning_rate: 1e-06" in stop if loss is not None else "data.max_seq_length: 4096" in stop
    last = judgements[-1].alerts[-1]
    assert last.code == "SKIPPED_IN_A_ROW" and last.severity == "critical"


def test_a_climbing_loss_gives_up_at_the_default_of_twenty() -> None:
    judgements = judge_all(make_health(), [2.0] * 50 + [4.0 * 1.5**i for i in range(30)])
    assert next(index for index, judgement in enumerate(judgements) if judgement.stop) == 50 + 20 - 1


def test_a_usual_step_between_starts_the_count_again() -> None:
    judgements = judge_all(make_health(max_skipped_in_a_row=3), [2.0] * 30 + [9.0, 9.0, 2.0, 9.0, 9.0, 2.0])
    assert all(judgement.stop is None for judgement in judgements)


def test_a_lasting_shift_is_accepted_with_a_note_and_training_goes_on() -> None:
    judgements = judge_all(make_health(), [2.0] * 50 + [4.0] * 30)
    skipped = sum(judgement.skip for judgement in judgements)
    opened, closed = alerts_of(judgements, "LEVEL_SHIFT")

    assert skipped == 9 and all(judgement.stop is None for judgement in judgements)
    assert opened.step == 60 and "moved from 2 to about 4" in opened.meaning and closed.state == "closed"


def test_many_spikes_say_filter_the_data() -> None:
    losses: list[float | None] = [9.0 if step % 10 == 0 and step > 30 else 2.0 for step in range(1, 301)]
    alerts = alerts_of(judge_all(make_health(), losses), "SPIKES_FREQUENT")
    assert [alert.state for alert in alerts] == ["open"] and "filter the data" in alerts[0].meaning


def test_lion_with_a_rate_meant_for_adamw_is_told_so() -> None:
    health = make_health(optimizer="lion", learning_rate=2e-4)
    alerts = alerts_of(judge_all(health, [2.0, 2.1, 2.4, 3.0, 5.0], [0.8, 3.2, 24.0, 310.0, 2.1e4]))
    assert {alert.code for alert in alerts} == {"GRAD_NORM_CLIMB"}
    assert "Lion" in alerts[0].advice[0].why and alerts[0].advice[0].value == 4e-5


def test_a_flat_loss_is_one_alert_with_rate_and_norm_beside_it() -> None:
    wobble = [((7 * step) % 5 - 2) * 0.03 for step in range(1, 201)]
    alerts = alerts_of(judge_all(make_health(), [2.3 + noise for noise in wobble], [0.5] * 200))
    assert [(alert.code, alert.state) for alert in alerts] == [("FLAT", "open")]
    assert "learning rate 1e-05 and gradient norm 0.5" in alerts[0].meaning
    assert (alerts[0].advice[0].key, alerts[0].advice[0].value) == ("train.learning_rate", 2e-5)


def test_a_steep_normal_start_raises_nothing() -> None:
    losses: list[float | None] = [1.8 + 9 * math.exp(-i / 15) + 0.05 * ((7 * i) % 5 - 2) for i in range(1, 61)]
    assert alerts_of(judge_all(make_health(), losses)) == []


def test_spike_detection_off_still_skips_what_is_not_finite() -> None:
    judgements = judge_all(make_health(spike_detection=False), [2.0] * 40 + [50.0, math.nan])
    assert [judgement.skip for judgement in judgements[-2:]] == [False, True]


def test_state_comes_back_exactly_through_strict_json() -> None:
    rng = random.Random(9)
    losses: list[float | None] = [2.0 * rng.lognormvariate(0, 0.1) for _ in range(300)]
    losses[70:76] = [9.0, math.nan, math.nan, math.nan, None, 8.0]
    norms = [rng.lognormvariate(0, 0.3) for _ in range(300)]
    norms[69:75] = [1.0, 5.0, 30.0, math.inf, math.nan, 1.0]
    for cut in (60, 71, 73, 74, 75, 150):
        unbroken, resumed = make_health(), make_health()
        judge_all(unbroken, losses[:cut], norms[:cut])
        resumed.load_state_dict(json.loads(json.dumps(unbroken.state_dict(), allow_nan=False)))
        assert repr(judge_all(resumed, losses[cut:], norms[cut:], cut + 1)) == repr(
            judge_all(unbroken, losses[cut:], norms[cut:], cut + 1)
        )


def test_alerts_survive_the_event_file() -> None:
    for alert in alerts_of(judge_all(make_health(), [2.0, math.nan, None, math.inf, 2.0])):
        assert repr(decode(encode(alert, 1.0)).event) == repr(alert)  # type: ignore[union-attr]


@pytest.mark.parametrize("wants_skips", [True, False])
def test_a_spike_is_flagged_whether_or_not_it_is_skipped(wants_skips: bool) -> None:
    judgements = judge_all(make_health(spike_detection=wants_skips), [1.7] * 40 + [9.41, 1.7, math.nan] + [1.7] * NEAR)
    assert [step for step, judgement in enumerate(judgements, 1) if judgement.is_flagged] == [41, 43]
    assert [judgement.skip for judgement in judgements[40:44]] == [wants_skips, False, True, False]
    opened = alerts_of(judgements)[0]
    assert (opened.code, opened.value, opened.rows) == ("SPIKE_SKIPPED" if wants_skips else "SPIKE_TAKEN", 9.41, (41,))
    assert [alert.state for alert in alerts_of(judgements, opened.code)] == ["open", "closed"]
    assert ("the step was taken" in opened.meaning) != wants_skips


def test_the_step_that_leaves_a_steep_place_is_flagged_too() -> None:
    judgements = judge_all(make_health(), [2.0] * 103, norms=[1.0] * 100 + [50.0] * 3)
    assert [judgement.skip for judgement in judgements[100:]] == [True, True, False]
    assert [judgement.is_flagged for judgement in judgements[99:]] == [False, True, True, True]

"""Detectors that only tell, over whole runs: silent while nothing is wrong, one incident for each thing that is."""

from __future__ import annotations

import json
import math
import random
from dataclasses import replace
from typing import Any

import pytest

from engine.config.schema import Config, Model, Train
from engine.events import Alert, Estimate, Gpu, Host, Resume, Stamped, Start, Step
from engine.events.types import Eval
from engine.health import JUDGED, SYMPTOMS, RunWatch, TrainingHealth
from engine.health.above_start import AboveStartDetector
from engine.health.watch import WATCHED

from .synthetic import Fault, SyntheticRun, from_step, slower, watched

WRONG_FROM = 800
CONFIG = Config(model=Model(name_or_path="m"), train=Train(optimizer="adamw"))


def judged(run: SyntheticRun) -> list[Alert]:
    """All alerts of a run whose engine watches it."""
    health = TrainingHealth(CONFIG, run.warmup, run.steps)
    alerts: list[Alert] = []
    for stamped in run.events():
        alerts += health.watch.take(stamped)
        step = stamped.event
        if isinstance(step, Step):
            gate = health.gate(step.step, step.loss, step.hidden_norm)
            after = health.after(
                step.step, step.loss, step.grad_norm, step.moved, learning_rate=step.lr, skipped=gate.skip
            )
            alerts += (*gate.alerts, *after)
    return alerts


def test_a_healthy_run_of_20_000_steps_raises_nothing() -> None:
    assert judged(SyntheticRun(steps=20_000)) == []


@pytest.mark.parametrize(
    "kind",
    [
        {"packed": True, "noise": 0.02},
        {"noise": 0.2},
        {"seconds": 8.0, "jitter": 0.15},
        {"seconds": 0.05, "jitter": 0.3, "packed": True},
        {"end_loss": 0.3, "noise": 0.1},
        {"start_loss": 1.75, "end_loss": 1.7, "noise": 0.1, "warmup": 600},
        {"eval_every": 20, "save_every": 30},
    ],
    ids=["packed", "noisy", "slow", "quick", "low", "hardly falling", "many breaks"],
)
def test_healthy_runs_of_all_kinds_raise_nothing(kind: dict[str, Any]) -> None:
    assert watched(SyntheticRun(steps=2500, seed=3, **kind).events()) == []


def test_a_healthy_run_that_is_resumed_again_and_again_raises_nothing() -> None:
    run = SyntheticRun(steps=2400, seed=5)
    events = list(run.events())
    start, compiling = events[:2]
    health = TrainingHealth(CONFIG, run.warmup, run.steps)
    reader = RunWatch({})
    for stamped in events:
        step = stamped.event
        if isinstance(step, Step) and step.step % 300 == 0:
            state = json.loads(json.dumps(health.state_dict(), allow_nan=False))
            health = TrainingHealth(CONFIG, run.warmup, run.steps)
            health.load_state_dict(state)
            began = [start, compiling, Stamped(stamped.t, Resume(from_step=step.step - 1, checkpoint="checkpoints/c"))]
            assert watched(began[:2], health.watch) == [] == watched(began, reader)
            stamped = Stamped(stamped.t, slower(step, 90.0))  # it compiles again
        assert health.watch.take(stamped) == () == reader.take(stamped)


def multiplied(**growth: float) -> Fault:
    """From WRONG_FROM on the named fields grow by these factors a step."""
    return from_step(
        WRONG_FROM,
        lambda step: replace(
            step, **{name: getattr(step, name) * by ** (step.step - WRONG_FROM) for name, by in growth.items()}
        ),
    )


def learned_by_heart(step: Step) -> Step:
    fallen = (step.loss or 0.0) * math.exp(-(step.step - 20) / 10)
    return replace(step, loss=max(0.005, fallen))


def ruined(step: Step) -> Step:
    return replace(step, loss=3.0 * (step.loss or 0.0))


def holding(step: Step, more: float) -> Step:
    assert step.mem.allocated is not None
    return replace(step, mem=replace(step.mem, allocated=step.mem.allocated + more))


def wider(step: Step) -> Step:
    assert step.mem.peak is not None
    return replace(step, mem=replace(step.mem, peak=step.mem.peak + 14))


def leaking(number: int, reading: Gpu | Host) -> Gpu | Host:
    lost = 0.19 * max(0, number - WRONG_FROM)
    if isinstance(reading, Gpu):
        return reading
    return replace(reading, rss=reading.rss + lost, memory_available=90.0 - lost)


def short_of_memory(number: int, reading: Gpu | Host) -> Gpu | Host:
    if isinstance(reading, Gpu) or number < WRONG_FROM:
        return reading
    return replace(reading, memory_available=2.0)


def hot(number: int, reading: Gpu | Host) -> Gpu | Host:
    if isinstance(reading, Host) or number < WRONG_FROM:
        return reading
    return replace(reading, throttle=("power cap", "too hot (software)"), temperature=91.0)


def with_loss(share: float) -> Fault:
    return from_step(WRONG_FROM, lambda step: replace(step, loss_tokens=max(1, int(step.tokens * share))))


WRONG: dict[str, tuple[str, int, dict[str, Any]]] = {
    "learned by heart": ("LOSS_TOO_LOW", 100, {"fault": from_step(20, learned_by_heart)}),
    "ruined at once": ("LOSS_ABOVE_START", 30, {"fault": from_step(4, ruined, 100)}),
    "diverging": ("LOSS_RISES", 950, {"fault": multiplied(loss=1.001)}),
    "growing norm": ("GRAD_NORM_GROWS", 1050, {"fault": multiplied(grad_norm=1.0075)}),
    "overfitting": (
        "EVAL_RISES",
        1150,
        {
            "eval_every": 50,
            "eval_fault": lambda evaluation: replace(
                evaluation, loss=evaluation.loss * 1.01 ** max(0, (evaluation.step - WRONG_FROM) // 50)
            ),
        },
    ),
    "all tokens": ("MASK_SHIFTED", 830, {"fault": with_loss(1.0)}),
    "hardly any": ("MASK_SHIFTED", 840, {"fault": with_loss(0.05)}),
    "one slow step": ("STEP_SLOW", 810, {"fault": from_step(810, lambda step: slower(step, 6.0), 810)}),
    "slow steps": (
        "STEP_SLOW",
        810,
        {"fault": lambda step: slower(step, 6.0) if step.step % 10 == 0 and 800 < step.step < 1000 else step},
    ),
    "stall": ("STALL", 810, {"fault": from_step(810, lambda step: slower(step, 60.0), 810)}),
    "slower": ("THROUGHPUT_LOW", 930, {"fault": from_step(WRONG_FROM, lambda step: slower(step, step.dt))}),
    "hot": ("THROTTLED", 840, {"reading_fault": hot}),
    "tight": ("MEMORY_NEAR_LIMIT", 810, {"fault": from_step(WRONG_FROM, wider)}),
    "leak": (
        "MEMORY_GROWS",
        1050,
        {"fault": from_step(WRONG_FROM, lambda step: holding(step, 0.1 * (step.step - WRONG_FROM)))},
    ),
    "host leak": ("HOST_MEMORY_GROWS", 1050, {"last": 1150, "reading_fault": leaking}),
    "host full": ("HOST_MEMORY_NEAR_LIMIT", 820, {"reading_fault": short_of_memory}),
}


@pytest.mark.parametrize(("code", "latest", "kind"), WRONG.values(), ids=WRONG)
def test_what_is_wrong_is_one_incident_and_soon(code: str, latest: int, kind: dict[str, Any]) -> None:
    alerts = judged(SyntheticRun(**{"steps": 1300, "seed": 1, **kind}))
    assert {alert.code for alert in alerts} == {code}
    assert len({alert.id for alert in alerts}) == 1
    first = alerts[0]
    assert first.state == "open" and first.step is not None and first.step <= latest
    assert "{" not in first.meaning and (first.advice or SYMPTOMS[code].beyond)


def test_every_watched_code_is_tried_here_and_stands_in_the_table() -> None:
    assert {code for code, _, _ in WRONG.values()} == set(WATCHED)
    assert set(WATCHED) <= set(JUDGED) <= SYMPTOMS.keys()


def test_a_run_that_diverges_early_is_seen_early_and_not_taken_for_one_that_learns_by_heart() -> None:
    def diverging(step: Step) -> Step:
        return replace(step, loss=2.0 + 0.05 * step.step)

    alerts = watched(
        SyntheticRun(
            steps=200,
            fault=diverging,
            eval_every=20,
            eval_fault=lambda evaluation: replace(evaluation, loss=2.0 + 0.05 * evaluation.step),
        ).events()
    )
    assert [(alert.code, alert.step) for alert in alerts] == [("LOSS_ABOVE_START", 44), ("LOSS_RISES", 60)]


def test_a_rate_that_ruins_the_model_within_ten_steps_is_told_before_the_thirtieth() -> None:
    def blown_up(step: Step) -> Step:  # as the quickstart does at a learning rate of 1
        return replace(step, loss=min(8.0 * 1.7**step.step, 1000.0) * (1 + 0.2 * math.sin(step.step)))

    (alert,) = watched(SyntheticRun(steps=60, fault=blown_up).events(), RunWatch({"train.learning_rate": 1.0}))
    assert alert.code == "LOSS_ABOVE_START" and alert.step is not None and alert.step < 30
    assert (alert.advice[0].key, alert.advice[0].value) == ("train.learning_rate", 0.1)


def test_a_loss_that_wavers_around_what_is_too_low_is_one_incident() -> None:
    def wavering(step: Step) -> Step:
        return replace(step, loss=3.0 if step.step < 30 else 0.1 + 0.03 * math.sin(step.step / 5))

    alerts = watched(SyntheticRun(steps=300, fault=wavering).events())
    assert [(alert.code, alert.state) for alert in alerts] == [("LOSS_TOO_LOW", "open")]


def test_batches_that_differ_much_are_not_taken_for_a_loss_above_the_start() -> None:
    for seed in range(50):
        rng, detector = random.Random(seed), AboveStartDetector()
        assert not any(detector.check(rng.lognormvariate(0.0, 0.8)) for _ in range(2000))


def test_an_evaluation_that_rises_advises_to_end_where_it_was_best() -> None:
    _, _, kind = WRONG["overfitting"]
    alert = judged(SyntheticRun(steps=1300, seed=1, **kind))[0]
    assert alert.advice[0].key == "train.max_steps" and alert.advice[0].value in (750, 800)


@pytest.mark.parametrize(
    ("slow_paths", "compiles", "said", "key"),
    [
        (("18 layers compute in torch, several times slower.",), True, "18 layers compute in torch", None),
        ((), False, "the layers are not compiled", "model.compile"),
    ],
    ids=["kernels missing", "compile off"],
)
def test_a_run_far_slower_than_expected_says_why(
    slow_paths: tuple[str, ...], compiles: bool, said: str, key: str | None
) -> None:
    events = list(SyntheticRun(steps=400, packed=True, eval_every=None).events())
    assert isinstance(events[0].event, Start)
    events[0] = Stamped(0.0, replace(events[0].event, slow_paths=slow_paths))
    expected = Estimate(peak=60.0, reserved=70.0, components={}, decides="backward", tok_s=20_000.0)
    settings = {"model.compile": compiles, "data.packing": True}
    (alert,) = watched([events[0], Stamped(0.0, expected), *events[1:]], RunWatch(settings, 400))
    assert alert.code == "THROUGHPUT_LOW" and "20,000 were expected" in alert.meaning and said in alert.meaning
    assert [advice.key for advice in alert.advice] == ([key] if key else [])


def test_a_slice_of_a_card_and_a_silent_one_raise_nothing() -> None:
    def as_slice(number: int, reading: Gpu | Host) -> Gpu | Host:
        if isinstance(reading, Host):
            return reading
        error = "utilisation: n/a (MIG)"
        return replace(reading, utilisation=None, throttle=(), temperature=None, power=None, error=error)

    assert watched(SyntheticRun(steps=300, reading_fault=as_slice).events()) == []

    def of_unknown_holders(number: int, reading: Gpu | Host) -> Gpu | Host:
        return reading if isinstance(reading, Host) else replace(reading, used_by_us=None, used_by_others=72.5)

    assert watched(SyntheticRun(steps=300, reading_fault=of_unknown_holders).events()) == []
    lost = Gpu(index=0, uuid="GPU-a", error="lost since 12:00")
    assert watched(Stamped(float(second), lost) for second in range(200)) == []


def test_the_log_of_another_tool_is_judged_as_far_as_it_goes() -> None:
    def foreign(step: Step) -> Step:
        unknown = math.nan
        bare = Step(
            step=step.step,
            epoch=unknown,
            loss=step.loss,
            lr=unknown,
            grad_norm=step.grad_norm,
            dt=unknown,
            tokens=0,
            slots=0,
            loss_tokens=0,
            tok_s=unknown,
        )
        return multiplied(loss=1.001)(bare)

    events = SyntheticRun(steps=1000).events()
    steps = [Stamped(event.t, foreign(event.event)) for event in events if isinstance(event.event, Step)]
    (alert,) = watched(steps)
    assert alert.code == "LOSS_RISES" and alert.advice[0].value is None


CASES: dict[str, list[float | None]] = {
    "a spike and another": [
        6.5 if i == 41 else 5.0 if i == 45 else 1.20 + 0.02 * ((7 * i) % 5 - 2) for i in range(1, 81)
    ],
    "even, then a jump": [2.0] * 30 + [4.0] + [2.0] * 10,
    "a steep start": [1.8 + 9 * math.exp(-i / 15) + 0.05 * ((7 * i) % 5 - 2) for i in range(1, 61)],
    "near zero": [0.0006 if i == 30 else 0.4 if i == 50 else 0.00021 if i % 2 else 0.00019 for i in range(1, 61)],
    "nan comes and goes": [2.1, 2.0, math.nan, 1.9, 1.9, math.nan, math.nan, math.nan],
    "a slow decline": [2.5 - 0.004 * i + 0.03 * ((7 * i) % 5 - 2) for i in range(1, 201)],
    "no loss": [2.0, None, None, 2.0],
}


@pytest.mark.parametrize("losses", CASES.values(), ids=CASES)
def test_what_the_gate_judges_is_told_there_alone(losses: list[float | None]) -> None:
    steps = [
        Step(
            step=number,
            epoch=0.0,
            loss=loss,
            lr=1e-5,
            grad_norm=1.0,
            dt=1.0,
            tokens=100,
            slots=100,
            loss_tokens=50,
            tok_s=100.0,
        )
        for number, loss in enumerate(losses, 1)
    ]
    assert watched(Stamped(float(step.step), step) for step in steps) == []


def test_a_reader_leaves_to_the_engine_what_that_judges_itself() -> None:
    _, _, kind = WRONG["diverging"]
    events = list(SyntheticRun(steps=1000, seed=1, **kind).events())
    assert [alert.code for alert in watched(events)] == ["LOSS_RISES"]
    assert isinstance(events[0].event, Start)
    events[0] = Stamped(0.0, replace(events[0].event, judged=JUDGED))
    assert watched(events) == []


def test_a_resume_closes_what_was_open_and_begins_anew() -> None:
    _, _, kind = WRONG["diverging"]
    watch = RunWatch({})
    events = list(SyntheticRun(steps=1000, seed=1, **kind).events())
    assert [alert.state for alert in watched(events, watch)] == ["open"]
    (closed,) = watch.take(Stamped(0.0, Resume(from_step=500, checkpoint="checkpoints/step-500")))
    assert closed.state == "closed" and closed.code == "LOSS_RISES"
    healthy = [event for event in SyntheticRun(steps=1000).events() if not isinstance(event.event, Start)]
    assert watched(healthy, watch) == []


def test_its_state_comes_back_exactly_through_strict_json() -> None:
    def wrong(step: Step) -> Step:
        step = with_loss(1.0)(multiplied(loss=1.001, grad_norm=1.0075)(step))
        return slower(step, 6.0, data=6.0) if step.step % 40 == 0 else step

    events = [
        stamped
        for stamped in SyntheticRun(steps=1200, eval_every=50, save_every=None, fault=wrong).events()
        if isinstance(stamped.event, Step | Eval)
    ]
    for cut in (500, 860, 1000):
        unbroken, resumed = RunWatch({}, 1200), RunWatch({}, 1200)
        watched(events[:cut], unbroken)
        resumed.load_state_dict(json.loads(json.dumps(unbroken.state_dict(), allow_nan=False)))
        before = {code for code in WATCHED if code not in ("STEP_SLOW", "STALL", "THROUGHPUT_LOW")}
        told = [[a for a in watched(events[cut:], w) if a.code in before] for w in (unbroken, resumed)]
        assert repr(told[0]) == repr(told[1])


def test_a_state_of_an_earlier_version_begins_anew_where_it_knows_nothing() -> None:
    watch = RunWatch({})
    watch.load_state_dict({})
    health = TrainingHealth(CONFIG, 0)
    state = health.state_dict()
    del state["watch"]
    health.load_state_dict(state)
    assert watched(SyntheticRun(steps=200).events(), watch) == []

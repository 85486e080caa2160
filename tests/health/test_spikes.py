"""Spikes of loss and gradient norm: found when they are there, and only then."""

from __future__ import annotations

import json
import math
import random
from dataclasses import replace

import pytest

from engine.health import SpikeDetector, Verdict
from engine.health.baseline import FIRST_LEVEL, MINIMUM, SHIFT_AFTER, WINDOW

YOUNG = FIRST_LEVEL + MINIMUM


def wobble(step: int) -> int:
    """A fixed stand-in for noise, -2 to 2."""
    return (7 * step) % 5 - 2


def skipped_steps(losses: list[float], detector: SpikeDetector | None = None) -> list[int]:
    judge = detector or SpikeDetector()
    return [step for step, loss in enumerate(losses, 1) if judge.check(step, loss, 1.0).skip]


def settled(level: float = 2.0, hidden_norm: float = 1.0, z_threshold: float = 6.0) -> SpikeDetector:
    detector = SpikeDetector(z_threshold)
    for step in range(1, WINDOW + 1):
        assert not detector.check(step, level, hidden_norm).skip
    return detector


def test_a_spike_does_not_spoil_the_baseline_for_the_next_one() -> None:
    losses = [1.20 + 0.02 * wobble(i) for i in range(1, 81)]
    losses[40], losses[44] = 6.5, 5.0
    assert skipped_steps(losses) == [41, 45]


def test_even_losses_then_a_jump() -> None:
    assert skipped_steps([2.0] * 30 + [4.0] + [2.0] * 10) == [31]


def test_a_steep_start_is_normal() -> None:
    assert skipped_steps([1.8 + 9 * math.exp(-i / 15) + 0.05 * wobble(i) for i in range(1, 61)]) == []


def test_near_zero_a_factor_of_three_is_no_spike() -> None:
    losses = [0.00021 if i % 2 else 0.00019 for i in range(1, 61)]
    losses[29], losses[49] = 0.0006, 0.4
    assert skipped_steps(losses) == [50]


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("judge_spikes", [True, False])
def test_no_judgement_hangs_on_whether_the_spread_was_asked_for(seed: int, judge_spikes: bool) -> None:
    """Near values are passed without sorting for the spread; whoever asks for it gets the same verdicts with it."""
    rng = random.Random(seed)
    noise, far = rng.choice((0.0, 0.01, 0.1, 0.5)), rng.choice((1.3, 1.5, 3.0, 30.0))
    quick, full = (SpikeDetector(judge_spikes=judge_spikes) for _ in range(2))
    for step in range(1, 4 * WINDOW):
        loss, norm = (
            level * rng.lognormvariate(0, noise) * (far if rng.random() < 0.08 else 1.0) * (3 if step > 300 else 1)
            for level in (2.0, 0.7)
        )
        values = rng.choice(
            ((loss, norm), (loss, norm), (loss, None), (None, norm), (math.nan, norm), (loss, math.inf))
        )
        told, asked = quick.check(step, *values), full.check(step, *values, tells_spread=True)
        assert repr(told) in (repr(asked), repr(replace(asked, spread=None, z=None))), (step, values)
        assert told.spread == asked.spread or not told.stands_out
    assert quick.state_dict() == full.state_dict()


def test_only_jumps_upwards_count() -> None:
    assert skipped_steps([2.0] * 50 + [0.1] * 3 + [2.0] * 50) == []


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("judge_spikes", [True, False])
def test_not_finite_is_skipped_from_the_first_step(bad: float, judge_spikes: bool) -> None:
    detector = SpikeDetector(judge_spikes=judge_spikes)
    by_loss = detector.check(1, bad, 1.0)
    by_gradient = detector.check(2, 2.0, bad)

    assert by_loss.skip and by_loss.reason == "not finite" and by_loss.metric == "loss" and by_loss.z is None
    assert by_gradient.skip and by_gradient.metric == "hidden_norm"


def test_a_verdict_says_how_far_from_usual_the_step_is() -> None:
    verdict = settled(level=1.7, hidden_norm=0.3).check(200, 9.41, 5.0)

    assert verdict.skip and verdict.reason == "loss" and verdict.metric == "loss"
    assert verdict.value == 9.41 and verdict.baseline == 1.7
    assert verdict.spread is not None and verdict.z == pytest.approx((9.41 - 1.7) / verdict.spread)


def test_the_gradient_norm_alone_can_be_the_reason() -> None:
    verdict = settled(hidden_norm=0.3).check(200, 2.0, 3.0)
    assert verdict.skip and verdict.reason == "hidden_norm" and verdict.value == 3.0 and verdict.baseline == 0.3


def test_a_gradient_of_twice_the_usual_size_is_left_to_clipping() -> None:
    assert not settled(hidden_norm=0.3).check(200, 2.0, 0.6).skip


def test_the_threshold_is_the_configs() -> None:
    assert settled(z_threshold=6.0).check(200, 2.5, 1.0).skip is False
    assert settled(z_threshold=3.0).check(200, 2.5, 1.0).skip is True


def test_switched_off_it_lets_spikes_pass() -> None:
    detector = SpikeDetector(judge_spikes=False)
    assert skipped_steps([2.0] * 50 + [400.0] + [2.0] * 10, detector) == []


def test_values_that_were_not_measured_are_left_out() -> None:
    detector = settled()
    assert detector.check(200, None, 1.0) == Verdict(skip=False, reason=None, metric="loss", value=None)
    assert not detector.check(201, 2.0, None).skip
    assert detector.check(202, None, 50.0).reason == "hidden_norm"


def test_a_lasting_shift_becomes_the_usual_level() -> None:
    losses = [2.0] * 100 + [4.0 + 0.02 * wobble(i) for i in range(60)]
    detector = SpikeDetector()
    verdicts = [detector.check(step, loss, 1.0) for step, loss in enumerate(losses, 1)]
    skipped = [step for step, verdict in enumerate(verdicts, 1) if verdict.skip]

    assert skipped == list(range(101, 100 + SHIFT_AFTER))
    assert [step for step, verdict in enumerate(verdicts, 1) if verdict.shifted] == [100 + SHIFT_AFTER]
    assert verdicts[-1].baseline == pytest.approx(4.0, abs=0.05)
    assert detector.check(200, 9.0, 1.0).skip


@pytest.mark.parametrize(
    "wild",
    [
        [4.0 * 1.4**i for i in range(40)],  # climbing away
        [40.0 if i % 2 else 4.0 for i in range(40)],  # jumping about
        [math.nan if i % 3 == 0 else 8.0 for i in range(40)],  # broken again and again
        [math.inf] * 40,
    ],
    ids=["climbing", "jumping", "nan between", "infinite"],
)
def test_wild_values_are_never_accepted(wild: list[float]) -> None:
    detector = settled()
    assert all(detector.check(step, loss, 1.0).skip for step, loss in enumerate(wild, WINDOW + 1))


def test_a_shift_of_both_metrics_is_accepted_when_both_are_steady() -> None:
    detector = settled(level=2.0, hidden_norm=1.0)
    verdicts = [detector.check(200 + i, 4.0, 8.0) for i in range(SHIFT_AFTER)]
    assert [verdict.skip for verdict in verdicts] == [True] * (SHIFT_AFTER - 1) + [False]

    detector = settled(level=2.0, hidden_norm=1.0)
    assert all(detector.check(200 + i, 4.0, 8.0 * 2.0**i).skip for i in range(2 * SHIFT_AFTER))


def test_spikes_with_usual_steps_between_are_no_shift() -> None:
    detector = settled()
    for step in range(0, 200, 2):
        assert detector.check(step, 6.0, 1.0).skip
        assert not detector.check(step + 1, 2.0, 1.0).skip


def test_state_comes_back_exactly_through_json() -> None:
    rng = random.Random(5)
    unbroken, resumed = SpikeDetector(), SpikeDetector()
    values = [(2 * rng.lognormvariate(0, 0.3), rng.lognormvariate(0, 0.8)) for _ in range(400)]
    values[146:156] = [(5.0, 1.0)] * 10  # the state is taken in the middle of a shift
    for step, (loss, hidden_norm) in enumerate(values[:150], 1):
        unbroken.check(step, loss, hidden_norm)
    resumed.load_state_dict(json.loads(json.dumps(unbroken.state_dict(), allow_nan=False)))

    for step, (loss, hidden_norm) in enumerate(values[150:], 151):
        assert resumed.check(step, loss, hidden_norm) == unbroken.check(step, loss, hidden_norm)


def healthy_run(rng: random.Random, steps: int, loss_noise: float, norm_noise: float) -> list[tuple[float, float]]:
    """A falling loss and a settling gradient norm, both with lognormal noise."""
    return [
        (
            (1.5 + 2.5 * math.exp(-step / 300)) * rng.lognormvariate(0, loss_noise),
            (0.4 + 2.0 * math.exp(-step / 50)) * rng.lognormvariate(0, norm_noise),
        )
        for step in range(steps)
    ]


@pytest.mark.parametrize(("loss_noise", "norm_noise"), [(0.02, 0.1), (0.1, 0.2), (0.2, 0.3)])
def test_healthy_noisy_runs_are_hardly_ever_disturbed(loss_noise: float, norm_noise: float) -> None:
    rng = random.Random(11)
    runs = [healthy_run(rng, 3500, loss_noise, norm_noise) for _ in range(3)]
    skipped = 0
    for run in runs:
        detector = SpikeDetector()
        skipped += sum(detector.check(step, *values).skip for step, values in enumerate(run, 1))
    assert skipped / (3 * 3500) < 1e-4


@pytest.mark.parametrize("noise", [0.02, 0.1, 0.15])
def test_jumps_to_three_times_the_usual_are_caught(noise: float) -> None:
    rng = random.Random(12)
    detector = SpikeDetector()
    run = healthy_run(rng, 1500, noise, noise)
    for step, (loss, hidden_norm) in enumerate(run, 1):
        if step > 2 * YOUNG and step % 50 == 0:
            calm_loss, calm_norm = 1.5 + 2.5 * math.exp(-step / 300), 0.4 + 2.0 * math.exp(-step / 50)
            assert detector.check(step, 3 * calm_loss, hidden_norm).reason == "loss", step
            if step >= 150:  # before that the norm still falls fast
                assert detector.check(step, loss, 3 * calm_norm).reason == "hidden_norm", step
        assert not detector.check(step, loss, hidden_norm).skip


def test_a_spike_soon_after_a_steep_start_is_caught() -> None:
    losses = [1.8 + 9 * math.exp(-i / 15) + 0.05 * wobble(i) for i in range(1, 101)]
    losses[79] = 6.0
    assert skipped_steps(losses) == [80]


def test_the_young_baseline_is_quick_but_not_hasty() -> None:
    detector = SpikeDetector()
    for step in range(1, YOUNG + 1):
        assert detector.check(step, 2.0 if step > 2 else 30.0, 1.0).z is None
    assert not detector.check(21, 2.5, 1.0).skip
    assert detector.check(22, 6.0, 1.0).skip


def test_a_steep_place_of_the_weights_is_left_again_and_not_skipped_for_ever() -> None:
    """Recorded from the quickstart: one update overshot, and every batch after it was steep until the weights moved."""
    detector = SpikeDetector(10.0)
    losses = [4.2 + 0.15 * wobble(i) for i in range(1, 200)]
    norms = [1.44 + 0.06 * wobble(i) for i in range(1, 150)] + [9.52, 5.86, 12.05] + [1.34, 1.44, 1.42]
    skips = [
        step
        for step, (loss, norm) in enumerate(zip(losses, norms, strict=False), 1)
        if detector.check(step, loss, norm).skip
    ]
    assert skips == [150, 151]


def test_one_steep_batch_is_skipped_and_so_is_one_whose_loss_is_far_out_too() -> None:
    detector = SpikeDetector(6.0)
    for step in range(1, 100):
        detector.check(step, 2.0 + 0.02 * wobble(step), 1.0 + 0.05 * wobble(step))
    assert detector.check(100, 2.0, 30.0).skip
    assert not detector.check(101, 2.0, 1.0).skip
    assert all(detector.check(step, 9.0, 30.0 * step).skip for step in range(102, 110))

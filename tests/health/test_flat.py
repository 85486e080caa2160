"""A flat loss is told from a slow one."""

from __future__ import annotations

import json
import math
import random
from itertools import pairwise

from engine.health import FlatDetector


def wobble(step: int) -> int:
    return (7 * step) % 5 - 2


def first_flat(losses: list[float], detector: FlatDetector | None = None) -> int | None:
    judge = detector or FlatDetector()
    return next((step for step, loss in enumerate(losses, 1) if judge.check(step, loss)), None)


def test_a_slow_decline_is_not_flat() -> None:
    assert first_flat([2.5 - 0.004 * i + 0.03 * wobble(i) for i in range(1, 201)]) is None


def test_a_loss_that_does_not_move_is_flat() -> None:
    step = first_flat([2.3 + 0.03 * wobble(i) for i in range(1, 201)])
    assert step is not None and 100 <= step <= 200


def test_the_flat_state_names_level_and_slope() -> None:
    detector = FlatDetector()
    flat = [detector.check(i, 2.3 + 0.03 * wobble(i)) for i in range(1, 201)][-1]
    assert flat is not None and flat.losses == 200
    assert abs(flat.level - 2.3) < 0.01 and abs(flat.slope) < 1e-4


def test_a_steep_start_and_a_later_plateau_are_not_flat() -> None:
    assert first_flat([1.8 + 9 * math.exp(-i / 15) + 0.05 * wobble(i) for i in range(1, 1001)]) is None


def test_a_small_decline_inside_strong_noise_is_not_flat() -> None:
    rng = random.Random(3)
    losses = [2.5 - 0.0005 * i + rng.gauss(0, 0.3) for i in range(1, 1001)]
    assert first_flat(losses) is None


def test_losses_too_large_to_be_summed_decide_nothing() -> None:
    assert first_flat([1.7e308, -1.7e308, 1.7e308] * 60) is None
    assert first_flat([1.7e308] * 5 + [2.0] * 115) is None


def test_even_losses_are_flat_without_dividing_by_zero() -> None:
    assert first_flat([2.0] * 150) == 100


def test_the_warmup_does_not_count() -> None:
    assert first_flat([2.0] * 150, FlatDetector(warmup_steps=100)) is None
    assert first_flat([2.0] * 250, FlatDetector(warmup_steps=100)) == 200


def test_flat_ends_once_when_the_loss_comes_down() -> None:
    detector = FlatDetector()
    losses = [2.0] * 150 + [2.0 - 0.002 * i for i in range(300)]
    states = [detector.check(step, loss) is not None for step, loss in enumerate(losses, 1)]
    changes = [step for step, (before, now) in enumerate(pairwise(states), 2) if before != now]
    assert len(changes) == 2 and not states[-1]


def test_state_comes_back_exactly_through_json() -> None:
    rng = random.Random(4)
    losses = [2.0 + rng.gauss(0, 0.02) for _ in range(300)]
    unbroken, resumed = FlatDetector(10), FlatDetector(10)
    for step, loss in enumerate(losses[:150], 1):
        unbroken.check(step, loss)
    resumed.load_state_dict(json.loads(json.dumps(unbroken.state_dict())))
    for step, loss in enumerate(losses[150:], 151):
        assert resumed.check(step, loss) == unbroken.check(step, loss)


def test_a_loss_that_rises_is_not_flat() -> None:
    detector = FlatDetector()
    assert all(detector.check(i, 1.7 + 1.3 * i / 600 + 0.03 * wobble(i)) is None for i in range(1, 601))


def test_a_flat_loss_that_begins_to_rise_is_flat_no_longer() -> None:
    detector = FlatDetector()
    losses = [2.0 + 0.03 * wobble(i) + 0.004 * max(0, i - 300) for i in range(1, 601)]
    states = [detector.check(i, loss) is not None for i, loss in enumerate(losses, 1)]
    assert states[200] and not states[-1]


def test_a_run_that_was_flat_when_it_was_saved_is_so_when_it_goes_on() -> None:
    detector, resumed = FlatDetector(), FlatDetector()
    for i in range(1, 206):
        detector.check(i, 2.3 + 0.03 * wobble(i))
    state = json.loads(json.dumps(detector.state_dict()))
    del state["since_line"]  # as checkpoints of earlier versions have it
    resumed.load_state_dict(state)
    assert resumed.check(206, 2.3) is not None

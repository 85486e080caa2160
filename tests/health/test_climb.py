"""A gradient norm that explodes is seen within a few steps."""

from __future__ import annotations

import json
import math
import random

from engine.health.climb import SETTLED_AFTER, ClimbDetector


def test_an_explosion_is_seen_while_it_happens() -> None:
    detector = ClimbDetector()
    climbs = [detector.check(norm) for norm in (0.8, 3.2, 24.0, 310.0, 2.1e4)]
    assert climbs[:3] == [None, None, None]
    assert climbs[3] is not None and climbs[3].start == 0.8
    assert climbs[4] is not None and climbs[4].highest == 2.1e4


def test_an_explosion_into_infinity_is_seen() -> None:
    detector = ClimbDetector()
    assert [detector.check(norm) is not None for norm in (1.0, 5.0, 50.0, math.inf, math.nan)] == [
        False,
        False,
        False,
        True,
        True,
    ]


def test_noise_and_one_spike_are_no_climb() -> None:
    rng = random.Random(2)
    detector = ClimbDetector()
    norms = [rng.lognormvariate(0, 0.4) for _ in range(5000)]
    norms[1000] = 400.0
    assert not any(detector.check(norm) for norm in norms)


def test_a_zero_norm_starts_no_climb() -> None:
    detector = ClimbDetector()
    assert not any(detector.check(norm) for norm in (0.0, 0.1, 1.0, 2.0, 2.5))


def test_a_climb_ends_when_the_norm_falls_or_settles() -> None:
    detector = ClimbDetector()
    for norm in (1.0, 4.0, 16.0, 64.0):
        climb = detector.check(norm)
    assert climb is not None and detector.check(1.5) is None

    for norm in (1.0, 4.0, 16.0, 64.0):
        climb = detector.check(norm)
    assert climb is not None
    settling = [detector.check(30.0) for _ in range(SETTLED_AFTER)]
    assert settling[0] is not None and not settling[0].is_new_high and settling[-1] is None


def test_state_comes_back_through_strict_json() -> None:
    detector, resumed = ClimbDetector(), ClimbDetector()
    for norm in (1.0, 5.0, 50.0, math.inf):
        detector.check(norm)
    resumed.load_state_dict(json.loads(json.dumps(detector.state_dict(), allow_nan=False)))
    assert resumed.check(3.0) == detector.check(3.0) is not None

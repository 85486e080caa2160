"""Which samples evaluate and which train: drawn by the seed, the same on every start."""

from __future__ import annotations

import random

from engine.data.feeding.store import SampleStore


def held_out(samples: SampleStore, share: float, limit: int | None, seed: int) -> tuple[SampleStore, SampleStore]:
    """The samples to train on, and a random share of them kept apart; both in row order, no sample in both.

    At least one sample is kept apart, at most `limit`.
    """
    drawn = places_held_out(len(samples), share, limit, seed)
    return samples.pick([number for number in range(len(samples)) if number not in drawn]), samples.pick(sorted(drawn))


def places_held_out(count: int, share: float, limit: int | None, seed: int) -> set[int]:
    """Which of `count` samples `held_out` keeps apart."""
    wanted = max(1, round(share * count))
    return _draw(count, wanted if limit is None else min(wanted, limit), f"{seed}:held out")


def capped(samples: SampleStore, limit: int | None, seed: int) -> SampleStore:
    """At most `limit` of the samples, drawn at random, in row order."""
    if limit is None or limit >= len(samples):
        return samples
    return samples.pick(sorted(_draw(len(samples), limit, f"{seed}:capped")))


def _draw(count: int, wanted: int, key: str) -> set[int]:
    return set(random.Random(key).sample(range(count), min(wanted, count)))

"""Garbage is collected between steps at fixed intervals, and as before once training is over."""

import gc

import pytest

from engine.train.garbage import STEPS_BETWEEN, collect_if_due, collected_between_steps


def test_collections_happen_between_steps_alone() -> None:
    seen: list[str] = []

    def note(phase: str, info: dict[str, int]) -> None:
        seen.append(phase)

    with collected_between_steps():
        assert not gc.isenabled() and gc.get_freeze_count() > 0
        gc.callbacks.append(note)
        try:
            for step in range(1, 2 * STEPS_BETWEEN + 1):
                collect_if_due(step)
                assert len(seen) == 2 * (step // STEPS_BETWEEN)
        finally:
            gc.callbacks.remove(note)
    assert gc.isenabled() and gc.get_freeze_count() == 0


def test_a_training_that_fails_leaves_the_collector_on() -> None:
    with pytest.raises(ValueError), collected_between_steps():
        raise ValueError
    assert gc.isenabled()

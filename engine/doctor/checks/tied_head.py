"""A head that shares the embedding's weights gets its whole gradient at once, so it is stepped once."""

from __future__ import annotations

from engine.doctor.checks.few_steps import STEPS, Way, not_released, released, train_a_little
from engine.doctor.result import Outcome, Patient, failed, ok


def check_tied_head(patient: Patient) -> Outcome:
    """Count the optimizer's updates of each weight in a few steps of the chunked loss, in both ways to train."""
    outcome = judge(released, "memory.gradient_release: false")
    return outcome if outcome.status == "failed" else judge(not_released, "memory.chunked_loss: false")


def judge(way: Way, fix: str) -> Outcome:
    """The verdict on a way to train a model whose head is its embedding."""
    trained = train_a_little(way)
    if wrong := trained.told_of_wrong_counts():
        return failed(wrong, fix)
    count = len(trained.updates)
    return ok(f"each of {count} tensors, the tied head among them, is updated once in each of {STEPS} steps")

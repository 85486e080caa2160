"""Gradient release moves weights to the very bits of a run without it, each tensor once a step."""

from __future__ import annotations

from engine.doctor.checks.few_steps import STEPS, Way, not_released, released, train_a_little
from engine.doctor.checks.numbers import same_bits
from engine.doctor.result import Outcome, Patient, failed, ok

_FIX = "memory.gradient_release: false"


def check_release(patient: Patient) -> Outcome:
    """Train a small bfloat16 model a few steps in both ways, with stochastic rounding and 8-bit state."""
    return judge(released)


def judge(way: Way) -> Outcome:
    """The verdict on a way to release gradients."""
    found, wanted = train_a_little(way), train_a_little(not_released)
    if wrong := found.told_of_wrong_counts():
        return failed(f"with gradient release {wrong}", _FIX)
    changed = [name for name, tensor in wanted.weights.items() if not same_bits(found.weights[name], tensor)]
    if changed:
        return failed(
            f"{len(changed)} of {len(wanted.weights)} tensors are others after {STEPS} steps with gradient release, "
            f"the first: {changed[0]}",
            _FIX,
        )
    return ok(
        f"after {STEPS} steps all {len(wanted.weights)} tensors are the same bits with gradient release as without"
    )

"""Whether this machine multiplies in float8 and, for a config that asks for it, rightly."""

from __future__ import annotations

import torch

from engine.doctor.result import Outcome, Patient, failed, ok
from engine.model.float8.available import float8_problem, torchao_version
from engine.model.float8.check import float8_error
from engine.model.load import pick_device

LIMIT = 0.15
"""Largest error of outputs and gradients; rounding to float8 gives about 0.06, a wrong scale or product about 1."""


def check_float8(patient: Patient) -> Outcome:
    """Where a config asks for it, multiply with one layer as a run would, forward and backward."""
    device = pick_device()
    on_gpu = device.type == "cuda"
    name = torch.cuda.get_device_name(device) if on_gpu else None
    capability = torch.cuda.get_device_capability(device) if on_gpu else None
    problem = float8_problem(name, capability, torchao_version())
    if patient.loaded is None or not patient.loaded.config.memory.float8_training:
        return not_asked_for(problem)
    return judge(problem, None if problem is not None else float8_error(device))


def not_asked_for(problem: str | None) -> Outcome:
    """What is told where no config has the key: nothing is wrong then."""
    could = "this machine could" if problem is None else f"it could not be had here: {problem.partition(': ')[0]}"
    return ok(f"no config asks for memory.float8_training; {could}")


def judge(problem: str | None, error: float | None) -> Outcome:
    """The verdict from what stands in the way, or else from how far the products are off."""
    if problem is not None:
        what, _, cure = problem.partition(": ")
        return failed(what, f"{cure}, or memory.float8_training: false")
    assert error is not None
    found = f"a layer in float8 is {error:.0e} off float64, gradients too (torchao {torchao_version()})"
    if not error <= LIMIT:
        return failed(f"{found}; rounding alone gives less than {LIMIT}", "pip install -U torchao torch")
    return ok(found)

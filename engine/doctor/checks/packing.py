"""Documents packed into one line are computed as if each were alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import torch

from engine.doctor.checks.sizes import model_folder
from engine.doctor.checks.tiny import tiny_model
from engine.doctor.result import Outcome, Patient, failed, ok
from engine.model.delta_rule.install import use_delta_rule_operator
from engine.model.packed.isolation import Isolation
from engine.model.packed.proof import DIFFERENCE_LIMIT, LEAK_LIMIT, NotIsolatedError, isolate, measure
from engine.units import GIB

if TYPE_CHECKING:
    from transformers import PreTrainedModel

LARGEST_MODEL = GIB // 4
"""Bytes of weights up to which the config's own model is loaded; a run proves it for any model when it starts."""
Isolate = Callable[["PreTrainedModel"], Isolation]


def check_packing(patient: Patient) -> Outcome:
    """Pack documents in a small hybrid model, and in the config's own where it packs and is a small local one."""
    from engine.model.load import pick_device

    device = pick_device()
    dtype = torch.bfloat16 if device.type == "cuda" else torch.float32  # the types that runs have there
    model = tiny_model(dtype)
    model.to(device)
    outcome = judge_with_and_without_operators(model)
    if outcome.status != "ok" or patient.loaded is None or not patient.loaded.config.data.packing:
        return outcome
    model, why_not = _own_model(patient)
    if model is None:
        return ok(f"{outcome.found}; {why_not}")
    return judge_with_and_without_operators(model)


def judge_with_and_without_operators(model: PreTrainedModel) -> Outcome:
    """The verdict on the layers as the library has them, then on those with operators that know of documents."""
    outcome = judge(model, isolate)
    if outcome.status != "ok" or not use_delta_rule_operator(model):
        return outcome
    return judge(model, isolate)


@torch.no_grad()
def judge(model: PreTrainedModel, isolate: Isolate) -> Outcome:
    """The verdict on a way to keep documents apart in `model`."""
    name = type(model).__name__
    try:
        isolation = isolate(model)
    except NotIsolatedError as error:
        return failed(f"{name}: packed documents cannot be kept apart: {error}", "data.packing: false")
    model.eval()
    leak, difference = measure(model, isolation)
    isolation.remove()
    limits = (LEAK_LIMIT[model.dtype], DIFFERENCE_LIMIT[model.dtype])
    found = f"{name}: a neighbour changes a packed document by {leak:.1e}, and it differs from itself alone by"
    if not (leak <= limits[0] and difference <= limits[1]):
        return failed(f"{found} {difference:.1e} (allowed {limits[0]:.0e}, {limits[1]:.0e})", "data.packing: false")
    return ok(f"{found} {difference:.1e}, with {isolation.way.how}")


def _own_model(patient: Patient) -> tuple[PreTrainedModel | None, str]:
    """The config's model, or why it is not looked at here."""
    assert patient.loaded is not None
    config = patient.loaded.config
    folder = model_folder(config)
    weights = sum(file.stat().st_size for file in folder.glob("*.safetensors"))
    if config.model.init == "pretrained" and not 0 < weights <= LARGEST_MODEL:
        return None, "the config's own model is too large to load here, a run proves it when it starts"
    from engine.model.load import load_model, pick_device

    if config.model.init == "random":
        from engine.doctor.checks.sizes import sizes_of

        sizes = sizes_of(config)
        if sizes.weights * sizes.bytes_per_weight > LARGEST_MODEL:
            return None, "the config's own model is too large to build here, a run proves it when it starts"
    with torch.random.fork_rng():
        return load_model(folder, config.model, pick_device()), ""

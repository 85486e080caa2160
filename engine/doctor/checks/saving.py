"""A saved model loads back as the same one: every weight, its type, and the tie of head and embedding."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import torch

from engine.doctor.checks.numbers import same_bits
from engine.doctor.checks.tiny import tiny_model
from engine.doctor.result import Outcome, Patient, failed, ok

if TYPE_CHECKING:
    from transformers import PreTrainedModel

Save = Callable[["PreTrainedModel", Path], None]


def check_saving(patient: Patient) -> Outcome:
    """Save a small bfloat16 model with a tied head, and load it as a user would."""
    return judge(lambda model, folder: model.save_pretrained(folder))


def judge(save: Save) -> Outcome:
    """The verdict on a function that saves a model into a folder."""
    from transformers import AutoModelForCausalLM

    model = tiny_model(torch.bfloat16)
    with tempfile.TemporaryDirectory() as name:
        save(model, Path(name))
        loaded = AutoModelForCausalLM.from_pretrained(name, dtype="auto", local_files_only=True)
    fix = "free disk space may be short, or transformers of another version: see the check `versions`"
    saved, found = model.state_dict(), loaded.state_dict()
    lost = sorted(saved.keys() - found.keys())
    if lost:
        return failed(f"{len(lost)} of {len(saved)} tensors are not in the saved model, the first: {lost[0]}", fix)
    changed = [key for key in saved if not same_bits(saved[key], found[key])]
    if changed:
        return failed(f"{len(changed)} of {len(saved)} tensors come back changed, the first: {changed[0]}", fix)
    if loaded.get_output_embeddings().weight is not loaded.get_input_embeddings().weight:
        return failed("head and embedding come back as two tensors, though they are one", fix)
    return ok(f"all {len(saved)} tensors come back bit for bit, head and embedding still one")

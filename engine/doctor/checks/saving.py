"""A saved model loads back as the same one: every weight, its type, the tie of head and embedding, and what the run
does not load, as a vision tower."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import torch
from safetensors import safe_open
from safetensors.torch import load_file, save_file

from engine.checkpoint.merge import write_merged
from engine.checkpoint.original import NoOriginal, find_original
from engine.doctor.checks.numbers import same_bits
from engine.doctor.checks.tiny import tiny_model
from engine.doctor.result import Outcome, Patient, failed, ok

if TYPE_CHECKING:
    from transformers import PreTrainedModel

Save = Callable[["PreTrainedModel", Path, Path], None]
_NOT_LOADED = "mtp.layers.0.weight"
_WEIGHTS = "model.safetensors"
_FIX = "transformers may be of another version: see the check `versions`; keep the original model's files"


def check_saving(patient: Patient) -> Outcome:
    """Move the weights of a small bfloat16 model, save it as a run does, and load it as a user would."""
    return judge(save_merged)


def save_merged(model: PreTrainedModel, original: Path, folder: Path) -> None:
    """Write `model` into the files of the folder it was loaded from, as a run's checkpoints are."""
    moved = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    model.load_state_dict(type(model).from_pretrained(original, dtype="auto").state_dict())
    files = find_original(original, model)
    model.load_state_dict(moved)
    assert not isinstance(files, NoOriginal), files.sentence
    write_merged(files, model, folder)
    files.close()


def judge(save: Save) -> Outcome:
    """The verdict on a function that saves a model, loaded from one folder, into another."""
    with tempfile.TemporaryDirectory() as name:
        original, folder = Path(name) / "original", Path(name) / "saved"
        folder.mkdir()
        model = tiny_model(torch.bfloat16)
        model.save_pretrained(original)
        content = load_file(original / _WEIGHTS) | {_NOT_LOADED: torch.arange(8.0)}
        save_file(content, original / _WEIGHTS, metadata={"format": "pt"})
        with torch.no_grad():
            for parameter in model.parameters():
                parameter.mul_(1.5)
        save(model, original, folder)
        return _compared(model, folder)


def _compared(model: PreTrainedModel, folder: Path) -> Outcome:
    from transformers import AutoModelForCausalLM

    loaded = AutoModelForCausalLM.from_pretrained(folder, dtype="auto", local_files_only=True)
    saved, found = model.state_dict(), loaded.state_dict()
    lost = sorted(saved.keys() - found.keys())
    if lost:
        return failed(f"{len(lost)} of {len(saved)} tensors are not in the saved model, the first: {lost[0]}", _FIX)
    changed = [key for key in saved if not same_bits(saved[key], found[key])]
    if changed:
        return failed(f"{len(changed)} of {len(saved)} tensors come back changed, the first: {changed[0]}", _FIX)
    if loaded.get_output_embeddings().weight is not loaded.get_input_embeddings().weight:
        return failed("head and embedding come back as two tensors, though they are one", _FIX)
    with safe_open(folder / _WEIGHTS, framework="pt") as file:
        if _NOT_LOADED not in file.keys():  # noqa: SIM118  no mapping
            return failed("tensors that a run does not load (vision tower, MTP) are not in its checkpoints", _FIX)
    return ok(f"all {len(saved)} tensors come back bit for bit, the tied head too, and what is not loaded stays")

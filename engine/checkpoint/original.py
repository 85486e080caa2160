"""The files that a model was loaded from, and which of their tensors is which tensor of the model.

What the text model does not load (a vision tower, layers for multi-token prediction) is kept by writing these files
again at each save. The pairing of names is not trusted: each pair is compared when the model is loaded.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from engine.checkpoint.safetensors_file import NAMES_OF_DTYPES, TORCH_DTYPES, SourceFile

if TYPE_CHECKING:
    from transformers import PreTrainedModel

SINGLE = "model.safetensors"
INDEX = "model.safetensors.index.json"
_BESIDES = ("*.json", "*.jinja", "*.txt", "*.model", "*.py")
_SHOWN = 3


@dataclass
class Original:
    """The open files of a model's folder. They stay readable when the folder goes, as an old checkpoint does."""

    folder: Path
    files: list[SourceFile]
    index: dict[str, Any] | None
    """The index over several files; None for a single one."""
    besides: dict[str, bytes]
    """Config, generation config, processor and the like, by name."""
    owner: dict[str, str]
    """Original key -> name of the model's tensor that holds it, whole or as a part."""

    @property
    def keys(self) -> dict[str, SourceFile]:
        """Each original key and its file."""
        return {key: file for file in self.files for key in file.places}

    @property
    def not_loaded(self) -> list[str]:
        """The keys that the model has no tensor for."""
        return [key for key in self.keys if key not in self.owner]

    @property
    def is_removed(self) -> bool:
        """True when the files have left their folder; their space is free once they are closed."""
        return any(file.is_removed for file in self.files)

    def close(self) -> None:
        for file in self.files:
            file.close()

    def moved_to(self, folder: Path) -> Original:
        """The same tensors in a checkpoint that was written from this. Raises OSError or ValueError."""
        moved = _open(folder)
        assert moved is not None and moved.keys.keys() == self.keys.keys(), f"{folder} was not written from {self}"
        moved.owner = self.owner
        self.close()
        return moved


@dataclass(frozen=True)
class NoOriginal:
    """Why the model cannot be written into the files it came from, as one sentence; empty where nothing is lost."""

    sentence: str = ""


@torch.no_grad()
def find_original(folder: Path, model: PreTrainedModel) -> Original | NoOriginal:
    """The files in `folder` that `model` has just been loaded from, paired with its tensors.

    To be called before anything moves the weights: every pair is proved by comparing values.
    """
    try:
        original = _open(folder)
    except (OSError, ValueError, KeyError) as error:
        return NoOriginal(f"The checkpoints will hold what this run loads and nothing else of {folder}: {error}.")
    if original is None:
        return NoOriginal()
    try:
        original.owner = dict(_pairs(model, original))
    except _NoPairingError as error:
        lost = _shown(_never_loaded(original, model))
        original.close()
        return NoOriginal(f"The checkpoints will not hold {lost} of {folder}: {error}." if lost else "")
    return original


def parts_of(model: PreTrainedModel, name: str, tensor: Tensor) -> dict[str, Tensor]:
    """A tensor of the model as the tensors that its original files hold, by their keys there.

    Usually one of another name; a stack of experts is one or several tensors for each of them.
    """
    from transformers.core_model_loading import revert_weight_conversion

    parts: dict[str, Tensor] = revert_weight_conversion(model, {name: tensor})
    return parts


NAMES_NOT_TOLD = (ValueError, KeyError, TypeError, AttributeError, RuntimeError, NotImplementedError)
"""What transformers raises for a model whose names it cannot turn back into those of the files."""


class _NoPairingError(Exception):
    """A tensor of the model is not to be found in the original files."""


def _pairs(model: PreTrainedModel, original: Original) -> Iterator[tuple[str, str]]:
    """Original key and name of the model's tensor. Raises _NoPairingError at the first that cannot be proved."""
    files = original.keys
    found: set[int] = set()
    missing: dict[str, int] = {}
    for name, tensor in model.state_dict().items():
        try:
            parts = parts_of(model, name, tensor)
        except NAMES_NOT_TOLD as error:
            raise _NoPairingError(f"the names of {name} in the files cannot be told ({error})") from error
        if not all(key in files for key in parts):
            missing[name] = tensor.data_ptr()
            continue
        for key, part in parts.items():
            if not _is_equal(files[key], key, part):
                raise _NoPairingError(f"{name} is not equal to {key} in the files")
            yield key, name
        found.add(tensor.data_ptr())
    for name, place in missing.items():
        if place not in found:  # a tied head is stored as the embedding alone
            raise _NoPairingError(f"{name} has no counterpart in the files")


def _is_equal(file: SourceFile, key: str, part: Tensor) -> bool:
    """Whether the file's tensor, cast as at loading, is the model's."""
    place = file.places[key]
    if place.shape != tuple(part.shape) or place.dtype not in TORCH_DTYPES:
        return False
    return part.dtype in NAMES_OF_DTYPES and torch.equal(file.tensor(key).to(part.dtype).to(part.device), part)


def _open(folder: Path) -> Original | None:
    """The folder's safetensors files as transformers would choose them; None where there are none."""
    index: dict[str, Any] | None = None
    if (folder / SINGLE).is_file():
        names = [SINGLE]
    elif (folder / INDEX).is_file():
        index = json.loads((folder / INDEX).read_text(encoding="utf-8"))
        names = sorted(set(index["weight_map"].values())) if index is not None else []
    else:
        return None
    files: list[SourceFile] = []
    try:
        for name in names:
            files.append(SourceFile.open(folder / name))  # noqa: PERF401 - what is open has to be closed again
    except BaseException:
        for file in files:
            file.close()
        raise
    return Original(folder, files, index, _files_besides(folder), owner={})


def _files_besides(folder: Path) -> dict[str, bytes]:
    paths = {path for pattern in _BESIDES for path in folder.glob(pattern) if path.is_file()}
    return {path.name: path.read_bytes() for path in sorted(paths) if not path.name.endswith(".index.json")}


def _never_loaded(original: Original, model: PreTrainedModel) -> list[str]:
    """The keys that the model has no tensor for, by the names alone."""
    unexpected = set(original.keys)
    for name, tensor in model.state_dict().items():
        try:
            unexpected -= set(parts_of(model, name, tensor))
        except NAMES_NOT_TOLD:
            unexpected.discard(name)
    return sorted(unexpected)


def _shown(keys: Collection[str]) -> str:
    """`22 tensors (model.visual, mtp)`: how many, and of which parts of the model."""
    if not keys:
        return ""
    parts = sorted({".".join(key.split(".")[: 2 if key.startswith("model.") else 1]) for key in keys})
    some = ", ".join(parts[:_SHOWN]) + (", ..." if len(parts) > _SHOWN else "")
    return f"{len(keys):,} tensors ({some})"

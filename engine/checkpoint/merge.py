"""Writes a model into the files it came from: trained tensors replaced, all others copied byte for byte.

File by file and tensor by tensor, so that no second copy of the model is ever in memory.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from engine.checkpoint.original import INDEX, Original, parts_of
from engine.checkpoint.safetensors_file import NAMES_OF_DTYPES, Entry, SourceFile, write_file

if TYPE_CHECKING:
    from transformers import PreTrainedModel

CONFIG = "config.json"


def write_merged(original: Original, model: PreTrainedModel, folder: Path) -> None:
    """Write weights, index, config and the files beside them into `folder`, in the form of the original.

    Raises SourceChangedError when the original cannot be copied from any more, OSError when writing fails.
    """
    for file in original.files:
        file.check()
    for name, content in original.besides.items():
        (folder / name).write_bytes(content)
    stored = str(model.dtype).removeprefix("torch.")
    (folder / CONFIG).write_text(with_dtype(original.besides[CONFIG], stored), encoding="utf-8")
    replaced = _Replaced(original, model)
    for file in original.files:
        write_file(folder / file.name, replaced.entries(file), file.metadata or {"format": "pt"})
    if original.index is not None:
        (folder / INDEX).write_text(_index(original, merged_bytes(original, model)), encoding="utf-8")


def merged_bytes(original: Original, model: PreTrainedModel) -> int:
    """How many bytes the tensors take that `write_merged` writes."""
    replaced = _Replaced(original, model)
    return sum(entry.nbytes for file in original.files for entry in replaced.entries(file).values())


def with_dtype(config: bytes, dtype: str) -> str:
    """The original config.json, with the type in which the text model is now stored."""
    content: dict[str, Any] = json.loads(config)
    content.pop("torch_dtype", None)
    content["dtype"] = dtype
    text = content.get("text_config")
    if isinstance(text, dict):
        text.pop("torch_dtype", None)
        text["dtype"] = dtype
    return json.dumps(content, indent=2, ensure_ascii=False) + "\n"


class _Replaced:
    """What each file is to hold: the model's tensors where they may have moved, else what is there already."""

    def __init__(self, original: Original, model: PreTrainedModel) -> None:
        self._original = original
        self._model = model
        self._tensors = model.state_dict(keep_vars=True)
        self._of_name: tuple[str, dict[str, Tensor]] = ("", {})

    def entries(self, file: SourceFile) -> dict[str, Entry]:
        return {key: self._entry(file, key) for key in file.places}

    def _entry(self, file: SourceFile, key: str) -> Entry:
        place = file.places[key]
        name = self._original.owner.get(key)
        if name is None or _is_frozen(self._tensors[name]):
            return Entry(place.dtype, place.shape, place.nbytes, file.chunks(key))
        dtype = self._tensors[name].dtype
        return Entry(NAMES_OF_DTYPES[dtype], place.shape, math.prod(place.shape) * dtype.itemsize, self._now(name, key))

    def _now(self, name: str, key: str) -> Iterator[memoryview]:
        """The model's tensor, brought to the CPU when its turn to be written comes."""
        content = self._parts(name)[key].to("cpu").contiguous().flatten().view(torch.uint8)
        yield content.numpy().data

    def _parts(self, name: str) -> dict[str, Tensor]:
        """The parts of the last name are kept: those of a stack of experts follow each other in a file."""
        if self._of_name[0] != name:
            self._of_name = (name, parts_of(self._model, name, self._tensors[name].detach()))
        return self._of_name[1]


def _is_frozen(tensor: Tensor) -> bool:
    """A weight that is not trained is still what was loaded; a buffer may have moved."""
    return isinstance(tensor, nn.Parameter) and not tensor.requires_grad


def _index(original: Original, total: int) -> str:
    assert original.index is not None
    metadata = {**original.index.get("metadata", {}), "total_size": total}
    return json.dumps({"metadata": metadata, "weight_map": dict(_weight_map(original))}, indent=2) + "\n"


def _weight_map(original: Original) -> Iterator[tuple[str, str]]:
    for file in original.files:
        for key in file.places:
            yield key, file.name

"""Puts into one sentence what the libraries that read a model's files say. No torch import."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

from engine.config.schema import Model as ModelConfig
from engine.errors import UserError, is_out_of_memory
from engine.pickles import what_was_refused

_LFS_HEADER = b"version https://git-lfs"


@contextlib.contextmanager
def explained(folder: Path, config: ModelConfig, what: str) -> Iterator[None]:
    """Turn what the libraries raise into a UserError of one sentence, but for memory that is used up."""
    try:
        yield
    except Exception as error:
        if is_out_of_memory(error):
            raise
        raise UserError(_reason(folder, config, what, error)) from error


def _reason(folder: Path, config: ModelConfig, what: str, error: BaseException) -> str:
    text = " ".join(str(error).split())
    if "trust_remote_code" in text:
        return (
            f"model.name_or_path: the {what} of {config.name_or_path} comes with Python code of its own; "
            "read it, then set model.trust_remote_code: true to let it run."
        )
    if "for this kind of AutoModel" in text:  # all that would do are listed there, some hundred names
        return (
            f"model.name_or_path: the model in {folder} is no causal language model that transformers knows, and only "
            "those can be trained; name another one."
        )
    if isinstance(error, OSError) and what == "model" and not any(folder.glob("*.safetensors")):
        return (
            f"model.name_or_path: the folder {folder} holds no weights (*.safetensors); "
            "give a folder that has them, or set model.init: random."
        )
    pointers = [file.name for file in sorted(folder.glob("*")) if _is_git_lfs_pointer(file)]
    if pointers:
        return (
            f"model.name_or_path: {pointers[0]} in {folder} is only a Git LFS pointer, not the file itself; "
            "fetch it with `git lfs pull`."
        )
    if (refused := what_was_refused(error)) is not None:
        names = ", ".join(file.name for file in sorted(folder.glob("*.bin"))[:3]) or "a weight file"
        found = f"would run code ({refused})" if refused else "holds more than tensors, or is damaged"
        return f"model.name_or_path: {names} in {folder} {found}, so it is not loaded; take a model with *.safetensors."
    if what == "model" and (isinstance(error, ImportError) or "flash_attn" in text or "FlashAttention" in text):
        return f"model.attn_implementation: {config.attn_implementation} cannot run here: {text[:300]}"
    return f"model.name_or_path: the {what} in {folder} cannot be loaded: {text[:300]}"


def _is_git_lfs_pointer(file: Path) -> bool:
    if not file.is_file():
        return False
    with file.open("rb") as content:
        return content.read(len(_LFS_HEADER)) == _LFS_HEADER

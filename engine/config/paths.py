"""Makes the paths of a config absolute, and looks whether their files are there.

A path in a YAML file is relative to that file, a path on the command line to the working directory. `train.output_dir`
alone stays as it is written, and is always relative to the working directory.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

from engine.config.errors import Problem
from engine.datasets_named import KINDS_OF_DATA, has_data_suffix, is_hub_name

DATA_FILE_KEYS = ("data.dataset", "data.eval_dataset", "data.sources")
AUTO_RESUME = "auto"

_HUB_NAME = re.compile(r"[\w.-]+(/[\w.-]+)?")


def resolve(key: str, written: str, base: Path) -> str:
    """The text of a key with its path made absolute from the folder `base`; a text that is no path stays as it is."""
    if key in DATA_FILE_KEYS:
        return written if is_hub_name(written, base) else _absolute(written, base)
    if key == "train.resume_from":
        return written if written == AUTO_RESUME else _absolute(written, base)
    if key == "model.name_or_path":
        return _absolute(written, base) if _is_local_model(written, base) else written
    if key == "train.output_dir":
        return str(_with_home(written))
    return written


def problem_with_file(key: str, written: str, resolved: str) -> Problem | None:
    """What is wrong with the file or folder behind a resolved text, if anything."""
    try:
        return _find_problem(key, written, resolved)
    except OSError as error:
        return Problem(key, f"{resolved} cannot be read: {error.strerror}", found=written)


def _find_problem(key: str, written: str, resolved: str) -> Problem | None:
    if key in DATA_FILE_KEYS:
        return _problem_with_data(key, written, Path(resolved)) if Path(resolved).is_absolute() else None
    if key == "train.resume_from" and resolved != AUTO_RESUME:
        return _problem_with_checkpoint(key, written, Path(resolved))
    if key == "model.name_or_path":
        return _problem_with_model(key, written, resolved)
    return None


def _absolute(written: str, base: Path) -> str:
    """Without `..` in it, but with symbolic links kept: the name that people chose says more than its target."""
    return os.path.normpath(base.absolute() / _with_home(written))


def _with_home(written: str) -> Path:
    """`~` stands for the home folder; a user who does not exist is left for the search of the file to find out."""
    try:
        return Path(written).expanduser()
    except RuntimeError:
        return Path(written)


def _is_local_model(written: str, base: Path) -> bool:
    if written.startswith((".", "/", "~")):
        return True
    try:
        return (base / written).is_dir()
    except OSError:
        return False


def _problem_with_data(key: str, written: str, path: Path) -> Problem | None:
    if not path.exists():
        what = "file" if has_data_suffix(written) else "file or folder"
        return Problem(key, f"no such {what}: {path}", found=written, allowed=KINDS_OF_DATA)
    if path.is_file() and not has_data_suffix(path.name):
        kind = f"files of the kind {path.suffix} are" if path.suffix else "a file without a suffix is"
        reason = f"{kind} not read as data: {path}"
        return Problem(key, reason, found=written, allowed=KINDS_OF_DATA, advice="convert it to .jsonl")
    if not os.access(path, os.R_OK):
        return Problem(key, f"no permission to read {path}", found=written, advice="change the file's permissions")
    return None


def _problem_with_checkpoint(key: str, written: str, path: Path) -> Problem | None:
    allowed = "the folder of a checkpoint, auto or null"
    if not path.exists():
        return Problem(key, f"no such folder: {path}", found=written, allowed=allowed)
    if not path.is_dir():
        return Problem(key, f"{path} is a file, not the folder of a checkpoint", found=written, allowed=allowed)
    return None


def _problem_with_model(key: str, written: str, resolved: str) -> Problem | None:
    allowed = "a local folder, or a hub name such as Qwen/Qwen3.5-4B"
    path = Path(resolved)
    if path.is_absolute():
        if path.is_dir():
            return None
        reason = f"{path} is a file, not the folder of a model" if path.exists() else f"no such folder: {path}"
        return Problem(key, reason, found=written, allowed=allowed)
    if not _HUB_NAME.fullmatch(written):
        return Problem(key, f"{written} is neither an existing folder nor a hub name", found=written, allowed=allowed)
    return None

"""The data files of a folder, and which of them belong to a split.

A folder has splits where the names of its files or of their folders say so, as `datasets` has it:

- `train_sft-00000-of-00003.parquet` belongs to the split before the numbers, `train_sft`.
- Otherwise a word in the path decides, that of the file before that of its folder: train, training; validation, valid,
  val, dev; test, testing, eval, evaluation. Words end at any character that is not a letter: `data/test_2.jsonl`.
- A folder, or a file without its suffix, that has exactly the name of the split belongs to it whatever the name is.
- Files without any such word are training data, unless others say `train`; then they are left out.
- Where no name says anything, all files are the split `train`.

Hidden files and folders (`.git`, `_tmp`) are left out, and so are files that are no data (`README.md`).
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path

from engine.data.errors import DataError
from engine.datasets_named import DATA_SUFFIXES, KINDS_OF_DATA, has_data_suffix

TRAIN = "train"
EVALUATION = "evaluation"
"""What evaluation sets are read as: the split `validation`, or else `test`, or else all there is."""

_SPLITS = {
    TRAIN: ("train", "training"),
    "validation": ("validation", "valid", "val", "dev"),
    "test": ("test", "testing", "eval", "evaluation"),
}
_SPLIT_OF_WORD = {word: split for split, words in _SPLITS.items() for word in words}
_SHARD = re.compile(r"(?P<split>.+)-\d{5}-of-\d{5}(-.*)?")
_HIDDEN = (".", "_")
_NOT_ROWS = frozenset({"dataset_info.json", "dataset_infos.json", "dataset_dict.json", "state.json", "config.json"})
_SAVED_BY_DATASETS = "dataset_info.json"


def data_files(folder: Path, split: str) -> list[Path]:
    """The files of that split below the folder, sorted by their paths.

    Raises:
        DataError: no data file in the folder, or none that belongs to the split (the message says what there is).
    """
    files = _all_data_files(folder)
    if not files:
        raise DataError(_nothing_in(folder))
    by_split = _by_split(folder, files)
    for wanted in _names_for(split, by_split):
        if wanted in by_split:
            return by_split[wanted]
    named = [file for file in files if split in _names_in(file.relative_to(folder))]
    if named:
        return named
    there_is = ", ".join(sorted(by_split))
    raise DataError(f"{folder} has no files for the split {split!r}; there is: {there_is}.")


def choose_split(wanted: str, names: Sequence[str]) -> str | None:
    """Which of the names is meant by `wanted`: that very name, or (for evaluation sets) the best there is."""
    return next((name for name in _names_for(wanted, names) if name in names), None)


def _names_for(split: str, there_are: Sequence[str] | dict[str, list[Path]]) -> list[str]:
    if split == EVALUATION:
        return [
            split,
            *(name for name in ("validation", "test", "valid", "val", "dev", "eval") if name in there_are),
            *there_are,
        ]
    return [split, _SPLIT_OF_WORD.get(split.lower(), split)]


def _all_data_files(folder: Path) -> list[Path]:
    found: list[Path] = []
    try:
        for place, folders, names in os.walk(folder, onerror=_raise, followlinks=True):
            folders[:] = [name for name in folders if not name.startswith(_HIDDEN)]
            found += (Path(place) / name for name in names if _is_data(name))
    except OSError as error:
        raise DataError(f"{error.filename or folder} cannot be read: {error.strerror}.") from error
    return sorted(found)


def _raise(error: OSError) -> None:
    raise error


def _is_data(name: str) -> bool:
    return has_data_suffix(name) and not name.startswith(_HIDDEN) and name not in _NOT_ROWS


def _by_split(folder: Path, files: list[Path]) -> dict[str, list[Path]]:
    by_split: dict[str, list[Path]] = {}
    without: list[Path] = []
    for file in files:
        split = _split_of(file.relative_to(folder))
        (by_split.setdefault(split, []) if split else without).append(file)
    if without and TRAIN not in by_split:
        by_split[TRAIN] = without
    return by_split


def _split_of(path: Path) -> str | None:
    stem, *folders = _names_in(path)
    if shard := _SHARD.fullmatch(stem):
        return _SPLIT_OF_WORD.get(shard["split"].lower(), shard["split"])
    for name in (stem, *folders):
        for word in re.split(r"[^a-z]+", name.lower()):
            if word in _SPLIT_OF_WORD:
                return _SPLIT_OF_WORD[word]
    return None


def _names_in(path: Path) -> list[str]:
    """The file's name without its suffix, then the names of its folders, the innermost first."""
    suffix = next(
        suffix for suffix in sorted(DATA_SUFFIXES, key=len, reverse=True) if path.name.lower().endswith(suffix)
    )
    return [path.name[: -len(suffix)], *(parent.name for parent in path.parents if parent.name)]


def _nothing_in(folder: Path) -> str:
    if (folder / _SAVED_BY_DATASETS).exists() or (folder / "dataset_dict.json").exists():
        return (
            f"{folder} was written by save_to_disk of datasets and holds Arrow files; "
            "write the data set with to_parquet or to_json instead."
        )
    return f"{folder} holds no data file; give {KINDS_OF_DATA}."

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
"""What evaluation sets are read as: the split `validation`, or else `test`, or else one of another name."""

_SPLITS = {
    TRAIN: ("train", "training"),
    "validation": ("validation", "valid", "val", "dev"),
    "test": ("test", "testing", "eval", "evaluation"),
}
_SPLIT_OF_WORD = {word: split for split, words in _SPLITS.items() for word in words}
_SHARD = re.compile(r"(?P<split>.+)-(?P<number>\d{5})-of-(?P<of>\d{5})(-.*)?")
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
    chosen = choose_split(split, list(by_split))
    found = by_split[chosen] if chosen else [file for file in files if split in _names_in(file.relative_to(folder))]
    if found:
        _check_complete(found)
        return found
    there_is = ", ".join(sorted(by_split))
    raise DataError(f"{folder} has no files for the split {split!r}; there is: {there_is}.")


def choose_split(wanted: str, names: Sequence[str]) -> str | None:
    """Which of the names is meant: that very one, another word for it, or (for evaluation sets) the best there is."""
    if wanted in names:
        return wanted
    if wanted == EVALUATION:
        return min(names, key=_rank_for_evaluation, default=None)
    other_word = _SPLIT_OF_WORD.get(wanted.lower())
    return other_word if other_word in names else None


def _rank_for_evaluation(name: str) -> int:
    order = ("validation", "test", None, TRAIN)
    return order.index(_split_of_words(name))


def _all_data_files(folder: Path) -> list[Path]:
    found: list[Path] = []
    seen = {folder.resolve()}
    try:
        for place, folders, names in os.walk(folder, onerror=_raise, followlinks=True):
            folders[:] = [name for name in sorted(folders) if not name.startswith(_HIDDEN)]
            folders[:] = [name for name in folders if _is_new(Path(place) / name, seen)]
            found += (Path(place) / name for name in names if _is_data(name))
    except OSError as error:
        raise DataError(f"{error.filename or folder} cannot be read: {error.strerror}.") from error
    return sorted(found)


def _is_new(folder: Path, seen: set[Path]) -> bool:
    """Links may lead back to where one came from, and would give the same rows again and again."""
    place = folder.resolve()
    is_new = place not in seen
    seen.add(place)
    return is_new


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
    return next((split for name in (stem, *folders) if (split := _split_of_words(name))), None)


def _split_of_words(name: str) -> str | None:
    words = re.split(r"[^a-z]+", name.lower())
    return next((_SPLIT_OF_WORD[word] for word in words if word in _SPLIT_OF_WORD), None)


def _check_complete(files: Sequence[Path]) -> None:
    """Files that are numbered as parts of a whole must all be there."""
    parts: dict[tuple[Path, str, int], set[int]] = {}
    for file in files:
        if shard := _SHARD.fullmatch(_names_in(file)[0]):
            parts.setdefault((file.parent, shard["split"], int(shard["of"])), set()).add(int(shard["number"]))
    for (folder, split, count), numbers in parts.items():
        if len(numbers) < count:
            raise DataError(
                f"{folder}: only {len(numbers)} of the {count} files of {split!r} are there "
                f"({split}-00000-of-{count:05} and so on); copy or download the others."
            )


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

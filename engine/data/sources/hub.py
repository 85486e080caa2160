"""The files of a data set of the hub: which ones a split has (`datasets` knows the rules), and their download."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from engine.data.errors import DataError
from engine.data.sources.folder import choose_split
from engine.data.sources.hub_errors import NoNetworkError, explained
from engine.data.sources.hub_memory import recall, remember
from engine.data.sources.named import NamedFile
from engine.data.sources.rows import ReadProgress
from engine.datasets_named import has_data_suffix, parts_of_hub_name
from engine.hub_progress import reporting

_FILE_ON_HUB = re.compile(r"hf://datasets/(?P<repository>[^@]+)@(?P<revision>[^/]+)/(?P<path>.+)")
_SETTINGS_OF_ITS_OWN = ("field", "columns", "filters")
"""What a data set may ask of `datasets` for the reading of its files."""


@dataclass(frozen=True, slots=True)
class SplitOnHub:
    """The files of one split at one revision (a commit); `split` is the name that the data set itself has for it.

    `is_plain`: the files can be read as they are. Where not (CSV, Arrow, a description that asks for more), `datasets`
    has to make a table of them.
    """

    repository: str
    subset: str | None
    split: str
    revision: str
    paths: tuple[str, ...]
    is_plain: bool


def find_split(name: str, split: str) -> SplitOnHub:
    """The split of a data set named `owner/name` or `owner/name:subset`.

    Without a network it is what was found the last time; the download then looks for its files in the local cache.

    Raises:
        DataError: no such data set, subset or split (the message says which there are), no permission, no network.
    """
    try:
        with explained(name):
            found = _ask(name, split)
    except NoNetworkError as error:
        remembered = recall(f"{name}/{split}")
        if remembered is None:
            raise DataError(str(error)) from error
        return SplitOnHub(**{**remembered, "paths": tuple(remembered["paths"])})
    remember(f"{name}/{split}", found)
    return found


def download(found: SplitOnHub, progress: ReadProgress | None) -> list[NamedFile]:
    """The files of the split in the local cache, downloaded where they are not there yet.

    Raises:
        DataError: a file cannot be had; the message says why.
    """
    files: list[NamedFile] = []
    before = 0
    for path in found.paths:
        local = _download_one(found, path, before, progress)
        before += local.stat().st_size
        files.append(NamedFile(local, Path(f"{found.repository}@{found.revision[:8]}") / path))
    return files


def _ask(name: str, split: str) -> SplitOnHub:
    import datasets

    repository, subset = parts_of_hub_name(name)
    builder = datasets.load_dataset_builder(repository, subset)
    by_split: dict[str, list[str]] = dict(builder.config.data_files or {})
    chosen = choose_split(split, list(by_split))
    if chosen is None:
        raise DataError(f"{name} has no split {split!r}; there is: {', '.join(by_split) or 'none'}.")
    places = [_FILE_ON_HUB.fullmatch(str(file)) for file in by_split[chosen]]
    paths = tuple(place["path"] for place in places if place)
    is_plain = len(paths) == len(places) and all(map(has_data_suffix, paths)) and not _asks_for_more(builder.config)
    return SplitOnHub(repository, subset, chosen, str(builder.hash), paths, is_plain)


def _asks_for_more(config: Any) -> bool:
    return any(getattr(config, setting, None) is not None for setting in _SETTINGS_OF_ITS_OWN)


def _download_one(found: SplitOnHub, path: str, before: int, progress: ReadProgress | None) -> Path:
    import huggingface_hub

    def report(done: int, total: int) -> None:
        if progress is not None:
            progress("downloading", before + done, before + total)

    try:
        with explained(found.repository):
            local = huggingface_hub.hf_hub_download(
                found.repository, path, repo_type="dataset", revision=found.revision, tqdm_class=reporting(report)
            )
    except NoNetworkError as error:
        raise DataError(str(error)) from error
    return Path(local)

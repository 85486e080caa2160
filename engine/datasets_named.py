"""How a data set is named in a config: a file, a folder, or a data set of the hub (standard library only)."""

from __future__ import annotations

import re
from pathlib import Path

TEXT_SUFFIXES = (".jsonl", ".ndjson", ".json", ".jsonl.gz", ".ndjson.gz", ".json.gz")
TABLE_SUFFIXES = (".parquet",)
DATA_SUFFIXES = (*TEXT_SUFFIXES, *TABLE_SUFFIXES)
"""What data files are called, in lower case."""

KINDS_OF_DATA = (
    "a .jsonl, .json or .parquet file (the first two also as .gz), a folder of them, or a hub name (owner/name)"
)

_HUB_NAME = re.compile(r"(?P<repository>\w[\w.-]*/\w[\w.-]*)(:(?P<subset>[^/:\s]+))?")


def has_data_suffix(name: str) -> bool:
    """Whether a file of that name is taken for data."""
    return name.lower().endswith(DATA_SUFFIXES)


def is_hub_name(written: str, base: Path) -> bool:
    """Whether `owner/name` or `owner/name:subset` is meant, and not a path from the folder `base`.

    What exists on the disk is a path, and so is what looks like a data file.
    """
    if has_data_suffix(written) or not _HUB_NAME.fullmatch(written):
        return False
    try:
        return not (base / written).exists()
    except OSError:
        return False


def parts_of_hub_name(name: str) -> tuple[str, str | None]:
    """`owner/name:subset` as (`owner/name`, `subset`); the subset is None where none is named."""
    repository, _, subset = name.partition(":")
    return repository, subset or None

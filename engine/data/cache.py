"""Tokenized rows on the disk, found again by everything that they depend on.

`${XDG_CACHE_HOME:-~/.cache}/pgs-tui/data/<key>/` holds the arrays, and `entry.json` the report and each array's
checksum. An entry is written under another name and renamed, so it is whole or not there; one that is damaged all the
same is taken for absent and made anew. All entries together take 10 GB at most: those that were not used for the
longest time go. `PGS_DATA_CACHE=off` does without the cache. A disk that is full or read-only costs the cache alone.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import zlib
from collections.abc import Callable, Sequence
from datetime import date
from importlib.metadata import version
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import numpy as np

from engine.data.audit.report_file import report_from_json, report_to_json
from engine.data.examine import RowOptions
from engine.data.feeding.store import SampleStore
from engine.data.sources.corpus import Corpus
from engine.data.tokenized import Tokenized

SIZE_LIMIT = 10 * 10**9  # bytes of all entries together
OFF_SWITCH = "PGS_DATA_CACHE"
_MANIFEST = "entry.json"
_ARRAYS = ("input_ids", "has_loss", "stops", "rows", "place_rows", "place_files", "place_lines")
_LIBRARIES = ("tokenizers", "transformers", "jinja2", "datasets", "pyarrow")


def cache_key(options: RowOptions, tokenizer: Any, corpora: Sequence[Corpus]) -> str:
    """A name for everything that tokens, masks and findings depend on, and for nothing else.

    These are the files, the tokenizer with its template, the options that concern single rows, the code of
    `engine.data` and of the libraries, and today's date where the template prints it.
    """
    template = tokenizer.get_chat_template() if getattr(tokenizer, "chat_template", None) else ""
    splits = getattr(tokenizer, "split_special_tokens", False)
    parts = {
        "files": [[(str(f.path), f.sha256, f.has_bom) for f in corpus.files] for corpus in corpora],
        "spans": [
            [(str(span.spec.path), span.spec.split, span.start, span.stop) for span in corpus.spans]
            for corpus in corpora
        ],
        "tokenizer": [tokenizer.backend_tokenizer.to_str(), repr(tokenizer.special_tokens_map), template, splits],
        "options": {name: repr(getattr(options, name)) for name in _names_of(RowOptions, options)},
        "code": _hash_of_code(),
        "libraries": [version(name) for name in _LIBRARIES],
        "date": str(date.today()) if "strftime_now" in template else "",
    }
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode("utf-8", "surrogatepass")).hexdigest()


def _names_of(protocol: type, options: object) -> list[str]:
    """The options that a row's tokens depend on, and what becomes of bad rows."""
    return sorted([*(name for name in vars(protocol) if not name.startswith("_")), "on_bad_row"])


def _hash_of_code() -> str:
    code = hashlib.sha256()
    folder = Path(__file__).parent
    for file in sorted(folder.rglob("*.py")):
        code.update(str(file.relative_to(folder)).encode() + b"\0" + file.read_bytes() + b"\0")
    return code.hexdigest()


class DataCache:
    """The entries below one folder. Several processes may use it at once.

    `say` gets a line where the cache cannot be written.
    """

    def __init__(self, folder: Path, say: Callable[[str], None] | None = None, limit: int = SIZE_LIMIT) -> None:
        self._folder = folder
        self._say = say or (lambda line: None)
        self._limit = limit

    @classmethod
    def of_this_user(cls, say: Callable[[str], None] | None = None) -> DataCache | None:
        """The cache in the user's cache folder; None where it is switched off."""
        if os.environ.get(OFF_SWITCH, "").lower() in ("off", "0", "no", "false"):
            return None
        home = os.environ.get("XDG_CACHE_HOME")
        return cls((Path(home) if home else Path.home() / ".cache") / "pgs-tui" / "data", say)

    def load_or_make(self, key: str, make: Callable[[], Tokenized]) -> Tokenized:
        """The entry of that key, or what `make` returns, which is kept for the next time."""
        found = self.load(key)
        if found is None:
            found = make()
            if len(found.samples):
                self.save(key, found)
        return found

    def load(self, key: str) -> Tokenized | None:
        """The entry of that key; None where there is none, or none that is whole."""
        folder = self._folder / key
        try:
            manifest = json.loads((folder / _MANIFEST).read_text(encoding="utf-8"))
            arrays = {name: _read_array(folder / f"{name}.npy", manifest["checksums"][name]) for name in _ARRAYS}
            samples = SampleStore(*(arrays[name] for name in ("input_ids", "has_loss", "stops", "rows")))
            places = [arrays[name] for name in ("place_rows", "place_files", "place_lines")]
            report = report_from_json(manifest["report"], *places)
            os.utime(folder)  # entries go in the order of their last use
        except (OSError, EOFError, ValueError, LookupError, TypeError, AssertionError):
            return None
        return Tokenized(samples, report)

    def save(self, key: str, tokenized: Tokenized) -> None:
        """Keep an entry. Where that fails, it is said and nothing else happens."""
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            scratch = Path(mkdtemp(dir=self._folder, prefix=".new-"))
        except OSError as error:
            self._cannot_write(error)
            return
        try:
            _write_entry(scratch, tokenized)
            shutil.rmtree(self._folder / key, ignore_errors=True)  # one that could not be read
            scratch.rename(self._folder / key)
            self._make_room(key)
        except OSError as error:
            if not (self._folder / key / _MANIFEST).exists():  # otherwise another process was quicker
                self._cannot_write(error)
        finally:
            shutil.rmtree(scratch, ignore_errors=True)

    def _cannot_write(self, error: OSError) -> None:
        reason = error.strerror or type(error).__name__
        self._say(f"note: the tokenized rows are not kept in {self._folder} for the next start: {reason}")

    def _make_room(self, kept: str) -> None:
        """Remove the entries that were not used for the longest time, until the rest keeps to the limit."""
        entries = sorted(
            (entry for entry in self._folder.iterdir() if entry.is_dir() and not entry.name.startswith(".")),
            key=lambda entry: (entry.name != kept, -entry.stat().st_mtime),
        )
        taken = 0
        for entry in entries:
            taken += sum(file.stat().st_size for file in entry.iterdir())
            if taken > self._limit and entry.name != kept:
                shutil.rmtree(entry, ignore_errors=True)


def _write_entry(folder: Path, tokenized: Tokenized) -> None:
    samples, report = tokenized.samples, tokenized.report
    written, place_arrays = report_to_json(report)
    arrays: dict[str, np.ndarray[Any, Any]] = dict(
        zip(_ARRAYS, (samples.input_ids, samples.has_loss, samples.stops, samples.rows, *place_arrays), strict=True)
    )
    checksums = {}
    for name, values in arrays.items():
        np.save(folder / f"{name}.npy", values, allow_pickle=False)
        checksums[name] = _checksum(values)
    manifest = {"report": written, "checksums": checksums}
    (folder / _MANIFEST).write_text(json.dumps(manifest), encoding="utf-8")


def _read_array(file: Path, checksum: object) -> np.ndarray[Any, Any]:
    """The array mapped into memory; writing to it changes the memory alone.

    Raises:
        ValueError: the file is not the one that was written.
    """
    values: np.ndarray[Any, Any] = np.load(file, mmap_mode="c", allow_pickle=False)
    if _checksum(values) != checksum:
        raise ValueError(f"{file} is damaged")
    return values


def _checksum(values: np.ndarray[Any, Any]) -> list[Any]:
    return [str(values.dtype), list(values.shape), zlib.crc32(np.ascontiguousarray(values).data)]

"""Sums up long logs of runs that have no summary, in a process of its own, and remembers what came of it."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from engine.events.summary import RunSummary, summary_of_text, summary_text
from engine.rundir import registry_path
from pgs_tui.listing.reading import KnownSummary

FILE_NAME = "summaries.jsonl"
MOST_KEPT = 1000
MOST_BYTES = 16 * 2**20
WORKER = "engine.events.summary_worker"


class Summing:
    """One process for all of a kind, started with the first; `close` ends it, from any thread."""

    def __init__(self, worker: str = WORKER) -> None:
        self._worker = worker
        self._process: subprocess.Popen[bytes] | None = None
        self._closed = False

    def summed_up(self, *what: str) -> RunSummary | None:
        """The summary of a whole log, or of what else the worker reads; None where it cannot be had."""
        try:
            process = self._process or self._started()
            assert process.stdin is not None and process.stdout is not None
            process.stdin.write(json.dumps(what[0] if len(what) == 1 else what).encode() + b"\n")
            process.stdin.flush()
            return summary_of_text(process.stdout.readline())
        except (OSError, ValueError):  # it has ended, or was closed meanwhile
            return None

    def close(self) -> None:
        """Nothing more is wanted."""
        self._closed = True
        if self._process is not None:
            self._process.kill()
            self._process.wait()

    def _started(self) -> subprocess.Popen[bytes]:
        if self._closed:
            raise ValueError("closed")
        environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2]), "PYTHONSAFEPATH": "1"}
        self._process = subprocess.Popen(
            (sys.executable, "-S", "-m", self._worker),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=environment,
        )
        return self._process


def remembered() -> dict[Path, KnownSummary]:
    """The summaries that were found before, by the run's folder."""
    found: dict[Path, KnownSummary] = {}
    for line in _lines():
        try:
            path, inode, text = json.loads(line)
            summary = summary_of_text(text)
            if isinstance(path, str) and isinstance(inode, int) and summary is not None:
                found[Path(path)] = KnownSummary(inode, summary)
        except (ValueError, TypeError, RecursionError):
            continue
    return found


def remember(known: Mapping[Path, KnownSummary]) -> None:
    """Keep the newest of these for the next time; where that is not possible, they are found anew then."""
    lines = [
        json.dumps([os.fspath(path), one.inode, summary_text(one.summary).strip()])
        for path, one in list(known.items())[-MOST_KEPT:]
    ]
    with contextlib.suppress(OSError):
        path = registry_path().with_name(FILE_NAME)
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary = path.with_name(f"{path.name}.{os.getpid()}.tmp")
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW
        with os.fdopen(os.open(temporary, flags, 0o600), "w", encoding="utf-8", errors="surrogateescape") as file:
            file.writelines(f"{line}\n" for line in lines)
        temporary.replace(path)


def _lines() -> Iterable[bytes] | Iterator[bytes]:
    try:
        with registry_path().with_name(FILE_NAME).open("rb") as file:
            return file.read(MOST_BYTES).splitlines()
    except OSError:
        return ()

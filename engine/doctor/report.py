"""The doctor's findings as text of 80 columns, ASCII and without colour, and as JSON."""

from __future__ import annotations

import json
import textwrap
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any, TextIO

from engine.doctor.result import Check, Result

WIDTH = 80
_STATUS, _NAME = 9, 17
_MARGIN = " " * (_STATUS + _NAME)
COMPILING = "compiling kernels, a minute or two the first time"


class Printer:
    """Prints results as they come; on a terminal it shows, too, what is being examined."""

    def __init__(self, out: TextIO) -> None:
        self._out = out
        self._shown = 0

    def heading(self, checks: int, config: str | None) -> None:
        self._line(f"pgs doctor: {checks} checks of this machine, {f'for {config}' if config else 'without a config'}")

    def announce(self, check: Check, on_gpu: bool = False) -> None:
        """Tell what is examined now: for a moment on a terminal; in a log only what takes long, and it stays."""
        takes_long = on_gpu and check.compiles
        doing = COMPILING if takes_long else check.subject
        text = f"{'...':<{_STATUS}}{check.name:<{_NAME}}{doing}"[: WIDTH - 1]
        if self._out.isatty():
            self._out.write(text)
            self._shown = len(text)
        elif takes_long:
            self._line(text)
        self._out.flush()

    def result(self, result: Result) -> None:
        self.wipe()
        head = f"{result.status:<{_STATUS}}{result.name:<{_NAME}}"
        self._paragraph(head, f"{result.found} ({result.seconds:.1f} s)")
        if result.fix is not None:
            self._paragraph(_MARGIN, f"fix: {result.fix}")
        self._out.flush()

    def summary(self, results: Sequence[Result], seconds: float) -> None:
        counts = Counter(result.status for result in results)
        parts = [f"{counts[status]} {status}" for status in ("ok", "warning", "failed", "skipped") if counts[status]]
        self._line(f"{', '.join(parts)} in {seconds:.0f} s")

    def wipe(self) -> None:
        """Take away the line that tells what is being examined."""
        if self._shown:
            self._out.write(f"\r{' ' * self._shown}\r")
            self._out.flush()
            self._shown = 0

    def _paragraph(self, head: str, text: str) -> None:
        lines = textwrap.wrap(
            _ascii(text), WIDTH, initial_indent=head, subsequent_indent=_MARGIN, break_on_hyphens=False
        )
        for line in lines:
            self._line(line)

    def _line(self, text: str) -> None:
        self._out.write(f"{_ascii(text)}\n")


def as_json(results: Sequence[Result], config: str | None, seconds: float) -> str:
    """One strict JSON document, in the shape of docs/json.md."""
    document: dict[str, Any] = {
        "config": config,
        "checks": [asdict(result) | {"seconds": round(result.seconds, 3)} for result in results],
        "ok": is_well(results),
        "seconds": round(seconds, 3),
    }
    return json.dumps(document, allow_nan=False)


def is_well(results: Sequence[Result]) -> bool:
    """Nothing failed."""
    return all(result.status != "failed" for result in results)


def _ascii(text: str) -> str:
    return text.encode("ascii", "backslashreplace").decode()

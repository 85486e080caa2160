"""What people ask of a running engine: the lines of `control.jsonl`."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any


@dataclass(frozen=True, slots=True)
class Command:
    """One request. `problem` says why a line cannot be obeyed."""

    id: str
    cmd: str
    args: dict[str, Any] = field(default_factory=dict)
    by: str = ""
    problem: str | None = None


class ControlInbox:
    """Reads the commands that were written since `since` (unix seconds) and have not been delivered yet."""

    def __init__(self, path: Path, since: float) -> None:
        self._path = path
        self._since = since
        self._offset = 0

    def poll(self) -> list[Command]:
        """The complete lines added since the last poll; empty while there is no such file or it cannot be read."""
        try:
            with self._path.open("rb") as file:
                file.seek(self._offset)
                data = file.read()
        except OSError:  # not there yet, or made by another user: no reason to end a run
            return []
        complete = data[: data.rfind(b"\n") + 1]
        self._offset += len(complete)
        parsed = (self._parse(line) for line in complete.splitlines() if line.strip())
        return [command for command in parsed if command is not None]

    def _parse(self, line: bytes) -> Command | None:
        try:
            record = json.loads(line)
            if float(record.get("t", self._since)) < self._since:
                return None  # meant for an earlier process of this run
            return Command(
                str(record["id"]), str(record["cmd"]), dict(record.get("args") or {}), str(record.get("by", ""))
            )
        except (ValueError, KeyError, TypeError, AttributeError):
            return Command("", "", problem=f"not a command: {line[:80].decode(errors='replace')!r}")

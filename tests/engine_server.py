"""A server of the engine in a process of its own, and a way to ask it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from typing import Any


class EngineServer:
    """`pgs ... --serve`. `ask` returns a result, or raises LookupError with what the server says."""

    def __init__(self, *arguments: object, environment: Mapping[str, str] | None = None) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "engine", *map(str, arguments), "--serve"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            encoding="utf-8",
            env={**os.environ, **(environment or {})},
        )
        self._asked = 0

    def ask(self, method: str, **params: Any) -> Any:
        self._asked += 1
        reply = self.say(json.dumps({"id": self._asked, "method": method, "params": params}))
        assert reply["id"] == self._asked
        if "error" in reply:
            raise LookupError(reply["error"]["message"])
        return reply["result"]

    def say(self, line: str) -> Any:
        """Send a line as it is, and read one reply."""
        (reply,) = self._say(line)
        return reply

    def say_all(self, *requests: dict[str, Any]) -> list[Any]:
        """Send requests at once, and read as many replies."""
        return self._say(*map(json.dumps, requests))

    def leave(self) -> tuple[int, str]:
        """Close stdin and wait for the end: the exit code, and what was said on stderr."""
        _, said = self.process.communicate(timeout=20)
        return self.process.returncode, said

    def _say(self, *lines: str) -> list[Any]:
        assert self.process.stdin is not None and self.process.stdout is not None
        self.process.stdin.write("".join(f"{line}\n" for line in lines))
        self.process.stdin.flush()
        return [json.loads(self.process.stdout.readline()) for _ in lines]

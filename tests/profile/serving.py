"""`pgs profile --serve` in a process of its own, on a machine without a GPU."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any


class Server:
    """`ask` returns a result, or raises LookupError with what the server says."""

    def __init__(self) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "engine", "profile", "--serve"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            encoding="utf-8",
            env={**os.environ, "CUDA_VISIBLE_DEVICES": ""},
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
        assert self.process.stdin is not None and self.process.stdout is not None
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def say_all(self, *requests: dict[str, Any]) -> list[Any]:
        """Send requests at once, and read as many replies."""
        assert self.process.stdin is not None and self.process.stdout is not None
        self.process.stdin.write("".join(json.dumps(request) + "\n" for request in requests))
        self.process.stdin.flush()
        return [json.loads(self.process.stdout.readline()) for _ in requests]

    def leave(self) -> tuple[int, str]:
        """Close stdin and wait for the end: the exit code, and what was said on stderr."""
        _, said = self.process.communicate(timeout=20)
        return self.process.returncode, said

"""A server in a process of its own, and a way to ask it."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any


class Server:
    """`pgs inspect --serve` for a config; `ask` returns the result or raises what the server says."""

    def __init__(self, *arguments: object) -> None:
        command = [sys.executable, "-m", "engine", "inspect", *map(str, arguments), "--serve"]
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8"
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

    def wait_for_audit(self, seconds: float = 30) -> Any:
        """The audit's state once it has finished."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            audit = self.ask("audit")
            if audit["finished"]:
                return audit
            time.sleep(0.02)
        raise AssertionError(f"the audit did not finish: {audit}")

    def leave(self) -> int:
        """Close stdin and wait for the end."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        code = self.process.wait(20)
        for stream in (self.process.stdout, self.process.stderr):
            assert stream is not None
            stream.close()
        return code


def open_server(config: Path, *arguments: object) -> Server:
    return Server("--config", config, *arguments)

"""`pgs inspect --serve` in a process of its own."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from tests.engine_server import EngineServer


class Server(EngineServer):
    """The inspector of what the arguments name."""

    def __init__(self, *arguments: object) -> None:
        super().__init__("inspect", *arguments)

    def wait_for_audit(self, seconds: float = 30) -> Any:
        """The audit's state once it has finished."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            audit = self.ask("audit")
            if audit["finished"]:
                return audit
            time.sleep(0.02)
        raise AssertionError(f"the audit did not finish: {audit}")


def open_server(config: Path, *arguments: object) -> Server:
    return Server("--config", config, *arguments)

"""`pgs profile --serve` in a process of its own, on a machine without a GPU."""

from __future__ import annotations

from tests.engine_server import EngineServer


class Server(EngineServer):
    """The profiler."""

    def __init__(self) -> None:
        super().__init__("profile", environment={"CUDA_VISIBLE_DEVICES": ""})

"""What a session tells of a long piece of work."""

from pathlib import Path
from typing import Any

from engine.events import Phase
from engine.rundir import RunDir
from engine.session.session import PROGRESS_SECONDS, Session


class Events:
    def __init__(self) -> None:
        self.written: list[Any] = []

    def write(self, event: Any) -> None:
        self.written.append(event)


def test_progress_is_told_now_and_then_even_towards_an_unknown_end(tmp_path: Path) -> None:
    clock = [100.0]
    surroundings: Any = None
    session = Session(RunDir(tmp_path), Events(), *[surroundings] * 4, now=lambda: clock[0])  # type: ignore[arg-type]
    for done in range(8):
        session.progress("downloading", done, 0, "bytes")
        clock[0] += PROGRESS_SECONDS / 4
    session.progress("downloading", 8, 8, "bytes")
    told = session.events.written  # type: ignore[attr-defined]
    assert [event.done for event in told] == [0, 4, 8]
    assert told[0] == Phase(name="downloading", done=0, unit="bytes") and told[-1].progress == 1.0

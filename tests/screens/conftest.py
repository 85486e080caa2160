import asyncio
import time
from pathlib import Path

import pytest

SLICE = 0.005
"""Seconds between two looks of a pilot at whether the application rests."""
FRAME = 0.002
"""Seconds between two drawings of a screen: what waits for the next one comes within a slice."""


async def wait_for_idle(min_sleep: float = SLICE, max_sleep: float = 1.0) -> None:
    """Wait until hardly anything was worked for a slice of time and the event loop has nothing left to call.

    Textual's own looks at the work alone, which a busy machine keeps from a process, so that it takes long slices.
    """
    loop = asyncio.get_running_loop()
    start = time.monotonic()
    while True:
        worked = time.process_time()
        await asyncio.sleep(SLICE)
        waited = time.monotonic() - start
        rests = time.process_time() - worked < SLICE / 20 and not loop._ready  # type: ignore[attr-defined]
        if waited >= max_sleep or (rests and waited > min_sleep):
            return


@pytest.fixture(autouse=True)
def quick_pilots(monkeypatch: pytest.MonkeyPatch) -> None:
    """A key that is pressed is followed by several waits for rest: they are short ones here."""
    monkeypatch.setattr("textual.app.wait_for_idle", wait_for_idle)
    monkeypatch.setattr("textual.pilot.wait_for_idle", wait_for_idle)
    monkeypatch.setattr("textual.screen.UPDATE_PERIOD", FRAME)


@pytest.fixture(autouse=True)
def own_layout(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """No test finds the layout that a person or another test has left."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path_factory.mktemp("state")))


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder in which the person is, in a home of their own, with a registry of runs of its own."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    folder = tmp_path / "here"
    folder.mkdir()
    return folder

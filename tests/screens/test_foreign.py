"""Training of other tools on the dashboard: it is followed while it grows, and what cannot be done is said."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from textual.pilot import Pilot

from pgs_tui.appearance.look import Look
from pgs_tui.apps.dashboard import Goodbye, PgsApp
from pgs_tui.export.reading import read_source
from pgs_tui.foreign.foreign_run import ForeignRun
from pgs_tui.goals import AttachTo, Replay
from pgs_tui.opening import opened
from tests.foreign.samples import BOARD, STATE, scalar
from tests.screens.hosting import screen_text

PATIENCE = 20.0
NAME = "events.out.tfevents.1700000000.box.1.0"


@asynccontextmanager
async def attached(
    path: Path, steps: int, size: tuple[int, int] = (120, 36)
) -> AsyncIterator[tuple[PgsApp, Pilot[Goodbye]]]:
    app = PgsApp(AttachTo(ForeignRun(path)), Look())
    async with app.run_test(size=size) as pilot:
        await until(pilot, lambda: last_step(app) == steps)
        app.dashboard.show_now()
        await pilot.pause()
        yield app, pilot


async def until(pilot: Pilot[Goodbye], happened: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not happened():
        assert time.monotonic() < deadline, "it has not happened"
        await pilot.pause()


def last_step(app: PgsApp) -> int | None:
    live = app.dashboard.live
    return live.history.last_step if live is not None and not live.loading else None


async def test_event_files_are_followed_while_they_grow(tmp_path: Path) -> None:
    file = tmp_path / NAME
    now = time.time()
    file.write_bytes(b"".join(scalar(step, "train/loss", 3.0 - step / 100, t=now - 20 + step) for step in range(1, 21)))
    async with attached(tmp_path, steps=20) as (app, pilot):
        assert "log of another tool" in screen_text(app)[0]
        with file.open("ab") as log:
            log.write(scalar(21, "train/loss", 9.5, t=now + 1) + scalar(22, "train/loss", 2.5, t=now + 2))
        await until(pilot, lambda: last_step(app) == 22)
        assert app.dashboard.live is not None
        folder = app.dashboard.live.run.path
        for key, why in (("x", "takes no commands"), ("i", "not known"), ("p", "not known")):
            await pilot.press(key)
            await until(pilot, lambda why=why: why in screen_text(app)[-1])  # type: ignore[misc]
            assert "another tool trains this: " in screen_text(app)[-1]
        assert folder.is_dir()


async def test_a_finished_state_shows_curves_evaluations_and_its_end(tmp_path: Path) -> None:
    async with attached(STATE, steps=50, size=(80, 24)) as (app, pilot):
        shown = "\n".join(screen_text(app))
        assert "finished at step 50" in shown
        await pilot.press("left")
        await pilot.pause()
        assert app.dashboard.view.cursor == 50


def test_once_and_export_read_it_like_a_run(tmp_path: Path) -> None:
    read = read_source(ForeignRun(BOARD))
    assert read.live.history.last_step == 50
    assert read.live.history.at(10) is not None
    assert read.live.run.events.is_file(), "its lines can still be read"
    assert not read.live.is_here, "exports do not go into the mirror"
    assert read.notes == ()


def test_the_mirror_goes_when_nobody_looks_any_more() -> None:
    read = read_source(ForeignRun(STATE))
    folder = read.live.run.path
    assert folder.is_dir() and (folder.parent.stat().st_mode & 0o777) == 0o700
    del read
    import gc

    deadline = time.monotonic() + PATIENCE
    while folder.exists():
        assert time.monotonic() < deadline, "it is still there"
        gc.collect()
        time.sleep(0.01)


@pytest.mark.parametrize(("path", "note"), [(BOARD, ""), (STATE, "have no times")])
async def test_it_is_played_like_a_run(path: Path, note: str) -> None:
    app = PgsApp(opened(Replay(str(path), at=20)), Look())  # type: ignore[arg-type]
    async with app.run_test(size=(120, 36)) as pilot:
        await until(pilot, lambda: "log of another tool" in screen_text(app)[0])
        assert "REPLAY 10x" in screen_text(app)[0]
        await pilot.press("space")
        await pilot.pause()
        assert note in "\n".join(screen_text(app))
        await pilot.press("i")
        assert "not known" in screen_text(app)[-1]

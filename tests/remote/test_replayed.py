"""A run on another machine, played here."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import pytest

from engine.rundir import this_process, write_run_info
from pgs_tui.appearance.look import Look
from pgs_tui.apps.dashboard import PgsApp
from pgs_tui.export.reading import read_source
from pgs_tui.goals import ListRuns, Replay
from pgs_tui.opening import as_it_was, opened, played
from pgs_tui.replaying.playback import Playback
from pgs_tui.replaying.replayed_run import ReplayedRun
from pgs_tui.runs.source import LocalRun
from tests.remote.proxy import Proxy
from tests.remote.sshd import HOST
from tests.remote.watching import PATIENCE, FarRun, Watched, steps
from tests.replaying.playing import Hand, Watcher, night_on_disk
from tests.screens.inspecting import until

Watch = Callable[[Path], Watched]


def watched_until(watcher: Watcher, step: int) -> None:
    end = time.monotonic() + PATIENCE
    while watcher.look().last_step != step:
        assert time.monotonic() < end, f"in vain: {watcher.last}"


def test_it_is_played_as_over_there(tmp_path: Path, watch: Watch) -> None:
    run = night_on_disk(tmp_path / "20260101-000000-night")
    write_run_info(run, this_process(run, "night"))
    far, near = played(f"{HOST}:{run.path}", at=300), ReplayedRun(LocalRun(run), at=300)
    watchers = []
    for source in (far, near):
        source.playback = Playback(1.0, Hand())
        watchers.append(Watcher(source.follower()))
        watched_until(watchers[-1], 300)
    there, here = (one.history for one in watchers)
    assert [one.id for one in there.incidents.all()] == [one.id for one in here.incidents.all()] != []
    assert there.evals.newest == here.evals.newest and there.checkpoint == here.checkpoint
    far.playback.seek(600)
    watched_until(watchers[0], 600)
    assert far.address == f"{HOST}:{run.path}" and "inspect" not in far.abilities and "log in" in far.why_not("inspect")
    far.close()


def test_a_long_log_is_brought_first_and_says_how_far_it_is(tmp_path: Path, proxy: Proxy, watch: Watch) -> None:
    run = FarRun(tmp_path / "long", steps(1, 8000))
    proxy.rate = 2e6
    source = played(f"{HOST}:{run.run.path}", at=5000)
    watcher = Watcher(source.follower())
    shares: list[float] = []
    while watcher.look().last_step != 5000:
        if watcher.last.progress is not None:
            shares.append(watcher.last.progress)
        assert not watcher.history.steps or watcher.history.last_step <= 5000, "nothing is told before its time"
    assert shares == sorted(shares) and max(shares) > 0
    source.close()


def test_a_step_of_it_is_printed(tmp_path: Path, watch: Watch) -> None:
    run = FarRun(tmp_path / "one", steps(1, 40))
    read = read_source(as_it_was(f"{HOST}:{run.run.path}", at=25))
    assert read.live.history.last_step == 25


async def test_what_is_no_run_there_is_said_on_the_list(tmp_path: Path, watch: Watch) -> None:
    (tmp_path / "empty").mkdir()
    goal = opened(Replay(f"{HOST}:{tmp_path}/empty", back=ListRuns(f"{HOST}:{tmp_path}")))
    app = PgsApp(goal, Look())  # type: ignore[arg-type]
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: app.return_value)
    back = app.return_value.next
    assert isinstance(back, ListRuns) and "no run" in back.note


@pytest.mark.parametrize("size", [(60, 15), (120, 36)])
async def test_it_is_played_on_the_screen(tmp_path: Path, watch: Watch, size: tuple[int, int]) -> None:
    run = FarRun(tmp_path / "one", steps(1, 40))
    app = PgsApp(opened(Replay(f"{HOST}:{run.run.path}", at=25)), Look())  # type: ignore[arg-type]
    async with app.run_test(size=size) as pilot:
        await until(pilot, lambda: app.dashboard.live and app.dashboard.live.history.last_step)
        await until(pilot, lambda: "REPLAY 10x" in app.dashboard.status_of(app.dashboard.live).state)
        await pilot.press("i")
        await pilot.pause()
        assert "log in there" in str(app.dashboard.live.why_not("inspect"))

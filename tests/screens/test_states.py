"""Every state of a run is told by a word, a sign and a sentence."""

from __future__ import annotations

import json
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from engine.events import Checkpoint, End, Event, Phase
from engine.rundir import RunDir
from pgs_tui.goals import AttachTo
from pgs_tui.runs.follow import Update
from pgs_tui.runs.life import Life
from pgs_tui.runs.source import LocalRun
from screens.dashboard.readings.age import age_of, next_change
from tests.pgs_tui.making import stamped, step
from tests.screens.hosting import hosted, screen_text
from tests.screens.scenes import START, training

SAVED = Checkpoint(step=3, path="checkpoints/step-3", seconds=1, bytes=1)
DONE = End(status="finished", reason="", exit_code=0, last_step=3)
DOWNLOAD = Phase(name="downloading", progress=0.25, done=2**30, total=4 * 2**30, unit="bytes")

STATES: dict[str, tuple[Update, str, str, str]] = {
    "empty": (Update(life="live"), "○ starting", "the engine starts", "then come the data, the model"),
    "downloading": (
        Update(events=stamped(DOWNLOAD), life="live"),
        "◐ downloading 25 %",
        "◐ downloading 25 %",
        "stays on the disk for the next start",
    ),
    "loading": (
        Update(events=stamped(Phase(name="loading model")), life="live"),
        "◐ loading model",
        "◐ loading model",
        "the model's weights are read",
    ),
    "compiling": (
        Update(events=stamped(START, Phase(name="compiling")), life="live"),
        "◐ compiling",
        "◐ compiling · 1 m 30 s so far",
        "the first step compiles",
    ),
    "paused": (
        Update(events=stamped(START, Phase(name="training"), step(1), step(2), Phase(name="paused")), life="live"),
        "‖ paused",
        "‖ paused after step 2",
        "P lets it go on",
    ),
    "disconnected": (
        Update(events=stamped(step(1)), life="live", trouble="Stale file handle"),
        "? disconnected",
        "the log cannot be read: Stale file handle",
        "it is tried again",
    ),
    "elsewhere": (
        Update(events=stamped(START, Phase(name="training"), step(1)), life="elsewhere"),
        "● training on gpubox",
        "its engine runs on gpubox",
        "stop and pause are written to its folder",
    ),
    "finished": (
        Update(events=stamped(step(3), SAVED, DONE), life="gone"),
        "✔ finished",
        "✔ finished at step 3",
        "checkpoints/step-3",
    ),
    "stopped": (
        Update(events=stamped(step(3), End(status="stopped", reason="asked", exit_code=0, last_step=3)), life="gone"),
        "■ stopped",
        "■ stopped at step 3: asked",
        "no evaluation",
    ),
    "crashed": (
        Update(
            events=stamped(step(3), End(status="failed", reason="out of memory", exit_code=3, last_step=3)), life="gone"
        ),
        "✖ failed",
        "✖ failed at step 3: out of memory",
        "exit code 3",
    ),
    "killed": (
        Update(events=stamped(step(3)), life="gone", exit_code=-9),
        "✖ killed",
        "killed after step 3",
        "its log is empty",
    ),
}


@pytest.mark.parametrize("size", [(120, 36), (80, 24)])
@pytest.mark.parametrize("name", STATES)
async def test_each_state_has_a_word_a_sign_and_a_sentence(tmp_path: Path, name: str, size: tuple[int, int]) -> None:
    update, word, sentence, more = STATES[name]
    (tmp_path / "run.json").write_text(json.dumps(RUN_JSON))
    async with hosted(tmp_path, size, now=1091.0 if name == "compiling" else 1000.5) as (app, pilot):
        await app.deliver(pilot, update)
        assert word in app.texts["status"]
        said = " ".join(app.texts["banner"].split())
        assert sentence in said and more in said, said
        assert "help" in screen_text(app)[-1], "all of it leaves the keys on the screen"


RUN_JSON = {"id": "r", "name": "q", "host": "gpubox", "boot_id": "b", "pid": 1, "pid_start": "1", "started": 1.0}


@pytest.mark.parametrize("event", [Phase(name="training"), Phase(name="evaluating"), Phase(name="saving")])
async def test_while_it_trains_nothing_takes_room_from_the_curves(tmp_path: Path, event: Event) -> None:
    async with hosted(tmp_path) as (app, pilot):
        await app.deliver(pilot, Update(events=stamped(START, step(1), event), life="live"))
        assert "banner" not in app.texts


async def test_how_long_it_still_takes_is_not_said_while_it_waits(tmp_path: Path) -> None:
    async with hosted(tmp_path) as (app, pilot):
        steps = [step(number) for number in range(1, 20)]
        await app.deliver(pilot, Update(events=stamped(START, Phase(name="training"), *steps), life="live"))
        assert "ETA" in app.texts["status"]
        await app.deliver(pilot, Update(events=stamped(Phase(name="paused"), start=1020.0), life="live"))
        assert "ETA" not in app.texts["status"]


async def test_the_keys_are_those_of_a_run_that_goes_on_in_every_such_state(tmp_path: Path) -> None:
    async with hosted(tmp_path) as (app, pilot):
        await app.deliver(pilot, Update(events=stamped(Phase(name="compiling")), life="live"))
        assert "q leave, run goes on" in app.texts["keys"]


@pytest.mark.parametrize("life", ["live", "elsewhere", "starting"])
async def test_news_in_time_brings_the_state_back(tmp_path: Path, life: Life) -> None:
    async with hosted(tmp_path) as (app, pilot):
        before = Update(events=stamped(START, Phase(name="training"), step(1)), life=life)
        await app.deliver(pilot, before)
        known = app.texts
        await app.deliver(pilot, Update(life=life, trouble="Input/output error"))
        assert "? disconnected" in app.texts["status"]
        await app.deliver(pilot, Update(life=life))
        assert app.texts == known


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(0.2, "< 1 s"), (7.9, "7 s"), (49, "40 s"), (95, "1 m 30 s"), (119, "1 m 50 s"), (130, "2 m"), (3999, "1 h 06 m")],
)
def test_an_age_is_told_as_closely_as_it_matters(seconds: float, words: str) -> None:
    assert age_of(seconds) == words
    assert age_of(seconds + next_change(seconds) + 1e-6) != words
    assert age_of(seconds + next_change(seconds) * 0.9) == words


async def test_an_engine_that_was_just_started_is_starting_whatever_the_one_before_has_told(tmp_path: Path) -> None:
    with subprocess.Popen(("cat",), stdin=subprocess.PIPE) as process:
        source = LocalRun(RunDir(tmp_path), "quickstart", process)
        source.begun = 2000.0
        async with hosted(tmp_path, (120, 36), goal=AttachTo(source), now=2001.0) as (app, pilot):
            await app.deliver(pilot, replace(training(), events=(*training().events, *stamped(DONE, start=1500.0))))
            assert "○ starting" in app.texts["status"] and "the engine starts" in app.texts["banner"]
            assert "run goes on" in app.texts["keys"] and app.live.exit_code == 0
            news = stamped(Phase(name="loading model"), start=2003.0)
            await app.deliver(pilot, Update(events=news, life="live"))
            assert "loading model" in app.texts["status"]
            assert process.stdin is not None
            process.stdin.close()


async def test_an_engine_that_was_started_and_is_gone_without_a_word_leaves_the_end_that_is_known(
    tmp_path: Path,
) -> None:
    with subprocess.Popen(("true",)) as process:
        source = LocalRun(RunDir(tmp_path), "quickstart", process)
        source.begun = 2000.0
    async with hosted(tmp_path, (120, 36), goal=AttachTo(source), now=2001.0) as (app, pilot):
        told = (*training().events, *stamped(DONE, start=1500.0))
        await app.deliver(pilot, replace(training(), events=told, life="gone", exit_code=2))
        assert "✔ finished" in app.texts["status"]

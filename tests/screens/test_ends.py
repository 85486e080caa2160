"""How the end of a run is told, and what there is to see then."""

from pathlib import Path

import pytest

from engine.events import (
    Ack,
    Checkpoint,
    End,
)
from pgs_tui.runs.follow import Update
from tests.pgs_tui.making import stamped
from tests.screens.hosting import hosted, screen_text
from tests.screens.scenes import training


async def test_the_end_is_said_with_its_reason(tmp_path: Path) -> None:
    async with hosted(tmp_path) as (app, pilot):
        await app.deliver(pilot, training())
        end = End(status="stopped", reason="asked to stop", exit_code=0, last_step=1240)
        saved = Checkpoint(step=1240, path="checkpoints/step-1240", seconds=1, bytes=1)
        await app.deliver(pilot, Update(events=stamped(saved, end), life="gone"))
        assert "■ stopped" in app.texts["status"]
        assert "■ stopped at step 1 240: asked to stop" in app.texts["banner"]
        assert "checkpoints/step-1240" in app.texts["banner"]
        assert "q leave  i inspect  p profile  ← →" in app.texts["keys"], (
            "there is no run any more that would go on, or could be stopped"
        )


@pytest.mark.parametrize("size", [(80, 24), (120, 36)])
async def test_a_long_reason_is_shown_in_full(tmp_path: Path, size: tuple[int, int]) -> None:
    reason = "Out of memory at step 1750; the longest row has 8,000 tokens; " * 5 + "the last good checkpoint is here"
    async with hosted(tmp_path, size) as (app, pilot):
        await app.deliver(pilot, training())
        end = End(status="failed", reason=reason, exit_code=3, last_step=1240)
        await app.deliver(pilot, Update(events=stamped(end), log=("last words",), life="gone"))
        assert reason in " ".join(app.texts["banner"].split())
        assert "last words" in app.texts["banner"].splitlines()[-1]
        assert "q leave" in screen_text(app)[-1]


@pytest.mark.parametrize("size", [(60, 15), (80, 24)])
async def test_the_end_is_said_shortly_each_thing_once_and_how_to_go_on(tmp_path: Path, size: tuple[int, int]) -> None:
    path, asked = "checkpoints/step-1240", "lena@box asked after step 1240, saved as checkpoints/step-1240"
    async with hosted(tmp_path, size) as (app, pilot):
        await app.deliver(pilot, training())
        saved = Checkpoint(step=1240, path=path, seconds=1, bytes=1)
        end = End(status="stopped", reason=asked, exit_code=0, last_step=1240)
        await app.deliver(pilot, Update(events=stamped(saved, end), life="gone"))
        told = " ".join(app.texts["banner"].split())
        assert told.startswith("■ stopped at step 1 240: lena@box asked, saved as checkpoints/step-1240 ")
        assert told.count(path) == 1 and "to go on: R in pgs-tui runs" in told
        assert len(app.texts["banner"].splitlines()) <= 3, "the curves keep their rows"


async def test_a_run_that_is_done_is_not_said_to_go_on_a_killed_one_is(tmp_path: Path) -> None:
    async with hosted(tmp_path) as (app, pilot):
        await app.deliver(pilot, training())
        await app.deliver(pilot, Update(life="gone", exit_code=-9))
        assert "to go on: R in pgs-tui runs" in app.texts["banner"]
        done = End(
            status="finished", reason="all 1240 steps are done; the model is in final", exit_code=0, last_step=1240
        )
        await app.deliver(pilot, Update(events=stamped(done), life="gone"))
        assert "the model is in final" in app.texts["banner"] and "to go on" not in app.texts["banner"]


async def test_a_killed_engine_is_said_with_its_last_words(tmp_path: Path) -> None:
    async with hosted(tmp_path) as (app, pilot):
        await app.deliver(pilot, training())
        await app.deliver(pilot, Update(log=("RuntimeError: out of luck",), life="gone", exit_code=-9))
        assert "✖ killed" in app.texts["status"]
        assert "killed after step 1 240: the engine vanished without a word (by signal 9)" in app.texts["banner"]
        assert "last words: RuntimeError: out of luck" in app.texts["banner"]


async def test_the_answer_to_a_command_is_not_taken_for_last_words(tmp_path: Path) -> None:
    async with hosted(tmp_path) as (app, pilot):
        await app.deliver(pilot, training())
        ack = Ack(id="a" * 12, ok=True, message="pauses after step 1240", cmd="pause", by="lena@box")
        words = ("RuntimeError: out of luck", "lena@box: pause: pauses after step 1240")
        await app.deliver(pilot, Update(events=stamped(ack), log=words, life="gone", exit_code=-9))
        assert "last words: RuntimeError: out of luck" in app.texts["banner"]


async def test_under_the_cursor_of_a_run_that_is_over_the_curves_keep_their_rows(tmp_path: Path) -> None:
    async with hosted(tmp_path, (80, 24)) as (app, pilot):
        await app.deliver(pilot, training())
        end = End(status="stopped", reason="lena@box asked", exit_code=0, last_step=1240)
        await app.deliver(pilot, Update(events=stamped(end), life="gone"))
        before = len(app.texts["loss"].splitlines())
        await pilot.press("left")
        assert len(app.texts["banner"].splitlines()) == 1 and "stopped at step 1 240" in app.texts["banner"]
        assert len(app.texts["loss"].splitlines()) >= before
        await pilot.press("escape")
        assert "to go on" in app.texts["banner"]


async def test_an_engine_that_never_started_is_said_with_its_last_words(tmp_path: Path) -> None:
    async with hosted(tmp_path) as (app, pilot):
        await app.deliver(pilot, Update(log=("No module named engine",), life="gone", exit_code=1))
        assert "the engine did not start: it ended with exit code 1" in app.texts["banner"]
        assert "No module named engine" in app.texts["banner"]

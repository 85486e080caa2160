"""Configs whose model brings code of its own: nothing runs that before a person has said so."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from pathlib import Path

import pytest
from textual.pilot import Pilot

from engine.rundir import RunDir
from pgs_tui.appearance.look import Look
from pgs_tui.apps.dashboard import PgsApp
from pgs_tui.apps.themed import Goodbye
from pgs_tui.goals import StartConfig
from pgs_tui.picking.as_text import print_configs
from pgs_tui.runs.launcher import Launched, Recipe
from tests.screens.hosting import screen_text
from tests.screens.inspecting import until
from tests.screens.picking import picker, texts, write_config

ROOT = Path(__file__).parents[2]


def write_trusting(path: Path, model: str = "some/model") -> Path:
    write_config(path, model=model)
    path.write_text(path.read_text().replace("data:\n", "  trust_remote_code: true\ndata:\n", 1))
    return path


def shown(pilot: Pilot[Goodbye]) -> str:
    return " ".join("\n".join(screen_text(pilot.app)).replace("│", " ").split())


@pytest.mark.parametrize(("width", "height"), [(60, 15), (80, 24), (120, 36)])
async def test_the_list_and_the_details_say_so_without_colour_too(here: Path, width: int, height: int) -> None:
    write_trusting(here / "a-config-of-a-long-name.yaml")
    write_config(here / "plain.yaml")
    look = Look(theme="terminal", glyphs="ascii", ascii_only=True)
    async with picker(here, settled=False, size=(width, height), look=look) as (screen, pilot):
        await until(pilot, lambda: "^code" in texts(screen)["configs"])
        (row,) = [line for line in texts(screen)["configs"].splitlines() if "^code" in line]
        assert "a-conf" in row and "1 x 2 048" not in row
        while screen.list.entry is None or screen.list.entry.model != "some/model":
            await pilot.press("down")
        assert "^ model.trust_remote_code is on: Python code" in " ".join(texts(screen)["details"].split())


async def test_looking_at_the_list_runs_none_of_it(here: Path, tmp_path: Path) -> None:
    """The profiler, which would load the model's code, is never asked about it."""
    write_trusting(here / "a.yaml")
    write_config(here / "b.yaml")
    log = tmp_path / "log"
    async with picker(here, "--log", str(log), settled=False) as (screen, pilot):
        await until(pilot, lambda: any(entry.estimate or entry.trouble for entry in screen.picking.collection))
        await pilot.press("r")
        await until(pilot, lambda: screen.picking.searched and screen.picking.is_idle)
        await pilot.press("end")
        assert "not worked out, as that would run the model's code" in shown(pilot)
        assert set(log.read_text().split()) == {"b"}


@pytest.mark.parametrize("key", ["enter", "p", "i"])
async def test_every_way_into_it_asks_and_enter_alone_allows_nothing(here: Path, key: str) -> None:
    write_trusting(here / "a.yaml")
    async with picker(here, settled=False) as (screen, pilot):
        await until(pilot, lambda: screen.list.entry and screen.list.entry.is_valid)
        await pilot.press(key)
        await until(pilot, lambda: "let it run" in shown(pilot))
        assert "Python code that comes with some/model runs on this machine, as you" in shown(pilot)
        await pilot.press("enter")
        await pilot.pause()
        assert screen.app.return_value is None and screen.is_current and screen.list.entry.asks_for_trust


async def test_once_it_is_allowed_its_memory_is_worked_out_and_it_starts(here: Path) -> None:
    path = write_trusting(here / "a.yaml")
    async with picker(here, answers={"a": {"total": 14.2}}, settled=False) as (screen, pilot):
        await until(pilot, lambda: screen.list.entry and screen.list.entry.is_valid)
        await pilot.press("enter")
        await until(pilot, lambda: "let it run" in shown(pilot))
        await pilot.press("up", "enter")
        await until(pilot, lambda: screen.app.return_value)
        assert screen.app.return_value.next == StartConfig(path, (), "a")


async def test_leave_for_one_model_is_none_for_another(here: Path) -> None:
    path = write_trusting(here / "a.yaml")
    async with picker(here, settled=False) as (screen, pilot):
        await until(pilot, lambda: screen.list.entry and screen.list.entry.is_valid)
        screen.list.entry.trusted_model = "some/model"
        write_trusting(path, model="other/model")
        await pilot.press("p")
        await until(pilot, lambda: "comes with other/model" in shown(pilot) and "let it run" in shown(pilot))


def test_the_list_without_a_terminal_says_so_too(here: Path) -> None:
    write_trusting(here / "a.yaml")
    out = io.StringIO()
    assert print_configs(here, here / "none", out) == 0
    assert "runs the model's own code (model.trust_remote_code)" in out.getvalue()


@pytest.mark.parametrize("width", [60, 120])
async def test_whoever_names_the_config_is_told_and_not_asked(here: Path, width: int) -> None:
    path = write_trusting(here / "a.yaml")
    (here / "run").mkdir()
    started: list[Recipe] = []

    def start(recipe: Recipe) -> Launched:
        started.append(recipe)
        return Launched(RunDir(here / "run"), subprocess.Popen(("true",)))

    app = PgsApp(StartConfig(path, (), "a"), Look(), start)
    async with app.run_test(size=(width, 24)) as pilot:
        await until(pilot, lambda: started)
        await until(pilot, lambda: "model.trust_remote_code is on: Python code" in screen_text(app)[-1])
        assert len(app.screen_stack) == 1


def test_in_plain_a_note_says_so_first(here: Path) -> None:
    path = write_trusting(here / "a.yaml")
    words = (sys.executable, "-m", "pgs_tui", str(path), "--plain", "--train.output_dir", str(here / "runs"))
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "HF_HUB_OFFLINE": "1", "HF_HOME": str(here / "hub")}
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment) as train:
        assert train.stdout is not None
        note = next(line for line in train.stdout if line.startswith("note: "))
        train.kill()
    assert "model.trust_remote_code: Python code that comes with some/model runs on this machine" in note

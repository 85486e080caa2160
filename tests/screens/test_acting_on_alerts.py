"""What a person can do about an alert, and what the dashboard finds by itself: a silent and a dead engine."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from textual.pilot import Pilot

from engine.config import dump_config, load_config
from engine.events import Advice, Alert, Resume
from pgs_tui.apps.dashboard import Goodbye
from pgs_tui.runs.alarm import Watchman
from pgs_tui.runs.follow import Update
from pgs_tui.waking import Waking
from screens.dashboard.alert_writing import ways_of
from tests.pgs_tui.making import stamped
from tests.screens.hosting import Host, hosted, screen_text
from tests.screens.scenes import SPIKE, START, training

WRITTEN = """\
# my recipe
model:
  name_or_path: ./tiny  # the small one
  init: random
data:
  dataset: chats.jsonl
train:
  learning_rate: 1e-4  # tried 3e-4, diverged
  min_learning_rate: 5e-5
  max_steps: 100
"""
RATE = Advice(key="train.learning_rate", value=1e-5, why="divide it by 10", also=(("train.min_learning_rate", 5e-6),))
STEPS = Advice(key="train.max_steps", value=50, why="shorter")


@dataclass
class Desk:
    """A dashboard with an alert on it, and the folder where the person stands."""

    app: Host
    pilot: Pilot[Goodbye]
    folder: Path

    async def alert(self, *advice: Advice) -> None:
        command = f"pgs train --config {self.folder / 'mine.yaml'} --train.max_steps 200"
        alert = replace(SPIKE, advice=advice)
        update = training()
        start = stamped(replace(START, command=command), start=900.0)
        await self.app.deliver(self.pilot, replace(update, events=(*update.events, *start, *stamped(alert))))
        await self.pilot.press("n", "w")
        await self.pilot.pause()

    @property
    def shown(self) -> str:
        return "\n".join(screen_text(self.app))


@pytest.fixture
async def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Desk]:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tiny").mkdir()
    (tmp_path / "chats.jsonl").touch()
    written = tmp_path / "mine.yaml"
    written.write_text(WRITTEN)
    run = tmp_path / "runs" / "20260101-000000-mine"
    run.mkdir(parents=True)
    loaded = load_config(written, ["--train.max_steps", "200"], check_files=False)
    (run / "config.yaml").write_text(dump_config(loaded.config))
    async with hosted(run) as (app, pilot):
        yield Desk(app, pilot, tmp_path)


async def test_w_writes_what_the_alert_advises_into_the_file_that_the_run_was_started_with(desk: Desk) -> None:
    await desk.alert(RATE)
    assert "mine-2.yaml" in desk.shown, "a name that is free is proposed"
    await desk.pilot.press("enter")
    await desk.pilot.pause()
    assert "Written: mine-2.yaml" in desk.shown and "pgs-tui" in desk.shown
    text = (desk.folder / "mine-2.yaml").read_text()
    assert "# my recipe" in text and "1e-5  # tried 3e-4, diverged" in text, "comments are kept"
    config = load_config(desk.folder / "mine-2.yaml", check_files=False).config
    assert (config.train.learning_rate, config.train.min_learning_rate) == (1e-5, 5e-6)
    assert config.train.max_steps == 200, "what the run was started with otherwise is written, too"


async def test_of_several_advices_one_is_chosen_or_all(desk: Desk) -> None:
    await desk.alert(RATE, STEPS)
    assert "train.max_steps: 50" in desk.shown and "all of them" in desk.shown
    await desk.pilot.press("down", "enter")
    await desk.pilot.pause()
    await desk.pilot.press("enter")
    await desk.pilot.pause()
    config = load_config(desk.folder / "mine-2.yaml", check_files=False).config
    assert (config.train.learning_rate, config.train.max_steps) == (1e-4, 50)


async def test_without_the_file_of_the_start_the_config_of_the_run_is_the_base(desk: Desk) -> None:
    (desk.folder / "mine.yaml").unlink()
    await desk.alert(RATE)
    await desk.pilot.press("enter")
    await desk.pilot.pause()
    config = load_config(desk.folder / "mine.yaml", check_files=False).config
    assert (config.train.learning_rate, config.train.max_steps) == (1e-5, 200)


async def test_comments_stay_where_the_run_differs_in_a_list(desk: Desk) -> None:
    flags = ["--data.dataset", "[chats.jsonl, more.jsonl]"]
    loaded = load_config(desk.folder / "mine.yaml", flags, check_files=False)
    desk.app.live.run.config_yaml.write_text(dump_config(loaded.config))
    await desk.alert(RATE)
    assert "without the comments" not in desk.shown
    await desk.pilot.press("enter")
    await desk.pilot.pause()
    assert "# my recipe" in (desk.folder / "mine-2.yaml").read_text()
    written = load_config(desk.folder / "mine-2.yaml", check_files=False).config
    assert written.data.dataset == loaded.config.data.dataset


async def test_comments_that_are_lost_are_spoken_of_before(desk: Desk) -> None:
    (desk.folder / "mine.yaml").write_text(WRITTEN + "  nonsense: 1\n")
    await desk.alert(RATE)
    assert "without the comments of mine.yaml" in desk.shown


@pytest.mark.parametrize(
    ("advice", "sentence"),
    (
        ((), "this alert advises no change of the config"),
        ((Advice(key="train.learning_rate", value=None),), "what the run has there is not known"),
    ),
)
async def test_what_cannot_be_written_is_said(desk: Desk, advice: tuple[Advice, ...], sentence: str) -> None:
    await desk.alert(*advice)
    assert sentence in desk.shown


async def test_a_run_without_a_config_is_said(desk: Desk) -> None:
    desk.app.live.run.config_yaml.unlink()
    await desk.alert(RATE)
    assert "the config of this run is not known" in desk.shown


async def test_what_has_to_change_with_it_is_written_too_where_an_old_alert_does_not_name_it(desk: Desk) -> None:
    await desk.alert(replace(RATE, also=()))
    await desk.pilot.press("enter")
    await desk.pilot.pause()
    config = load_config(desk.folder / "mine-2.yaml", check_files=False).config
    assert config.train.learning_rate == 1e-5 > config.train.min_learning_rate


async def test_a_value_that_the_config_refuses_is_said_in_full_and_nothing_is_written(desk: Desk) -> None:
    await desk.alert(Advice(key="train.learning_rate", value=7.0))
    await desk.pilot.press("enter")
    await desk.pilot.pause()
    assert "not written" in desk.shown and "train.learning_rate" in desk.shown
    assert not (desk.folder / "mine-2.yaml").exists()


async def test_w_without_an_alert_says_what_it_is_for(desk: Desk) -> None:
    await desk.app.deliver(desk.pilot, training())
    await desk.pilot.press("w")
    await desk.pilot.pause()
    assert "w then writes a config" in desk.shown


def test_advices_that_contradict_each_other_are_not_offered_together() -> None:
    other = Advice(key="train.max_steps", value=10, also=(("train.learning_rate", 1e-3),))
    assert [len(way.changes) for way in ways_of((RATE, other))] == [2, 2]
    assert [len(way.changes) for way in ways_of((RATE, STEPS))] == [2, 1, 3]


class Watched:
    """A dashboard that somebody watches; `rung` counts the bell."""

    def __init__(self, app: Host) -> None:
        self.app = app
        self.rung = 0
        app.dashboard.let_watch(Watchman(app.live.folder, Waking(rings=True), app.now, self._ring))

    def _ring(self) -> None:
        self.rung += 1

    @property
    def found(self) -> list[tuple[str, str, bool]]:
        return [(one.code, one.severity, one.open) for one in self.app.live.incidents()]


async def test_a_silent_engine_is_an_incident_until_it_goes_on(tmp_path: Path) -> None:
    async with hosted(tmp_path, now=1001.0) as (app, pilot):
        watched = Watched(app)
        await app.deliver(pilot, training())
        assert watched.found == []
        app.now += 40
        await app.deliver(pilot, Update(life="live"))
        assert watched.found == [("SILENT", "warning", True)]
        assert "silent" in app.texts["alerts"] and "the engine lives" in app.texts["alerts"]
        app.now += 700
        await app.deliver(pilot, Update(life="live"))
        assert watched.found == [("SILENT", "critical", True)] and watched.rung == 1
        await app.deliver(
            pilot, replace(training(1241), events=stamped(training(1241).events[-2].event, start=app.now))
        )
        assert watched.found == [("SILENT", "critical", False)] and watched.rung == 1


async def test_an_engine_that_vanishes_while_somebody_watches_rings_and_says_how_to_go_on(tmp_path: Path) -> None:
    async with hosted(tmp_path, now=1001.0) as (app, pilot):
        watched = Watched(app)
        await app.deliver(pilot, training())
        await app.deliver(pilot, Update(life="gone"))
        assert watched.found == [("ENGINE_DEAD", "critical", True)] and watched.rung == 1
        assert "try train.save_steps: 310" in app.texts["alerts"]


async def test_who_watched_an_engine_die_and_who_comes_after_the_resume_are_told_the_same(tmp_path: Path) -> None:
    again = stamped(START, Resume(from_step=1240, checkpoint="checkpoints/step-1240"), start=1500.0)
    told = []
    for watches_all in (True, False):
        async with hosted(tmp_path, now=1001.0) as (app, pilot):
            Watched(app)
            past = training()
            if watches_all:
                await app.deliver(pilot, past)
                await app.deliver(pilot, Update(life="gone"))
                app.now = 1501.0
                await app.deliver(pilot, Update(events=again, life="live"))
            else:
                app.now = 1501.0
                await app.deliver(pilot, replace(past, events=(*past.events, *again), life="live"))
            told.append([(one.code, one.open, one.step, one.meaning) for one in app.live.incidents()])
            assert "engine dead" in app.texts["alerts"] and "over" in app.texts["alerts"]
            assert "after step 1,240" in told[-1][-1][3]
    assert told[0] == told[1] and [code for code, *_ in told[0]].count("ENGINE_DEAD") == 1


async def test_a_run_that_was_dead_before_wakes_nobody_nor_do_alerts_of_its_past(tmp_path: Path) -> None:
    async with hosted(tmp_path, now=5000.0) as (app, pilot):
        watched = Watched(app)
        past = training()
        nan = Alert(id="n", state="open", code="NON_FINITE_LOSS", severity="critical", meaning="nan", step=1239)
        await app.deliver(pilot, replace(past, events=(*past.events, *stamped(nan)), life="gone"))
        assert [code for code, *_ in watched.found] == ["NON_FINITE_LOSS", "ENGINE_DEAD"]
        assert watched.rung == 0


async def test_a_critical_alert_rings_once(tmp_path: Path) -> None:
    async with hosted(tmp_path, now=1001.0) as (app, pilot):
        watched = Watched(app)
        await app.deliver(pilot, training())
        nan = Alert(id="n", state="open", code="NON_FINITE_LOSS", severity="error", meaning="nan", step=1240)
        worse = replace(nan, state="update", severity="critical")
        await app.deliver(pilot, Update(events=stamped(nan, worse, worse, start=1002.0), life="live"))
        assert watched.rung == 1


async def test_a_log_that_cannot_be_read_is_no_silence_and_no_death(tmp_path: Path) -> None:
    async with hosted(tmp_path, now=1001.0) as (app, pilot):
        watched = Watched(app)
        await app.deliver(pilot, training())
        app.now += 3000
        await app.deliver(pilot, Update(life="live", trouble="Stale file handle"))
        await app.deliver(pilot, Update(life="gone", trouble="Stale file handle"))
        assert watched.found == [] and watched.rung == 0

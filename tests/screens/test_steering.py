"""Keys that change the run, what others have asked of it, and a dashboard that changes nothing."""

from dataclasses import replace
from pathlib import Path

import pytest
from textual.pilot import Pilot

from engine.events import Ack, Stamped
from engine.events.control_line import Command, parse_command
from engine.rundir import RunDir
from pgs_tui.apps.dashboard import Goodbye
from pgs_tui.goals import AttachTo, ListRuns
from pgs_tui.keys import keys_of
from pgs_tui.runs.follow import Update
from pgs_tui.runs.source import LocalRun
from screens.dashboard.commands import Commands
from screens.dialogs.confirm import Confirm
from screens.dialogs.help import HelpScreen
from screens.dialogs.rate_prompt import RatePrompt, factor_of
from screens.profile.screen import ProfileScreen
from tests.screens.far_run import FarRun
from tests.screens.hosting import Host, hosted, screen_text
from tests.screens.inspecting import until
from tests.screens.scenes import SPIKE, training

ROOT = Path(__file__).parents[2]
SIZES = [(60, 15), (80, 24), (120, 36), (200, 50)]


def asked(run: Path) -> list[Command]:
    control = run / "control.jsonl"
    commands = [parse_command(line) for line in control.read_bytes().splitlines()] if control.exists() else []
    assert all(isinstance(one, Command) for one in commands)
    return [one for one in commands if isinstance(one, Command)]


async def answered(app: Host, pilot: Pilot[Goodbye], *acks: Ack) -> None:
    await app.deliver(pilot, Update(events=tuple(Stamped(app.now, ack) for ack in acks), life="live"))


@pytest.mark.parametrize(("key", "cmd"), [("C", "checkpoint"), ("E", "evaluate")])
async def test_a_key_saves_or_evaluates_and_tells_the_answer(tmp_path: Path, key: str, cmd: str) -> None:
    async with hosted(tmp_path) as (app, pilot):
        await app.deliver(pilot, training())
        await pilot.press(key)
        await until(pilot, lambda: bool(asked(tmp_path)) and "asked for" in app.texts["keys"])
        (command,) = asked(tmp_path)
        assert command.cmd == cmd
        await answered(app, pilot, Ack(id=command.id, ok=True, message="saved step 1240", cmd=cmd, by=command.by))
        assert f"{cmd}: saved step 1240" in app.texts["keys"]


@pytest.mark.parametrize("size", SIZES)
async def test_the_learning_rate_is_changed_by_a_factor_that_shows_what_it_makes(
    tmp_path: Path, size: tuple[int, int]
) -> None:
    async with hosted(tmp_path, size) as (app, pilot):
        await app.deliver(pilot, training())
        await pilot.press("r")
        assert isinstance(app.screen, RatePrompt)
        assert "1.0e-05 → 5.0e-06" in " ".join(screen_text(app)), "the present rate, and half of it"
        await pilot.press("down")
        assert "1.0e-05 → 2.0e-06" in " ".join(screen_text(app))
        await pilot.press("1", "1")
        assert "at most 10" in " ".join(screen_text(app))
        await pilot.press("enter")
        assert isinstance(app.screen, RatePrompt), "such a factor is not taken"
        await pilot.press("backspace", "full_stop", "5")
        assert "1.0e-05 → 1.5e-05" in " ".join(screen_text(app))
        await pilot.press("enter")
        await until(pilot, lambda: bool(asked(tmp_path)))
        assert [(one.cmd, dict(one.args)) for one in asked(tmp_path)] == [("scale_lr", {"factor": 1.5})]


async def test_a_factor_is_written_in_any_usual_way(tmp_path: Path) -> None:
    async with hosted(tmp_path) as (app, pilot):
        await app.deliver(pilot, training())
        await pilot.press("r", "5", "e", "minus", "1")
        assert "1.0e-05 → 5.0e-06" in " ".join(screen_text(app))
        await pilot.press(*["backspace"] * 4, "0", "comma", "2")
        assert "1.0e-05 → 2.0e-06" in " ".join(screen_text(app))


@pytest.mark.parametrize("written", ["", ".", "0", "0.0", "10.01", "1.2.3", "-1", "1e", "1e9"])
def test_what_an_engine_would_refuse_is_no_factor(written: str) -> None:
    assert factor_of(written) is None


async def test_what_others_ask_is_told_to_everybody_and_once(tmp_path: Path) -> None:
    async with hosted(tmp_path, now=1000.0) as (app, pilot):
        before = Stamped(990.0, Ack(id="0" * 12, ok=True, message="goes on after step 7", cmd="resume", by="old@box"))
        start = training()
        await app.deliver(pilot, replace(start, events=(*start.events, before)))
        assert "old@box" not in app.texts["keys"] + app.texts["log"], "that was before anybody looked"
        pause = Ack(id="a" * 12, ok=True, message="pauses after step 40", cmd="pause", by="lena@box")
        evaluate = Ack(id="b" * 12, ok=False, message="there is no evaluation data", cmd="evaluate", by="tom@laptop")
        await answered(app, pilot, pause)
        assert "lena@box: pauses after step 40" in app.texts["keys"]
        await answered(app, pilot, pause, evaluate)
        assert "tom@laptop: evaluation: there is no evaluation data" in app.texts["keys"]
        await app.deliver(pilot, Update(log=("lena@box: pause: pauses after step 40",)))
        assert app.texts["log"].count("pauses after step 40") == 1, "the engine has written it into the log"


def test_an_answer_that_is_quicker_than_the_news_of_its_command_is_that_of_the_command(tmp_path: Path) -> None:
    class Quick(FarRun):
        def send(self, command: str, **args: float) -> str:  # type: ignore[override]
            commands.hear(Ack(id="c" * 12, ok=True, message="pauses after step 3", cmd="pause", by="me@here"))
            heard_meanwhile.extend(commands.told())
            return "c" * 12

    commands, heard_meanwhile = Commands(Quick(tmp_path)), list[object]()
    commands.ask("pause")
    assert heard_meanwhile == []
    assert list(commands.told()) == [("pause: pauses after step 3", "good")]
    assert commands.unanswered is None


async def test_a_command_that_cannot_be_sent_says_why(tmp_path: Path) -> None:
    class Lost(FarRun):
        def send(self, command: str, **args: float) -> str:  # type: ignore[override]
            raise OSError("the connection to box is lost")

    async with hosted(tmp_path, goal=AttachTo(Lost(tmp_path))) as (app, pilot):
        await app.deliver(pilot, training())
        await pilot.press("C")
        await until(pilot, lambda: "checkpoint could not be sent: the connection to box is lost" in app.texts["keys"])


def readonly(path: Path) -> AttachTo:
    return AttachTo(LocalRun(RunDir(path), "quickstart"), readonly=True)


@pytest.mark.parametrize("size", SIZES)
async def test_readonly_takes_away_every_key_that_writes_and_says_so(
    tmp_path: Path, size: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    files = set(tmp_path.iterdir())
    async with hosted(tmp_path, size, goal=readonly(tmp_path)) as (app, pilot):
        start = training()
        await app.deliver(pilot, replace(start, events=(*start.events, Stamped(999.0, SPIKE))))
        assert "read only" in app.texts["status"]
        assert "stop…" not in app.texts["keys"] and "export" not in app.texts["keys"]
        for key in ("x", "P", "C", "E", "r", "e"):
            await pilot.press(key)
            assert app.screen is app.dashboard and "--readonly" in app.texts["keys"], key
        await pilot.press("w")
        assert "no key writes a file" in app.texts["keys"], "nor is it said what w would write"
        await pilot.press("c")
        assert "into no file" in app.texts["keys"] and app.clipboard
        await pilot.press("5", "5", "a", "w")
        assert app.screen is app.dashboard and "no key writes a file" in app.texts["keys"]
        await pilot.press("ctrl+c")
        assert isinstance(app.screen, Confirm) and "Stop the run" not in " ".join(screen_text(app))
        await pilot.press("escape")
    assert set(tmp_path.iterdir()) == files


async def test_the_help_page_of_a_readonly_dashboard_has_no_key_that_writes(tmp_path: Path) -> None:
    async with hosted(tmp_path, (100, 80), goal=readonly(tmp_path)) as (app, pilot):
        await pilot.press("question_mark")
        assert isinstance(app.screen, HelpScreen)
        page = " ".join(screen_text(app))
        writing = [entry.help for entry in keys_of("dashboard") if entry.needs in ("control", "files") and entry.shown]
        assert len(writing) == 6 and not any(text[:40] in page for text in writing)
        assert "look at the data" in page


async def test_esc_with_nothing_left_to_leave_goes_back_to_where_the_run_was_chosen(tmp_path: Path) -> None:
    back = ListRuns(None)
    goal = AttachTo(LocalRun(RunDir(tmp_path), "quickstart"), back=back)
    async with hosted(tmp_path, goal=goal) as (app, pilot):
        await app.deliver(pilot, training())
        await pilot.press("left", "escape")
        assert app.return_value is None, "first the cursor goes"
        await pilot.press("escape")
    assert app.return_value is not None and app.return_value.next == back


async def test_esc_leaves_a_dashboard_that_was_opened_by_itself_open(tmp_path: Path) -> None:
    async with hosted(tmp_path) as (app, pilot):
        await app.deliver(pilot, training())
        await pilot.press("escape", "escape")
        assert app.return_value is None and app.screen is app.dashboard


async def test_the_profile_of_a_readonly_dashboard_writes_measures_and_starts_nothing(tmp_path: Path) -> None:
    RunDir(tmp_path).config_yaml.write_text((ROOT / "configs" / "quickstart.yaml").read_text())
    async with hosted(tmp_path, goal=readonly(tmp_path)) as (app, pilot):
        await app.deliver(pilot, training())
        await pilot.press("p")
        screen = app.screen
        assert isinstance(screen, ProfileScreen)
        for key in ("w", "m", "S"):
            await pilot.press(key)
            assert app.screen is screen and "--readonly" in " ".join(screen_text(app)), key
            screen.key_bar.quiet()
            await pilot.pause()
            assert "write YAML" not in screen_text(app)[-1]
    assert {path.name for path in tmp_path.iterdir()} == {"config.yaml"}

"""What the keys of the profile screen do."""

from pathlib import Path

from textual.pilot import Pilot
from textual.widgets import Input

from engine.config import load_config
from pgs_tui.goals import StartConfig
from screens.dialogs.choose import Choose
from screens.dialogs.help import HelpScreen
from screens.profile.screen import ProfileScreen
from tests.screens.hosting import screen_text
from tests.screens.inspecting import until
from tests.screens.profiling import A100, CONFIG, profiling, row_of, settled, texts


async def write(pilot: Pilot, text: str) -> None:
    """Write this in the line that has been opened."""
    await until(pilot, lambda: pilot.app.screen.query(Input))
    pilot.app.screen.query_one(Input).value = text
    await pilot.press("enter")
    await pilot.pause()


async def go_to(screen: ProfileScreen, pilot: Pilot, name: str) -> None:
    """Mark the setting of this name."""
    screen.settings.select([row.name for row in screen.settings.rows].index(name))
    await pilot.pause()


async def test_the_bars_follow_the_arrow_keys_and_u_leads_back(here: Path) -> None:
    async with profiling(here) as (screen, pilot):
        before = texts(screen)["components"]
        await pilot.press("end", "home", "down", "right", "l")
        await settled(screen, pilot)
        assert "* batch" in row_of(screen, "batch") and "4" in row_of(screen, "batch")
        assert "was 2" in row_of(screen, "batch") and "1 changed" in texts(screen)["settings"]
        assert "8 192 tokens a step" in texts(screen)["work"] and texts(screen)["components"] != before
        await pilot.press("u", "u", "u")
        await settled(screen, pilot)
        assert "*" not in texts(screen)["settings"] and texts(screen)["components"] == before
        assert "there is nothing to take back" in texts(screen)["keys"]


async def test_every_kind_of_setting_goes_both_ways(here: Path) -> None:
    async with profiling(here) as (screen, pilot):
        for name, key, after in (
            ("length", "left", "1 536"),
            ("optimizer", "right", "adamw"),
            ("checkpointing", "left", "none"),
            ("release", "right", "off"),
            ("layer slices", "left", "1"),
            ("GPU", "right", "RTX 4090"),
        ):
            await go_to(screen, pilot, name)
            await pilot.press(key)
            await settled(screen, pilot)
            assert after in row_of(screen, name), name
        assert "that is the smallest value" not in texts(screen)["room"]
        assert "RTX 4090" in texts(screen)["status"]
        await pilot.press("r")
        await settled(screen, pilot)
        assert "changed" not in texts(screen)["settings"] and "A100-SXM4" in row_of(screen, "GPU")


async def test_enter_chooses_a_value_or_has_it_written(here: Path) -> None:
    async with profiling(here) as (screen, pilot):
        await go_to(screen, pilot, "optimizer")
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(pilot.app.screen, Choose))
        await pilot.press("up", "up", "enter")
        await settled(screen, pilot)
        assert "adamw8bit" in row_of(screen, "optimizer")
        await go_to(screen, pilot, "compile")
        await pilot.press("enter")
        await settled(screen, pilot)
        assert "off" in row_of(screen, "compile")
        await go_to(screen, pilot, "length")
        for written, said in (("5000", ""), ("many", "takes a whole number of at least 2"), ("1", "at least 2")):
            await pilot.press("enter")
            await write(pilot, written)
            assert said in texts(screen)["keys"]
        await settled(screen, pilot)
        assert "5 000" in row_of(screen, "length")


async def test_enter_on_the_gpu_lists_them_and_takes_a_size(here: Path) -> None:
    async with profiling(here) as (screen, pilot):
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(pilot.app.screen, Choose))
        shown = "\n".join(screen_text(screen.app))
        assert "this machine's" in shown and "139.8 GiB" in shown
        await pilot.press("end", "enter")
        await write(pilot, "no size")
        assert "is a number of GiB" in texts(screen)["keys"]
        await pilot.press("enter", "end", "enter")
        await write(pilot, "12 GiB")
        await settled(screen, pilot)
        assert "12 GiB" in row_of(screen, "GPU") and "✖ does not fit" in texts(screen)["status"]
        await pilot.press("right")
        await settled(screen, pilot)
        assert "✔ fits" in texts(screen)["status"]


async def test_an_invalid_combination_says_why_and_the_last_good_picture_stays(here: Path) -> None:
    async with profiling(here) as (screen, pilot):
        await go_to(screen, pilot, "float8")
        await pilot.press("right", "down", "right")
        await until(pilot, lambda: screen.profiling.problem)
        await pilot.pause()
        shown = texts(screen)
        assert "✖ memory.float8_training: pays with model.compile alone; set model.compile: true" in shown["room"]
        assert "✖ not possible" in shown["status"] and "7.83" in shown["components"]
        await pilot.press("u")
        await settled(screen, pilot)
        assert "✔ fits" in texts(screen)["room"] and not screen.profiling.problem


async def test_a_digit_makes_a_change_that_would_help(here: Path) -> None:
    async with profiling(here) as (screen, pilot):
        await until(pilot, lambda: screen.profiling.advice)
        await pilot.press("3")
        assert "there is no such change" in texts(screen)["keys"], "two are offered"
        await pilot.press("1")
        await settled(screen, pilot)
        assert "4" in row_of(screen, "layer slices") and "was 1" in row_of(screen, "layer slices")
        await pilot.press("u")
        await until(pilot, lambda: screen.profiling.advice and not screen.profiling.lacks_advice)
        await pilot.press("shift+tab", "shift+tab", "down", "enter")
        await settled(screen, pilot)
        assert "2" in row_of(screen, "layer slices")
        await pilot.press("escape")
        assert screen.focused is screen.settings


async def test_w_writes_a_new_file_that_keeps_the_comments_and_the_old_one(here: Path) -> None:
    async with profiling(here, overrides=("--train.epochs", "3")) as (screen, pilot):
        await go_to(screen, pilot, "batch")
        await pilot.press("right", "w")
        await until(pilot, lambda: pilot.app.screen.query(Input))
        assert pilot.app.screen.query_one(Input).value.endswith("try-2.yaml")
        await pilot.press("enter")
        await until(pilot, lambda: "Written:" in "\n".join(screen_text(screen.app)))
        await pilot.press("enter")
        assert (here / "try.yaml").read_text() == CONFIG
        text = (here / "try-2.yaml").read_text()
        assert "# Comments stay." in text and "per_device_batch_size: 3  # lines" in text
        loaded = load_config(here / "try-2.yaml", check_files=False).config
        assert loaded.train.epochs == 3 and loaded.train.per_device_batch_size == 3
        await settled(screen, pilot)
        assert "try-2" in texts(screen)["status"] and "changed" not in texts(screen)["settings"]
        await pilot.press("w")
        assert "nothing is changed yet" in texts(screen)["keys"]


async def test_a_file_that_is_there_is_not_written_over_unasked(here: Path) -> None:
    async with profiling(here) as (screen, pilot):
        await go_to(screen, pilot, "batch")
        for answer in ("escape", "enter"):
            await pilot.press("right", "w")
            await write(pilot, str(here / "try.yaml"))
            await until(pilot, lambda: "exists already" in "\n".join(screen_text(screen.app)))
            await pilot.press(answer)
            await pilot.pause()
            assert ((here / "try.yaml").read_text() == CONFIG) == (answer == "escape")
        await pilot.press("enter")
        await settled(screen, pilot)
        await pilot.press("right", "w")
        await write(pilot, str(here / "no such folder" / "x.yaml"))
        assert "not written: " in texts(screen)["keys"]


async def test_m_measures_and_shows_the_truth_beside_the_estimate(here: Path) -> None:
    async with profiling(here) as (screen, pilot):
        await pilot.press("m")
        await until(pilot, lambda: "Take a few real steps" in "\n".join(screen_text(screen.app)))
        await pilot.press("enter")
        await until(pilot, lambda: "measured" in texts(screen)["components"])
        await settled(screen, pilot)
        shown = texts(screen)["components"]
        assert "peak 15.10 measured +2.1 %" in shown and "reserved 15.90 measured" in shown
        assert "3.90" in shown and "+1.3 %" in shown, "by which share the estimate of a component is off"
        await go_to(screen, pilot, "batch")
        await pilot.press("right")
        await settled(screen, pilot)
        assert "measured" not in texts(screen)["components"], "that was measured for other values"


async def test_a_measurement_can_be_stopped_and_may_fail(here: Path) -> None:
    async with profiling(here, *A100, "--measures", "running") as (screen, pilot):
        await pilot.press("m", "enter")
        await until(pilot, lambda: screen.profiling.measurement.is_running and "Esc stops it" in texts(screen)["room"])
        assert "◐ measuring" in texts(screen)["status"]
        await pilot.press("escape")
        await until(pilot, lambda: "the measurement was stopped" in texts(screen)["keys"])
        assert "✔ fits" in texts(screen)["status"]


async def test_a_measurement_that_is_refused_says_why(here: Path) -> None:
    async with profiling(here, "--slow", "nothing", "0", size=(60, 15)) as (screen, pilot):
        await pilot.press("m")
        await until(pilot, lambda: "Leave it" in "\n".join(screen_text(screen.app)))
        await pilot.press("enter")
        await until(pilot, lambda: "--measure needs a GPU; there is none" in texts(screen)["keys"])
        assert not screen.profiling.measurement.is_running


async def test_S_starts_it_with_the_changes_after_a_question(here: Path) -> None:  # noqa: N802
    async with profiling(here, overrides=("--train.epochs=3",)) as (screen, pilot):
        await go_to(screen, pilot, "release")
        await pilot.press("right", "S")
        await until(pilot, lambda: "memory.gradient_release off" in "\n".join(screen_text(screen.app)))
        await pilot.press("escape", "S")
        await until(pilot, lambda: "Start training" in "\n".join(screen_text(screen.app)))
        await pilot.press("enter")
        await until(pilot, lambda: screen.app.return_value is not None)
        overrides = ("--train.epochs=3", "--memory.gradient_release", "false")
        assert screen.app.return_value.next == StartConfig(here / "try.yaml", overrides, "try")


async def test_the_assumptions_can_be_read_and_settings_filtered(here: Path) -> None:
    async with profiling(here, size=(80, 24)) as (screen, pilot):
        await pilot.press("a")
        await until(pilot, lambda: "compiled layers keep 0.58" in "\n".join(screen_text(screen.app)))
        await pilot.press("escape", "slash")
        await write(pilot, "slices")
        assert [row.name for row in screen.settings.rows] == ["layer slices"]
        await pilot.press("right")
        await settled(screen, pilot)
        assert "‹ 2 ›" in texts(screen)["settings"]
        await pilot.press("slash")
        await write(pilot, "nothing like it")
        assert "no setting has these words" in texts(screen)["keys"]
        await pilot.press("right", "enter", "escape")
        assert len(screen.settings.rows) > 10


async def test_help_lists_the_keys_of_this_screen(here: Path) -> None:
    async with profiling(here) as (screen, pilot):
        await pilot.press("question_mark")
        await until(pilot, lambda: isinstance(pilot.app.screen, HelpScreen))
        assert "write the changes to a new YAML file" in "\n".join(screen_text(screen.app))
        await pilot.press("escape", "q")
        await until(pilot, lambda: screen.app.return_value is not None)
        assert screen.app.return_value.exit_code == 0


async def test_a_key_that_is_held_down_is_followed_and_never_overtaken(here: Path) -> None:
    async with profiling(here, *A100, "--slow", "estimate", "0.03") as (screen, pilot):
        await go_to(screen, pilot, "batch")
        await pilot.press(*["right"] * 6)
        await settled(screen, pilot)
        assert "16" in row_of(screen, "batch") and f"{16 * 2048:,}".replace(",", " ") in texts(screen)["work"]


async def test_keys_that_are_pressed_before_the_first_answer_harm_nothing(here: Path) -> None:
    async with profiling(here, *A100, "--slow", "gpus", "0.3", wait=False) as (screen, pilot):
        await pilot.press("right", "enter", "1", "u", "r", "m", "w", "S", "a", "tab", "c", "escape")
        await settled(screen, pilot)
        assert "✔ fits" in texts(screen)["status"]

"""The picker: what its keys do."""

import time
from pathlib import Path

import pytest
from textual.pilot import Pilot
from textual.widgets import Input

from engine.events import End, ModelInfo, Start
from engine.events.codec import encode
from engine.rundir import create_run_dir, register_run, this_process, write_run_info
from pgs_tui.apps.themed import Goodbye
from pgs_tui.goals import StartConfig
from screens.dialogs.text_page import TextPage
from tests.pgs_tui.making import step
from tests.screens.hosting import screen_text
from tests.screens.inspecting import until
from tests.screens.picking import is_settled, picker, texts, write_config, write_folder


async def page(pilot: Pilot[Goodbye]) -> str:
    """What the page in front says, once it is there."""
    await until(pilot, lambda: isinstance(pilot.app.screen, TextPage) and "Esc closes" in shown(pilot))
    return shown(pilot)


def shown(pilot: Pilot[Goodbye]) -> str:
    """What the terminal shows."""
    return "\n".join(screen_text(pilot.app))


async def write_filter(pilot: Pilot, written: str) -> None:
    await pilot.press("slash")
    pilot.app.screen.query_one(Input).value = written
    await pilot.press("enter")
    await pilot.pause()


async def test_enter_starts_the_selected_config(here: Path) -> None:
    write_folder(here)
    async with picker(here) as (screen, pilot):
        await pilot.press("enter")
        await until(pilot, lambda: screen.app.return_value)
        assert screen.app.return_value.next == StartConfig(here / "try.yaml", (), "try")


async def test_before_a_config_that_does_not_fit_is_started_that_is_said(here: Path) -> None:
    write_folder(here)
    async with picker(here) as (screen, pilot):
        await pilot.press("down", "down", "enter")
        await until(pilot, lambda: "does not fit: 22.9 GiB too much" in shown(pilot) and "Stay here" in shown(pilot))
        await pilot.press("escape")
        assert screen.app.return_value is None
        await pilot.press("enter")
        await until(pilot, lambda: "Stay here" in shown(pilot))
        await pilot.press("down", "enter")
        await until(pilot, lambda: screen.app.return_value)
        assert screen.app.return_value.next == StartConfig(here / "configs/qwen/large.yaml", (), "qwen/large")


async def test_a_config_whose_memory_is_not_known_yet_waits_for_that_and_starts_by_itself(here: Path) -> None:
    write_config(here / "try.yaml")
    async with picker(here, "--slow", "estimate", "0.4", settled=False) as (screen, pilot):
        await until(pilot, lambda: screen.list.entry)
        await pilot.press("enter")
        await until(pilot, lambda: "seeing whether it fits" in texts(screen)["keys"])
        assert screen.app.return_value is None
        await until(pilot, lambda: screen.app.return_value)
        assert screen.app.return_value.next == StartConfig(here / "try.yaml", (), "try")


async def test_a_config_that_turns_out_not_to_fit_is_asked_about(here: Path) -> None:
    write_config(here / "large.yaml")
    async with picker(here, "--slow", "estimate", "0.4", settled=False) as (screen, pilot):
        await until(pilot, lambda: screen.list.entry)
        await pilot.press("enter")
        await until(pilot, lambda: "does not fit: 22.9 GiB too much" in shown(pilot) and "Stay here" in shown(pilot))
        assert screen.app.return_value is None


async def test_while_a_config_waits_enter_starts_it_and_esc_does_not(here: Path) -> None:
    write_config(here / "large.yaml")
    async with picker(here, "--slow", "estimate", "60", settled=False) as (screen, pilot):
        await until(pilot, lambda: screen.list.entry)
        for key in ("escape", "question_mark"):
            await pilot.press("enter", key)
            await until(pilot, lambda: screen.waiting is None)
            await pilot.press("escape")
            await until(pilot, lambda: screen.is_current)
        assert screen.app.return_value is None
        await pilot.press("enter", "enter")
        await until(pilot, lambda: screen.app.return_value)
        assert screen.app.return_value.next == StartConfig(here / "large.yaml", (), "large")


async def test_without_a_gpu_it_asks_before_main_memory_is_used_up(here: Path) -> None:
    write_folder(here)
    answers = {"try": {"total": 0.1}, "large": {"total": 1e6}}
    async with picker(here, "--no-gpu", answers=answers) as (screen, pilot):
        await pilot.press("down", "down", "enter")
        await until(pilot, lambda: "there is no GPU here" in shown(pilot) and "Stay here" in shown(pilot))
        await pilot.press("escape", "home", "enter")
        await until(pilot, lambda: screen.app.return_value)
        assert screen.app.return_value.next == StartConfig(here / "try.yaml", (), "try")


async def test_enter_on_an_invalid_config_shows_all_that_is_wrong(here: Path) -> None:
    write_config(here / "a.yaml", more="  learning_rat: 1\n  optimiser: lion\n")
    async with picker(here) as (screen, pilot):
        for key in ("enter", "p", "i"):
            await pilot.press(key)
            told = await page(pilot)
            assert "train.learning_rat" in told and "did you mean train.optimizer?" in told
            await pilot.press("down", "up", "escape")
            await until(pilot, lambda: screen.app.screen is screen)
        assert screen.app.return_value is None


async def test_e_on_the_errors_opens_the_editor(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VISUAL", "no-such-editor")
    write_config(here / "a.yaml", more="  learning_rat: 1\n")
    async with picker(here) as (screen, pilot):
        await pilot.press("enter")
        assert "e edits it" in await page(pilot)
        await pilot.press("e")
        await until(pilot, lambda: "VISUAL names no-such-editor, which is not there" in texts(screen)["keys"])


async def test_q_leaves(here: Path) -> None:
    async with picker(here) as (screen, pilot):
        await pilot.press("q")
        await until(pilot, lambda: screen.app.return_value)
        assert (screen.app.return_value.exit_code, screen.app.return_value.next) == (0, None)


async def test_a_config_that_changed_after_it_was_listed_is_not_started_unread(here: Path) -> None:
    path = write_config(here / "a.yaml")
    async with picker(here) as (_, pilot):
        path.write_text(path.read_text().replace("max_seq_length", "max_length"))
        await pilot.press("enter")
        assert "data.max_length: unknown key" in await page(pilot)


FILTERS = {
    "mixers": ["qwen/mixers"],
    "QWEN fits": ["qwen/mixers", "qwen/small"],
    "does not fit": ["qwen/large"],
    "invalid": ["broken.yaml", "typo"],
    "smollm": ["try.yaml"],
    "": ["try.yaml", "broken.yaml", "qwen/large", "qwen/mixers", "qwen/small", "typo"],
}


async def test_the_filter(here: Path) -> None:
    write_folder(here)
    answers = {"small": {"total": 14.2}, "large": {"total": 61.5}, "mixers": {"total": 30.4}}
    async with picker(here, answers=answers) as (screen, pilot):
        for written, names in FILTERS.items():
            await write_filter(pilot, written)
            assert [entry.shown for entry in screen.list.entries] == names
        await pilot.press("escape")
        assert len(screen.list.entries) == 6


async def test_a_filter_that_nothing_has_says_so(here: Path) -> None:
    write_folder(here)
    async with picker(here) as (screen, pilot):
        await write_filter(pilot, "atlantis")
        assert "no config has atlantis; Esc shows all" in texts(screen)["configs"]
        await pilot.press("enter", "m", "e", "down")


async def test_two_marked_configs_are_compared(here: Path) -> None:
    write_folder(here)
    async with picker(here, size=(120, 40)) as (screen, pilot):
        await pilot.press("end", "up", "m")
        assert "◆ qwen/small" in texts(screen)["configs"]
        await pilot.press("up", "up", "m")
        told = await page(pilot)
        assert "qwen/large takes 47.3 GiB more" in told
        for row in ("data.max_seq_length", "train.per_device_batch_size", "train.optimizer"):
            assert row in told
        assert "2048" in told and "8192" in told and "lion8bit" in told
        assert "does not fit" in told and "14.2 GiB" in told and "61.5 GiB" in told
        await pilot.press("escape")
        assert screen.list.marked is None


async def test_a_mark_is_taken_off_again_and_invalid_ones_get_none(here: Path) -> None:
    write_folder(here)
    async with picker(here) as (screen, pilot):
        await pilot.press("m", "m")
        assert screen.list.marked is None and "◆" not in texts(screen)["configs"]
        await pilot.press("m", "escape")
        assert screen.list.marked is None
        await pilot.press("end", "m")
        assert "only a valid config can be compared" in texts(screen)["keys"]


async def test_the_selected_config_stays_selected_while_others_come(here: Path) -> None:
    write_folder(here)
    async with picker(here) as (screen, pilot):
        await pilot.press("end")
        write_config(here / "configs" / "aaa.yaml")
        await pilot.press("r")
        await until(pilot, lambda: "aaa" in texts(screen)["configs"])
        assert screen.list.entry and screen.list.entry.shown == "typo"


async def test_a_config_that_is_gone_after_a_rescan_is_gone_from_the_list(here: Path) -> None:
    write_folder(here)
    async with picker(here) as (screen, pilot):
        (here / "try.yaml").unlink()
        await pilot.press("r")
        await until(pilot, lambda: screen.picking.searched and "try.yaml" not in texts(screen)["configs"])
        assert screen.list.entry is not None


async def test_the_last_run_of_a_config_is_told(here: Path) -> None:
    path = write_config(here / "a.yaml")
    run = create_run_dir(here / "runs", "a")
    register_run(run, "a", time.time() - 7300)
    write_run_info(run, this_process(run, "a"))
    model = ModelInfo(name="m", params=1, trainable=1)
    start = Start(
        run=run.id, command=f"pgs train --config {path}", config="a", model=model, device="cpu", total_steps=9
    )
    end = End(status="finished", reason="all steps done", exit_code=0, last_step=9)
    now = time.time()
    run.events.write_text("".join(encode(event, now) + "\n" for event in (start, step(9, 1.92), end)))
    async with picker(here) as (screen, _):
        assert "✔ 2 h ago" in texts(screen)["configs"] and "1.92" in texts(screen)["configs"]
        assert "finished: step 9 of 9, loss 1.92" in texts(screen)["details"]
        assert len(screen.list.entries) == 1, "the run's own config is no config to choose"


async def test_a_run_that_goes_on_is_followed(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("screens.picker.screen.LOOK_SECONDS", 0.1)
    write_config(here / "a.yaml")
    run = create_run_dir(here / "runs", "a")
    register_run(run, "a", time.time())
    write_run_info(run, this_process(run, "a"))
    run.events.write_text(encode(step(7), time.time()) + "\n")
    async with picker(here) as (screen, pilot):
        await until(pilot, lambda: "● is going: step 7" in texts(screen)["details"])
        with run.events.open("a") as log:
            log.write(encode(step(8), time.time()) + "\n")
        await until(pilot, lambda: "● is going: step 8" in texts(screen)["details"])


async def test_tab_goes_to_the_details_which_scroll(here: Path) -> None:
    write_config(here / "a.yaml", more="".join(f"  wrong_{number}: 1\n" for number in range(30)))
    async with picker(here, size=(80, 24)) as (screen, pilot):
        await pilot.press("tab")
        assert screen.focused is screen.details
        first = texts(screen)["details"]
        await pilot.press("end")
        assert texts(screen)["details"] != first and "wrong_29" in texts(screen)["details"]
        await pilot.press("home")
        assert texts(screen)["details"] == first
        await pilot.press("escape")
        assert screen.focused is screen.list


async def test_copy_takes_the_list(here: Path, tmp_path: Path) -> None:
    write_folder(here)
    async with picker(here) as (_, pilot):
        await pilot.press("c")
        await pilot.pause()
    assert "qwen/large" in (tmp_path / "state" / "pgs-tui" / "copied.txt").read_text()


async def test_help_names_the_keys(here: Path) -> None:
    async with picker(here, size=(100, 50)) as (screen, pilot):
        await pilot.press("question_mark")
        await pilot.pause()
        assert "$EDITOR" in "\n".join(screen_text(screen.app))


async def test_inspect_opens_above_and_comes_back(here: Path) -> None:
    write_config(here / "a.yaml")
    async with picker(here) as (screen, pilot):
        await pilot.press("i")
        await until(pilot, lambda: screen.app.screen is not screen)
        assert "starting the inspector" in "\n".join(screen_text(screen.app))
        await pilot.press("escape")
        await until(pilot, lambda: screen.app.screen is screen)


async def test_profile_opens_above_and_a_config_written_there_is_listed(here: Path) -> None:
    write_config(here / "a.yaml")
    async with picker(here) as (screen, pilot):
        await pilot.press("p")
        await until(pilot, lambda: screen.app.screen is not screen)
        write_config(here / "a-2.yaml", batch=1)
        await pilot.press("escape")
        await until(pilot, lambda: screen.app.screen is screen and "a-2.yaml" in texts(screen)["configs"])


async def test_another_gpu_can_be_chosen_to_hold_them_against(here: Path) -> None:
    write_folder(here)
    async with picker(here) as (screen, pilot):
        await pilot.press("v")
        await until(pilot, lambda: "RTX 4090" in shown(pilot))
        await pilot.press("down", "enter")
        await until(pilot, lambda: "RTX 4090 · 23.6 of 23.6 GiB free" in texts(screen)["status"])
        await until(pilot, lambda: texts(screen)["configs"].count("does not fit") == 2)


async def test_a_config_of_the_program_is_not_edited(here: Path) -> None:
    write_config(here / "none" / "a.yaml")
    async with picker(here) as (screen, pilot):
        await pilot.press("e")
        assert "this config comes with the program" in texts(screen)["keys"]


async def test_a_second_search_leaves_the_list_until_it_is_done(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_folder(here)
    async with picker(here) as (screen, pilot):
        monkeypatch.setattr("screens.picker.picking.BATCH_SECONDS", 0.0)  # each config comes by itself
        await pilot.press("end")
        await pilot.press("r")
        await until(pilot, lambda: is_settled(screen))
        assert screen.list.entry and screen.list.entry.shown == "typo"
        assert len(screen.list.entries) == 6

"""The inspect screen: what it shows."""

import os
import signal
from pathlib import Path

import pytest

from pgs_tui.appearance.look import Look
from tests.screens.hosting import screen_text
from tests.screens.inspecting import CHATS, fake, inspecting, texts, until


async def test_rows_sample_and_audit_are_shown(tmp_path: Path) -> None:
    async with inspecting(tmp_path) as (screen, _):
        shown = texts(screen)
        assert "capitals" in shown["status"] and "6 rows · limit 1 000 tokens" in shown["status"]
        assert "› " in shown["rows"] and "Capital of Peru?" in shown["rows"]
        assert "row 0  data/rows.jsonl:1" in shown["sample"]
        assert "┃ Lima<|im_end|>" in shown["sample"] and "turn 2" in shown["sample"]
        assert "┃ Capital of Peru?" not in shown["sample"]
        assert "✔ 6 rows" in shown["audit"] and "EMPTY_ANSWER" in shown["audit"] and "90 %" in shown["audit"]


async def test_it_shows_itself_before_the_inspector_is_there(tmp_path: Path) -> None:
    async with inspecting(tmp_path, None, "--slow", "hello", "60", settled=False) as (screen, _):
        shown = texts(screen)
        assert "○ starting the inspector" in shown["status"]
        assert "the inspector is starting" in shown["rows"]
        assert "waiting for the first row" in shown["sample"]


async def test_a_row_that_cannot_be_used_says_why(tmp_path: Path) -> None:
    async with inspecting(tmp_path) as (screen, pilot):
        await pilot.press("down", "down", "down", "down")
        await until(pilot, lambda: "UNKNOWN_SCHEMA" in texts(screen)["sample"])
        assert "found only 'body'" in texts(screen)["sample"]


async def test_a_row_that_is_not_there_leads_to_the_last_one(tmp_path: Path) -> None:
    async with inspecting(tmp_path, row=77) as (screen, _):
        assert "there is no row 77; this is the last one" in texts(screen)["keys"]
        assert "row 5" in texts(screen)["sample"]


async def test_no_rows_at_all(tmp_path: Path) -> None:
    async with inspecting(tmp_path, [], settled=False) as (screen, pilot):
        await until(pilot, lambda: "there are no rows" in texts(screen)["rows"])
        await pilot.press("down", "enter", "right", "e", "t", "o", "f", "escape")
        assert "no row is selected" in texts(screen)["sample"]


async def test_the_death_of_the_inspector_is_told_in_one_sentence(tmp_path: Path) -> None:
    async with inspecting(tmp_path, None, "--die-after", "8", "--exit", "9", settled=False) as (screen, pilot):
        for key in ("down", "up") * 10:
            await pilot.press(key)
        await until(pilot, lambda: screen.inspecting.ended)
        await pilot.pause()
        assert "the inspector ended with exit code 9 without a word" in texts(screen)["sample"].replace("\n", " ")
        assert "✖ the inspector ended" in texts(screen)["status"]
        await pilot.press("down", "enter", "right", "slash", "escape", "escape")


async def test_a_config_that_is_refused_ends_the_program_with_the_reason(tmp_path: Path) -> None:
    options = ("--die-after", "0", "--say", "pgs: c.yaml, line 3: no such key", "--exit", "2")
    async with inspecting(tmp_path, None, *options, settled=False) as (screen, pilot):
        await until(pilot, lambda: screen.app.return_value is not None)
        goodbye = screen.app.return_value
        assert (goodbye.exit_code, goodbye.refused) == (2, "pgs: c.yaml, line 3: no such key")


async def test_an_inspector_that_cannot_be_started_is_told(tmp_path: Path) -> None:
    async with inspecting(tmp_path, command=(str(tmp_path / "nothing"),), settled=False) as (screen, pilot):
        await pilot.pause(0.1)
        assert "the inspector cannot be started" in texts(screen)["sample"]


@pytest.mark.parametrize("size", [(60, 15), (80, 24), (120, 36), (200, 50)])
async def test_every_size_shows_the_rows_and_a_way_to_the_sample(tmp_path: Path, size: tuple[int, int]) -> None:
    async with inspecting(tmp_path, size=size) as (screen, pilot):
        assert "Capital" in "\n".join(screen_text(screen.app))
        await pilot.press("enter", "e")
        shown = "\n".join(screen_text(screen.app))
        assert "Lima<|im_end|>" in shown and "┃ trained" in shown
        assert all(len(row) <= size[0] for row in screen_text(screen.app))


async def test_any_size_is_survived_and_the_selection_kept(tmp_path: Path) -> None:
    rows = [*CHATS, {"turns": [["user", "word " * 40_000], ["assistant", "ok"]]}]
    async with inspecting(tmp_path, rows, size=(80, 24), row=6) as (screen, pilot):
        await pilot.press("enter", "e")
        cursor = screen.view.reader.cursor
        for size in ((20, 5), (1, 1), (200, 2), (2, 60), (3, 3), (80, 24)):
            await pilot.resize_terminal(*size)
            await pilot.pause()
        assert screen.rows.selected == 6
        assert screen.view.reader.cursor == cursor
        assert "ok<|im_end|>" in texts(screen)["sample"]


async def test_ascii_only_terminals_get_ascii_only(tmp_path: Path) -> None:
    rows = [{"turns": [["user", "漢字 é\u200b"], ["assistant", "ja\n"]]}]
    async with inspecting(tmp_path, rows, look=Look(glyphs="ascii", ascii_only=True)) as (screen, pilot):
        await pilot.press("enter", "t", "g")
        assert all(row.isascii() for row in screen_text(screen.app))
        assert "<U+200B>" in "\n".join(screen_text(screen.app)).replace("\n", "")


async def test_hostile_text_is_shown_and_not_executed(tmp_path: Path) -> None:
    texts_shown = [
        "see [/] here",
        "[@click=app.bell]tap[/]",
        "\x1b[31mred\x1b[0m",
        "x\u202ey",
        "\\[x]",
        "[link=http://x]y",
    ]
    rows = [{"turns": [["user", text], ["assistant", text]], "flags": [text[:20]]} for text in texts_shown]
    async with inspecting(tmp_path, rows) as (screen, pilot):
        for text in texts_shown:
            wanted = text.replace("\x1b", "‹ESC›").replace("\u202e", "‹U+202E›")
            await until(pilot, lambda wanted=wanted: f"┃ {wanted}<|im_end|>" in texts(screen)["sample"])
            assert wanted[:8] in texts(screen)["rows"]
            assert "\x1b" not in "".join(screen_text(screen.app))
            await pilot.press("down")


async def test_blanks_that_would_not_be_noticed_have_a_sign(tmp_path: Path) -> None:
    rows = [{"turns": [["user", "one two  three\n  four \nfive"], ["assistant", "a\n\n b"]]}]
    async with inspecting(tmp_path, rows) as (screen, _):
        shown = texts(screen)["sample"]
        for line in ("one two··three⏎", "··four·⏎", "┃ a⏎", "┃ ⏎", "┃ ·b<|im_end|>"):
            assert line in shown


async def test_a_slow_inspector_never_shows_an_old_row_for_the_selected_one(tmp_path: Path) -> None:
    async with inspecting(tmp_path, None, "--slow", "sample", "0.1") as (screen, pilot):
        await pilot.press("down", "down", "down", "down", "down")
        await until(pilot, lambda: screen.view.reader and screen.view.reader.sample.row == 5)
        await pilot.pause(0.3)
        assert screen.view.reader.sample.row == 5


async def test_the_process_is_gone_with_the_screen(tmp_path: Path) -> None:
    import psutil

    async with inspecting(tmp_path, command=fake(tmp_path, CHATS)) as (screen, _):
        process = psutil.Process(screen.inspecting.pid)
        assert process.is_running()
    process.wait(10)


async def test_how_far_the_data_is_read_is_shown(tmp_path: Path) -> None:
    options = ("--slow", "hello", "1.5", "--opening", "reading data", "1200000", "4000000")
    async with inspecting(tmp_path, None, *options, settled=False) as (screen, pilot):
        await until(pilot, lambda: "reading data" in texts(screen)["rows"])
        await pilot.pause()
        shown = texts(screen)
        assert "30 %" in shown["rows"] and "1.2 of 4.0 MB" in shown["rows"]
        assert "reading data 30 %" in shown["status"]
        await until(pilot, lambda: "Capital of Peru?" in texts(screen)["rows"])


async def test_keys_that_are_pressed_before_the_first_answer_count(tmp_path: Path) -> None:
    async with inspecting(tmp_path, None, "--slow", "hello", "0.5", settled=False) as (screen, pilot):
        await pilot.press("down", "down", "down", "enter", "e", "right")
        await until(pilot, lambda: "row 3" in texts(screen)["sample"])
        await until(pilot, lambda: "<|im_end|>" in texts(screen)["token"])
        assert screen.rows.selected == 3 and screen.view.has_focus


async def test_end_before_the_first_answer_leads_to_the_last_row(tmp_path: Path) -> None:
    async with inspecting(tmp_path, None, "--slow", "hello", "0.5", settled=False) as (screen, pilot):
        await pilot.press("end")
        await until(pilot, lambda: "row 5" in texts(screen)["sample"])
        assert screen.rows.selected == 5


async def test_s_starts_an_inspector_again_that_has_ended(tmp_path: Path) -> None:
    async with inspecting(tmp_path) as (screen, pilot):
        await pilot.press("down", "down", "down")
        await until(pilot, lambda: "row 3" in texts(screen)["sample"])
        killed = screen.inspecting.pid
        assert killed is not None
        os.kill(killed, signal.SIGKILL)
        await until(pilot, lambda: "s starts it again" in texts(screen)["sample"])
        await pilot.press("s")
        await until(pilot, lambda: "row 3" in texts(screen)["sample"] and "audited" in texts(screen)["status"])
        assert screen.inspecting.pid != killed and screen.rows.selected == 3

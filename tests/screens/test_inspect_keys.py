"""What the keys of the inspect screen do."""

import json
from pathlib import Path

import pytest
from textual.widgets import Input

from screens.dialogs.help import HelpScreen
from tests.screens.hosting import screen_text
from tests.screens.inspecting import CHATS, inspecting, texts, until


async def write_filter(pilot, written: str) -> None:
    await pilot.press("slash")
    pilot.app.screen.query_one(Input).value = written
    await pilot.press("enter")


async def test_down_and_up_show_the_sample_of_the_row(tmp_path: Path) -> None:
    async with inspecting(tmp_path) as (screen, pilot):
        await pilot.press("down")
        await until(pilot, lambda: "Havana" in texts(screen)["sample"])
        await pilot.press("k")
        await until(pilot, lambda: "Lima" in texts(screen)["sample"])
        await pilot.press("end")
        await until(pilot, lambda: "row 5" in texts(screen)["sample"])
        await pilot.press("home")
        await until(pilot, lambda: "row 0" in texts(screen)["sample"])


async def test_enter_walks_through_the_tokens_and_says_why_each_is_trained(tmp_path: Path) -> None:
    async with inspecting(tmp_path) as (screen, pilot):
        assert "Enter walks" in texts(screen)["token"]
        await pilot.press("enter")
        await until(pilot, lambda: "bytes" in texts(screen)["token"])
        assert "no loss" in texts(screen)["token"] and "not the assistant's turn" in texts(screen)["token"]
        await pilot.press("e")
        await until(pilot, lambda: "4c 69 6d 61" in texts(screen)["token"])
        shown = texts(screen)["token"]
        assert "┃ trained" in shown and "turn 2 assistant" in shown and "position" in shown
        await pilot.press("right")
        await until(pilot, lambda: "it ends the assistant's turn" in texts(screen)["token"])


async def test_t_shows_ids_and_the_cursor_stays(tmp_path: Path) -> None:
    async with inspecting(tmp_path) as (screen, pilot):
        await pilot.press("enter", "right")
        token = screen.view.reader.token
        await pilot.press("t")
        assert str(token.id) in texts(screen)["sample"] and "·of" in texts(screen)["sample"]
        assert screen.view.reader.token == token
        await pilot.press("t")
        assert "·of" not in texts(screen)["sample"]


async def test_r_and_o_change_what_is_shown_and_back(tmp_path: Path) -> None:
    async with inspecting(tmp_path) as (screen, pilot):
        await pilot.press("r")
        assert "<|im_start|>user⏎" in texts(screen)["sample"] and "as the model gets it" in texts(screen)["sample"]
        await pilot.press("o")
        assert "Capital" not in texts(screen)["sample"] and "only what is trained" in texts(screen)["sample"]
        await pilot.press("o")
        assert "Capital" in texts(screen)["sample"] and "<|im_start|>" not in texts(screen)["sample"]


async def test_the_chosen_view_is_kept_from_row_to_row(tmp_path: Path) -> None:
    async with inspecting(tmp_path) as (screen, pilot):
        await pilot.press("enter", "o", "t", "right_square_bracket")
        await until(pilot, lambda: "Havana" in texts(screen)["sample"])
        assert "Capital" not in texts(screen)["sample"] and screen.view.reader.boxes
        assert screen.focused is screen.view


async def test_f_goes_from_flagged_row_to_flagged_row(tmp_path: Path) -> None:
    async with inspecting(tmp_path) as (screen, pilot):
        visited = []
        for key in ("f", "f", "f", "F"):
            before = screen.rows.selected
            await pilot.press(key)
            await until(pilot, lambda before=before: screen.rows.selected != before)
            visited.append(screen.rows.selected)
            row = screen.rows.selected
            await until(pilot, lambda row=row: screen.view.reader and screen.view.reader.sample.row == row)
        assert visited == [2, 4, 5, 4]
        await pilot.press("f", "f")
        await until(pilot, lambda: "no flagged row further down" in texts(screen)["keys"])


FILTERS = {"cuba": [1], "flag:truncated": [5], "role:tool": [3], "flagged": [2, 4, 5], "role:user capital": [0, 1, 2]}


async def test_the_filter(tmp_path: Path) -> None:
    async with inspecting(tmp_path) as (screen, pilot):
        for written, rows in FILTERS.items():
            await write_filter(pilot, written)
            await until(pilot, lambda rows=rows: f"row {rows[0]} " in texts(screen)["sample"])
            await until(pilot, lambda rows=rows: f" {len(rows)} of 6 " in texts(screen)["rows"])
            assert [screen.rows.source.row(place).row for place in range(len(rows))] == rows
        await pilot.press("escape")
        await until(pilot, lambda: screen.rows.source.matched == 6)


async def test_enter_twice_closes_the_filter_once(tmp_path: Path) -> None:
    async with inspecting(tmp_path) as (screen, pilot):
        await pilot.press("slash")
        prompt = screen.app.screen
        for _ in range(2):
            prompt.query_one(Input).post_message(Input.Submitted(prompt.query_one(Input), "cuba"))
        await until(pilot, lambda: screen.rows.source.matched == 1)
        assert screen.app.screen is screen


async def test_a_filter_that_nothing_matches_says_so(tmp_path: Path) -> None:
    async with inspecting(tmp_path) as (screen, pilot):
        await write_filter(pilot, "atlantis")
        await until(pilot, lambda: "no row matches; Esc shows all again" in texts(screen)["rows"])
        assert "no row is selected" in texts(screen)["sample"]


async def test_within_a_filter_f_finds_the_place_in_the_filtered_list(tmp_path: Path) -> None:
    async with inspecting(tmp_path) as (screen, pilot):
        await write_filter(pilot, "role:assistant")
        await until(pilot, lambda: screen.rows.source.answered and screen.rows.source.matched == 5)
        await pilot.press("f", "f")
        await until(pilot, lambda: screen.rows.row and screen.rows.row.row == 5)
        assert screen.rows.selected == 4


async def test_a_finding_of_the_audit_leads_to_its_rows(tmp_path: Path) -> None:
    async with inspecting(tmp_path) as (screen, pilot):
        await pilot.press("tab", "tab")
        assert screen.focused is screen.audit
        await pilot.press("down", "down", "enter")
        await until(pilot, lambda: screen.rows.source.filter.flag == "TRUNCATED" and screen.rows.source.matched == 1)
        assert "flag:TRUNCATED" in texts(screen)["rows"]


async def test_escape_goes_out_layer_by_layer_and_stays_at_the_outermost(tmp_path: Path) -> None:
    async with inspecting(tmp_path) as (screen, pilot):
        await pilot.press("enter")
        assert screen.focused is screen.view
        await pilot.press("escape")
        assert screen.focused is screen.rows
        await pilot.press("escape", "escape")
        assert screen.app.return_value is None


@pytest.mark.parametrize("key", ["q", "ctrl+c"])
async def test_leaving(tmp_path: Path, key: str) -> None:
    async with inspecting(tmp_path) as (screen, pilot):
        await pilot.press(key)
        await pilot.pause()
        assert screen.app.return_value is not None and screen.app.return_value.exit_code == 0


async def test_copying_takes_the_whole_sample(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    async with inspecting(tmp_path) as (screen, pilot):
        await pilot.press("enter", "c")
        assert screen.app.clipboard == screen.view.reader.sample.text
        assert "sent to the clipboard" in texts(screen)["keys"]


async def test_help_lists_the_keys_of_this_screen(tmp_path: Path) -> None:
    async with inspecting(tmp_path, size=(100, 60)) as (screen, pilot):
        await pilot.press("question_mark")
        assert isinstance(screen.app.screen, HelpScreen)
        shown = "\n".join(screen_text(screen.app))
        for words in ("borders and ids of the tokens", "flag:CODE", "from token to token"):
            assert words in shown
        assert "stop the run with a checkpoint" not in shown


async def test_a_key_press_changes_few_cells(tmp_path: Path) -> None:
    rows = [{"turns": [["user", "word " * 40_000], ["assistant", "ok"]]}]
    async with inspecting(tmp_path, rows) as (screen, pilot):
        await pilot.press("enter")
        before = screen.view.lines
        await pilot.press("right")
        changed = [
            number for number, (old, new) in enumerate(zip(before, screen.view.lines, strict=True)) if old != new
        ]
        assert len(changed) == 1
        assert len(json.dumps(screen.view.lines[changed[0]])) < 1000


async def test_moving_the_focus_changes_few_lines(tmp_path: Path) -> None:
    async with inspecting(tmp_path) as (screen, pilot):
        for _ in screen.panes:
            before = [screen.rows.lines, screen.view.lines, screen.audit.lines]
            await pilot.press("tab")
            await pilot.pause()
            after = [screen.rows.lines, screen.view.lines, screen.audit.lines]
            changed = [
                sum(old != new for old, new in zip(was, now, strict=True))
                for was, now in zip(before, after, strict=True)
            ]
            assert max(changed) <= 3, "the upper edge, what the cursor stands on, and the lower edge"
            assert "━" in str(screen.focused.lines[0])


async def test_a_finding_about_the_whole_set_leads_to_the_rows_that_it_names(tmp_path: Path) -> None:
    rows = [
        {**row, "flags": [], "named": ["MIXED_KINDS"] if number in (3, 5) else []} for number, row in enumerate(CHATS)
    ]
    async with inspecting(tmp_path, rows) as (screen, pilot):
        await pilot.press("tab", "tab", "enter")
        await until(pilot, lambda: "row 3 " in texts(screen)["sample"])
        assert "first rows of MIXED_KINDS" in texts(screen)["rows"] and screen.rows.source.ids == (3, 5)
        await pilot.press("escape")
        await until(pilot, lambda: screen.rows.source.matched == len(CHATS))
        assert "MIXED_KINDS" not in texts(screen)["rows"]

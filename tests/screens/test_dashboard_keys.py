"""What the keys of the dashboard do."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from engine.events import (
    Ack,
    End,
)
from pgs_tui.appearance.look import Look
from pgs_tui.runs.follow import Update
from screens.copying import save_copy
from screens.dialogs.confirm import Confirm
from screens.dialogs.help import HelpScreen
from tests.pgs_tui.making import stamped, step
from tests.screens.hosting import hosted, screen_text
from tests.screens.scenes import training


async def test_digits_toggle_panels_and_an_empty_grid_vanishes(tmp_path: Path) -> None:
    async with hosted(tmp_path, (80, 24)) as (app, pilot):
        await app.deliver(pilot, training())
        whole = app.texts
        before = app.dashboard.charts[0].size.height
        await pilot.press("3")
        assert set(whole) - set(app.texts) == {"tok_s"}
        assert app.dashboard.panes["dt"].size.width == 80, "the last chart takes the room of the one that went"
        await pilot.press("4")
        assert app.dashboard.charts[0].size.height > before
        await pilot.press("1", "2", "7")
        assert not app.dashboard.grid.display
        assert not app.dashboard.log_panel.display
        await pilot.press("1", "2", "3", "4", "7")
        assert set(app.texts) == set(whole)


async def test_g_goes_through_the_characters(tmp_path: Path) -> None:
    async with hosted(tmp_path) as (app, pilot):
        await app.deliver(pilot, training())
        seen = [app.dashboard.key_bar.glyphs]
        for _ in range(3):
            await pilot.press("g")
            seen.append(app.dashboard.key_bar.glyphs)
            if seen[-1] == "ascii":
                assert all(row.isascii() for row in screen_text(app))
        assert seen == ["braille", "blocks", "ascii", "braille"]


async def test_a_terminal_with_ascii_only_stays_in_ascii(tmp_path: Path) -> None:
    async with hosted(tmp_path, look=Look(glyphs="ascii", ascii_only=True)) as (app, pilot):
        await app.deliver(pilot, training())
        await pilot.press("g")
        assert app.dashboard.key_bar.glyphs == "ascii"
        await pilot.press("question_mark")
        assert all(row.isascii() for row in screen_text(app))


async def test_y_and_s_change_the_curves_and_say_so(tmp_path: Path) -> None:
    async with hosted(tmp_path) as (app, pilot):
        await app.deliver(pilot, training())
        assert "raw · ema 0.98" in app.texts["loss"]
        await pilot.press("s")
        assert "raw · ema 0.9" in app.texts["loss"]
        await pilot.press("s", "y")
        assert "raw · log" in app.texts["loss"]
        assert "log" in app.texts["grad_norm"].splitlines()[0]
        assert "log" not in app.texts["dt"].splitlines()[0]


async def test_the_average_is_drawn_once_it_means_something(tmp_path: Path) -> None:
    async with hosted(tmp_path) as (app, pilot):
        await app.deliver(pilot, Update(events=stamped(*(step(number) for number in range(1, 11))), life="live"))
        assert "loss  raw ─" in app.texts["loss"]
        await app.deliver(pilot, Update(events=stamped(*(step(number) for number in range(11, 60))), life="live"))
        assert "loss  raw · ema 0.98" in app.texts["loss"]


async def test_the_log_scrolls_and_comes_back(tmp_path: Path) -> None:
    async with hosted(tmp_path) as (app, pilot):
        await app.deliver(pilot, Update(log=tuple(f"line {number}" for number in range(100)), life="live"))
        assert "line 99" in app.texts["log"]
        await pilot.press("up", "k")
        assert "2 up" in app.texts["log"]
        assert "line 99" not in app.texts["log"]
        await app.deliver(pilot, Update(log=("newcomer",), life="live"))
        assert "newcomer" not in app.texts["log"], "a view that was scrolled up stays where it is"
        await pilot.press("home")
        assert "line 0" in app.texts["log"]
        await pilot.press("end")
        assert "newcomer" in app.texts["log"]


async def test_x_asks_and_then_sends_stop(tmp_path: Path) -> None:
    async with hosted(tmp_path) as (app, pilot):
        await app.deliver(pilot, training())
        await pilot.press("x")
        assert isinstance(app.screen, Confirm)
        await pilot.press("escape")
        assert not (tmp_path / "control.jsonl").exists()
        await pilot.press("x", "enter")
        await pilot.pause()
        record = json.loads((tmp_path / "control.jsonl").read_text())
        assert record["cmd"] == "stop"
        assert "asked to stop" in app.texts["keys"]
        ack = Ack(id=record["id"], ok=True, message="stopping after this step")
        await app.deliver(pilot, Update(events=stamped(ack), life="live"))
        assert "stop: stopping after this step" in app.texts["keys"]


async def test_ctrl_c_never_stops_the_run(tmp_path: Path) -> None:
    async with hosted(tmp_path) as (app, pilot):
        await app.deliver(pilot, training())
        await pilot.press("x", "ctrl+c")
        assert app.screen is app.dashboard
        assert not (tmp_path / "control.jsonl").exists()


async def test_a_command_without_an_answer_is_spoken_of_until_the_run_is_over(tmp_path: Path) -> None:
    async with hosted(tmp_path) as (app, pilot):
        await app.deliver(pilot, training())
        await pilot.press("x", "enter")
        app.dashboard.key_bar.quiet()
        app.dashboard.show_now()
        assert "stop: no answer yet" in app.texts["keys"]
        app.dashboard.key_bar.quiet()
        await app.deliver(pilot, Update(life="gone", exit_code=-9))
        assert "no answer" not in app.texts["keys"]


async def test_a_run_that_ends_behind_the_question_is_not_told_to_stop(tmp_path: Path) -> None:
    async with hosted(tmp_path) as (app, pilot):
        await app.deliver(pilot, training())
        await pilot.press("x")
        end = End(status="finished", reason="", exit_code=0, last_step=1240)
        await app.deliver(pilot, Update(events=stamped(end), life="gone"))
        await pilot.press("enter")
        assert "ended meanwhile" in app.texts["keys"]
        assert not (tmp_path / "control.jsonl").exists()


async def test_a_log_that_starts_anew_is_said_where_it_stays_a_while(tmp_path: Path) -> None:
    async with hosted(tmp_path) as (app, pilot):
        await app.deliver(pilot, Update(notes=("log was emptied",), log=("more",) * 50, life="live"))
        assert "log was emptied" in app.texts["keys"]


async def test_there_is_nothing_to_stop_in_a_run_that_ended(tmp_path: Path) -> None:
    async with hosted(tmp_path) as (app, pilot):
        end = End(status="finished", reason="", exit_code=0, last_step=1)
        await app.deliver(pilot, Update(events=stamped(step(1), end), life="gone"))
        await pilot.press("x")
        assert not isinstance(app.screen, Confirm)
        assert "no run going" in app.texts["keys"]


@pytest.mark.parametrize("key", ["q", "d"])
async def test_leaving_says_that_the_run_goes_on(tmp_path: Path, key: str) -> None:
    async with hosted(tmp_path) as (app, pilot):
        await app.deliver(pilot, training())
        await pilot.press(key)
        await pilot.pause()
    assert app.return_value is not None
    assert app.return_value.exit_code == 0
    said = app.return_value.farewell
    assert said.startswith(f"{tmp_path.name} goes on at step 1 240. Come back with: ")
    assert said.endswith(f"pgs-tui attach {tmp_path}"), "it is in no list"


async def test_leaving_a_run_that_failed_says_why_in_full(tmp_path: Path) -> None:
    reason = "out of memory; " * 30
    async with hosted(tmp_path, (60, 15)) as (app, pilot):
        end = End(status="failed", reason=reason, exit_code=3, last_step=1)
        await app.deliver(pilot, Update(events=stamped(step(1), end), life="gone"))
        await pilot.press("q")
        await pilot.pause()
    assert app.return_value is not None
    assert reason in app.return_value.farewell


@pytest.mark.parametrize(
    ("end", "code"),
    [
        (End(status="finished", reason="", exit_code=0, last_step=1), 0),
        (End(status="failed", reason="", exit_code=3, last_step=1), 3),
        (None, 1),
    ],
)
async def test_the_exit_code_is_that_of_the_run_that_ended(tmp_path: Path, end: End | None, code: int) -> None:
    async with hosted(tmp_path) as (app, pilot):
        await app.deliver(pilot, Update(events=stamped(step(1), *([end] if end else [])), life="gone"))
        await pilot.press("q")
        await pilot.pause()
    assert app.return_value is not None
    assert app.return_value.exit_code == code


async def test_ctrl_c_asks_and_by_default_only_leaves(tmp_path: Path) -> None:
    async with hosted(tmp_path) as (app, pilot):
        await app.deliver(pilot, training())
        await pilot.press("ctrl+c")
        assert isinstance(app.screen, Confirm)
        await pilot.press("escape")
        assert app.screen is app.dashboard
        await pilot.press("ctrl+c", "enter")
        await pilot.pause()
    assert app.return_value is not None
    assert "goes on" in app.return_value.farewell
    assert not (tmp_path / "control.jsonl").exists()


async def test_help_lists_every_key_and_closes(tmp_path: Path) -> None:
    async with hosted(tmp_path, (100, 60)) as (app, pilot):
        await pilot.press("question_mark")
        assert isinstance(app.screen, HelpScreen)
        shown = "\n".join(screen_text(app))
        for words in ("stop the run with a checkpoint", "Ctrl-C", "braille, blocks or ASCII", "an evaluation"):
            assert words in shown
        await pilot.press("escape")
        assert app.screen is app.dashboard


async def test_help_scrolls_where_it_does_not_fit(tmp_path: Path) -> None:
    async with hosted(tmp_path, (60, 15)) as (app, pilot):
        await pilot.press("question_mark", "end")
        assert "hold Shift" in "\n".join(screen_text(app))


async def test_copying_takes_the_pane_in_focus_to_clipboard_and_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("TMUX", "/tmp/tmux-0/default,1,0")
    async with hosted(tmp_path) as (app, pilot):
        await app.deliver(pilot, training())
        await pilot.press("c")
        assert "kept in ~/state/pgs-tui/copied.txt" in app.texts["keys"]
        assert "set-clipboard on" in app.texts["keys"], "tmux swallows it otherwise"
        copied = (tmp_path / "state" / "pgs-tui" / "copied.txt").read_text()
        assert app.clipboard == copied
        assert "step 1 240/6 000" in copied and "the log says hello" in copied
        await pilot.press("tab", "c")
        assert app.clipboard.startswith("╭━ loss")
        assert "the log says hello" not in app.clipboard


def test_inside_gnu_screen_it_is_said_that_nothing_reaches_the_clipboard(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    said = save_copy("text", {"STY": "1.pts-0.host", "TERM": "screen"})
    assert "kept in" in said and "GNU screen lets nothing through" in said


async def test_tab_goes_through_the_panes_and_escape_lets_go(tmp_path: Path) -> None:
    async with hosted(tmp_path, (80, 24)) as (app, pilot):
        assert app.screen.focused is None
        order = []
        for _ in range(7):
            await pilot.press("tab")
            assert app.screen.focused is not None
            order.append(app.screen.focused.id)
        assert order == ["loss", "grad_norm", "tok_s", "dt", "memory", "alerts", "log"]
        await pilot.press("escape")
        assert app.screen.focused is None


@pytest.mark.parametrize("size", [(60, 15), (80, 24), (120, 36)])
async def test_slash_leaves_only_lines_of_the_log_with_a_text_until_escape(
    tmp_path: Path, size: tuple[int, int]
) -> None:
    async with hosted(tmp_path, size) as (app, pilot):
        await app.deliver(pilot, replace(training(), log=("loading weights", "Retry 1", "all is well", "retry 2")))
        await pilot.press("slash", *"retry", "enter")
        await pilot.pause()
        assert 'only "retry"' in app.texts["log"] and "retry 2" in app.texts["log"]
        assert "all is well" not in app.texts["log"] and "lines of the log with it: 2" in app.texts["keys"]
        await app.deliver(pilot, Update(life="live", log=("another line", "retry 3")))
        assert "retry 3" in app.texts["log"] and "another line" not in app.texts["log"]
        await pilot.press("escape")
        assert "another line" in app.texts["log"] and "only" not in app.texts["log"]


async def test_slash_brings_a_hidden_log_and_says_where_nothing_has_the_text(tmp_path: Path) -> None:
    async with hosted(tmp_path, (80, 24)) as (app, pilot):
        await app.deliver(pilot, replace(training(), log=("all is well",)))
        await pilot.press("7", "slash", *"oom", "enter")
        await pilot.pause()
        assert 'no line has "oom"' in app.texts["log"]
        await pilot.press("slash", *("backspace",) * 3, "enter")
        await pilot.pause()
        assert "all is well" in app.texts["log"]

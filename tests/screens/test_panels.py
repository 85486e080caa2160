"""The panels of the dashboard: what each shows of a night of training, and that their layout is remembered."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from engine.events import Gpu, Host
from pgs_tui import layout_file
from pgs_tui.appearance.look import Look
from pgs_tui.layout import Layout
from pgs_tui.panel_names import STRIPS
from pgs_tui.runs.follow import Update
from tests.pgs_tui.making import stamped, step
from tests.screens.hosting import hosted, screen_text
from tests.screens.night import HOT, STALLED, STEPS, end_of_night, night
from tests.screens.scenes import START, training

LARGE = (200, 50)


async def test_large_terminals_show_more_panels(tmp_path: Path) -> None:
    shown = {}
    async with hosted(tmp_path, (80, 24)) as (app, pilot):
        await app.deliver(pilot, night())
        for size in ((60, 15), (80, 24), (120, 36), LARGE):
            await pilot.resize_terminal(*size)
            await pilot.pause()
            shown[size] = {one for one in app.texts if one not in STRIPS} - {"status", "banner", "keys"}
    assert shown[60, 15] == shown[80, 24] == {"loss", "grad_norm", "tok_s", "dt"}
    assert shown[120, 36] == shown[80, 24] | {"lr", "moved"}
    assert shown[LARGE] == shown[120, 36] | {"parts", "gpu", "memory_over_steps"}


async def test_every_panel_has_its_values(tmp_path: Path) -> None:
    async with hosted(tmp_path, LARGE, now=end_of_night()) as (app, pilot):
        await app.deliver(pilot, night())
        texts = app.texts
        assert "learning rate" in texts["lr"] and "e-06" in texts["lr"].splitlines()[0]
        assert "98 %" in texts["moved"].splitlines()[0] or "97 %" in texts["moved"].splitlines()[0]
        assert "GPU 0" in texts["gpu"] and "97 %" in texts["gpu"].splitlines()[0]
        assert all(name in texts["gpu"] for name in ("util", "temp", "power"))
        assert "16.1 GiB" in texts["memory_over_steps"].splitlines()[0]
        assert "highest 16.1 GiB · expected 17.2 · reserved 19.0" in texts["memory_over_steps"]
        assert "╌" in texts["memory_over_steps"], "the line of what was expected"
        assert "■ weights" in texts["memory"] and "◆ est 17.2" in texts["memory"]
        assert "last 200 steps" in texts["parts"].splitlines()[0]


async def test_the_parts_of_the_time_add_up_and_a_stall_is_seen(tmp_path: Path) -> None:
    async with hosted(tmp_path, LARGE, look=Look(glyphs="ascii")) as (app, pilot):
        await app.deliver(pilot, night())
        rows = [row[2:-2] for row in app.texts["parts"].splitlines()[1:-1]]
        canvas = [row[7:] for row in rows[:-1]]
        filled = [column for column in zip(*canvas, strict=True) if set(column) != {" "}]
        assert filled and all(" " not in column for column in filled), "each column with steps is full"
        assert all(set(column) <= set("DFBOGEC-") for column in filled)
        assert sum(column.count("D") for column in filled) > 0, f"the wait at step {STALLED}"
        assert any("E" in column or "C" in column for column in filled), "evaluations and checkpoints"
        foot = app.texts["parts"].splitlines()[-1]
        assert "F fwd" in foot and "B bwd" in foot and "O opt" not in foot


async def test_without_colours_the_parts_are_letters(tmp_path: Path) -> None:
    async with hosted(tmp_path, LARGE, look=Look(theme="terminal")) as (app, pilot):
        await app.deliver(pilot, night())
        assert "FFF" in app.texts["parts"] and "█" not in app.texts["parts"]
        assert "WWWW" in app.texts["memory"] and "A activations" in app.texts["memory"]
    async with hosted(tmp_path, LARGE) as (app, pilot):
        await app.deliver(pilot, night())
        assert "███" in app.texts["parts"]
        roles = {role for row in app.dashboard.parts.lines[1:-2] for text, role in row if "█" in text}
        assert roles >= {"series-1", "series-2", "series-8"}


async def test_throttling_is_marked_where_it_was_and_said_while_it_is(tmp_path: Path) -> None:
    async with hosted(tmp_path, LARGE) as (app, pilot):
        await app.deliver(pilot, night())
        assert "▲" in app.texts["gpu"] and "throttled" not in app.texts["gpu"]
        now = Gpu(index=0, uuid="GPU-0", name="A100", utilisation=60, temperature=93, power=200, throttle=("thermal",))
        await app.deliver(pilot, Update(events=stamped(now, start=end_of_night() + 1), life="live"))
        assert "throttled: thermal" in app.texts["gpu"]


async def test_the_cursor_tells_what_the_card_did_then(tmp_path: Path) -> None:
    async with hosted(tmp_path, LARGE) as (app, pilot):
        await app.deliver(pilot, night())
        app.dashboard.put_cursor(HOT[20])
        await pilot.pause()
        assert "70 %" in app.texts["gpu"].splitlines()[0] and "91 °C" in app.texts["gpu"]
        assert "was throttled here" in app.texts["gpu"]
        app.dashboard.put_cursor(STALLED - 20)
        await pilot.pause()
        assert "97 %" in app.texts["gpu"].splitlines()[0] and "throttled" not in app.texts["gpu"]


async def test_several_cards_each_have_their_strips(tmp_path: Path) -> None:
    async with hosted(tmp_path, LARGE) as (app, pilot):
        await app.deliver(pilot, night(gpus=2))
        assert "2 GPUs" in app.texts["gpu"]
        assert "97 %  77 %" in app.texts["gpu"].splitlines()[0]
        assert all(name in app.texts["gpu"] for name in ("0 util", "1 util"))
        await app.deliver(pilot, Update(events=stamped(Gpu(index=1, uuid="u", name="A100", error="GPU is lost"))))
        assert "GPU 1: GPU is lost" in app.texts["gpu"]


async def test_the_memory_of_all_cards_is_shown_where_there_is_room(tmp_path: Path) -> None:
    async with hosted(tmp_path, (80, 24)) as (app, pilot):
        await app.deliver(pilot, night(gpus=3))
        assert "2 more" in app.texts["memory"]
        await pilot.press("m", "5")
        assert all(f"GPU {index}  15.7 / 39.4 GiB" in app.texts["memory"] for index in (1, 2))


async def test_a_run_on_the_cpu_says_that_there_is_no_gpu(tmp_path: Path) -> None:
    measured = Host(cpu=187, rss=1.23, disk_free=312, cores=2, memory_available=19, memory_total=24)
    async with hosted(tmp_path, LARGE) as (app, pilot):
        await app.deliver(pilot, Update(events=stamped(replace(START, device="cpu"), step(1), measured), life="live"))
        assert "no GPU: training on the CPU" in app.texts["gpu"]
        assert "no GPU: training on the CPU" in app.texts["memory_over_steps"]
        assert "process memory" in app.texts["memory"]


async def test_before_the_first_step_every_panel_says_what_it_waits_for(tmp_path: Path) -> None:
    async with hosted(tmp_path, LARGE) as (app, _):
        assert "waiting for the first step" in app.texts["parts"]
        assert "waiting for the first step" in app.texts["memory_over_steps"]
        assert "no reading of a GPU yet" in app.texts["gpu"]


async def test_several_ranks_stand_below_each_other_and_the_slow_one_is_named(tmp_path: Path) -> None:
    async with hosted(tmp_path, LARGE) as (app, pilot):
        await app.deliver(pilot, night())
        assert "ranks" not in app.texts
        await app.deliver(pilot, night(ranks=3))
        ranks = app.texts["ranks"]
        assert "3 ranks" in ranks and "▲ rank 2 lags" in ranks.splitlines()[0]
        rows = [row for row in ranks.splitlines() if "▲ 2" in row]
        assert len(rows) == 1 and "+" in rows[0] and "16.1" in rows[0]


async def test_ranks_that_tell_nothing_are_not_passed_off_as_one_process(tmp_path: Path) -> None:
    async with hosted(tmp_path, LARGE) as (app, pilot):
        await app.deliver(pilot, Update(events=stamped(replace(START, world_size=4), step(1)), life="live"))
        app.dashboard.bring("ranks")
        await pilot.pause()
        assert "4 processes train, of which only the first" in app.texts["ranks"]


async def test_more_ranks_than_rows_show_those_that_lag(tmp_path: Path) -> None:
    async with hosted(tmp_path, LARGE) as (app, pilot):
        await app.deliver(pilot, night(ranks=24))
        assert "▲ 23" in app.texts["ranks"]
        assert "more, none of which lags more" in app.texts["ranks"]


async def test_m_shows_a_pane_alone_and_tab_goes_on_to_the_next(tmp_path: Path) -> None:
    async with hosted(tmp_path, (80, 24)) as (app, pilot):
        await app.deliver(pilot, night())
        whole = app.texts
        await pilot.press("tab", "tab", "m")
        assert set(app.texts) - {"status", "banner", "keys"} == {"grad_norm"}
        assert app.dashboard.panes["grad_norm"].size == (80, 22)
        seen = []
        for _ in range(4):
            await pilot.press("tab")
            seen += [one for one in app.texts if one not in ("status", "banner", "keys")]
        assert seen == ["tok_s", "dt", "lr", "moved"], "those too that this terminal has no room for otherwise"
        assert "98 %" in app.texts["moved"] or "97 %" in app.texts["moved"], "what comes into sight is up to date"
        await pilot.press("shift+tab", "5")
        assert "■ weights" in app.texts["memory"] and app.dashboard.memory.size == (80, 22)
        assert "expected at the peak, backward: weights 8.0" in app.texts["memory"]
        await pilot.press("escape")
        assert set(app.texts) == set(whole)
        assert layout_file.load()[0] == Layout(), "what was alone is not remembered"


async def test_marks_are_walked_on_a_chart_that_is_alone(tmp_path: Path) -> None:
    async with hosted(tmp_path, (80, 24)) as (app, pilot):
        await app.deliver(pilot, night())
        await pilot.press("m", "n", "N", "N", "N", "N", "N")
        assert app.dashboard.arrangement.alone == "loss"
        assert "alerts" not in app.texts
        assert app.dashboard.view.cursor is not None


async def test_brackets_move_the_pane_in_focus(tmp_path: Path) -> None:
    async with hosted(tmp_path, (80, 24)) as (app, pilot):
        await app.deliver(pilot, training())
        await pilot.press("right_square_bracket")
        assert "Tab goes to a pane" in app.texts["keys"]
        await pilot.press("tab", "right_square_bracket", "right_square_bracket")
        assert [one.id for one in app.dashboard.charts if one.display] == ["grad_norm", "tok_s", "loss", "dt"]
        places = {one.id: one.region.offset for one in app.dashboard.charts if one.display}
        assert places["grad_norm"] < places["tok_s"] and places["loss"].y > places["tok_s"].y
        assert app.dashboard.panes["loss"].has_focus
        await pilot.press("left_square_bracket")
        assert [one.id for one in app.dashboard.charts if one.display] == ["grad_norm", "loss", "tok_s", "dt"]


async def test_the_log_axis_is_that_of_the_pane_in_focus_where_it_has_one(tmp_path: Path) -> None:
    async with hosted(tmp_path, (80, 24)) as (app, pilot):
        await app.deliver(pilot, training())
        app.dashboard.set_focus(app.dashboard.panes["dt"])
        await pilot.press("y")
        assert app.dashboard.arrangement.log_axes == {"dt"}
        app.dashboard.set_focus(app.dashboard.log_panel)
        await pilot.press("y")
        assert "no axis that could be logarithmic" in app.texts["keys"]
        await pilot.press("escape", "y")
        assert app.dashboard.arrangement.log_axes == {"dt", "loss", "grad_norm"}


async def test_a_panel_that_comes_into_sight_shows_something_in_a_held_view_too(tmp_path: Path) -> None:
    async with hosted(tmp_path, (80, 24)) as (app, pilot):
        await app.deliver(pilot, night())
        await pilot.press("space", "8")
        assert "██" in app.texts["parts"]


async def test_strips_change_places_among_themselves(tmp_path: Path) -> None:
    async with hosted(tmp_path, (80, 24)) as (app, pilot):
        await app.deliver(pilot, training())
        app.dashboard.set_focus(app.dashboard.log_panel)
        await pilot.press("left_square_bracket")
        places = [app.dashboard.panes[name].region.y for name in ("memory", "log", "alerts")]
        assert places == sorted(places)
        shown = screen_text(app)
        assert "q leave" in shown[-1] and "alerts" in shown[-4]


async def test_the_layout_comes_back_the_next_time(tmp_path: Path) -> None:
    async with hosted(tmp_path, (80, 24)) as (app, pilot):
        await app.deliver(pilot, night())
        await pilot.press("8", "3", "tab", "right_square_bracket", "y", *("s",) * 10)
        await app.workers.wait_for_complete()
        left = app.texts
    async with hosted(tmp_path, (80, 24)) as (app, pilot):
        await app.deliver(pilot, night())
        assert {one: text.splitlines()[1:-1] for one, text in app.texts.items() if one in ("loss", "parts", "dt")} == {
            one: text.splitlines()[1:-1] for one, text in left.items() if one in ("loss", "parts", "dt")
        }
        assert "tok_s" not in app.texts
        assert [one.id for one in app.dashboard.panels[:2]] == ["grad_norm", "loss"]
        assert app.dashboard.panes["loss"].region.x > 0
        assert "raw · ema 0.9 · log" in app.texts["loss"]


@pytest.fixture
def broken_layout() -> Iterator[None]:
    path = layout_file.layout_path()
    path.parent.mkdir(parents=True)
    path.write_text("{")
    yield
    assert layout_file.load() != (Layout(), "")


@pytest.mark.usefixtures("broken_layout")
async def test_a_broken_layout_is_said_and_replaced_by_nothing_but_a_change(tmp_path: Path) -> None:
    async with hosted(tmp_path, (120, 36)) as (app, pilot):
        await app.deliver(pilot, training())
        assert "is no layout of a dashboard" in app.texts["keys"]
        assert "loss" in app.texts


async def test_a_layout_that_cannot_be_kept_is_said_once(tmp_path: Path) -> None:
    layout_file.layout_path().parent.write_text("a file where the folder should be")
    async with hosted(tmp_path, (120, 36)) as (app, pilot):
        await app.deliver(pilot, training())
        app.dashboard.layout_note = ""
        await pilot.press("3")
        await app.workers.wait_for_complete()
        await pilot.pause()
        assert "for this time only" in app.texts["keys"]
        assert "tok_s" not in app.texts


@pytest.mark.parametrize("size", [(1, 1), (20, 5), (46, 19), (80, 24)])
async def test_every_panel_fits_every_size_alone_and_among_all(tmp_path: Path, size: tuple[int, int]) -> None:
    async with hosted(tmp_path, size) as (app, pilot):
        await app.deliver(pilot, night(ranks=2, gpus=3))
        await pilot.press("8", "9", "m")
        for _ in range(len(app.dashboard.panes)):
            assert {len(row) for row in screen_text(app)} <= {size[0]}
            await pilot.press("tab")
        assert app.live.history.last_step == STEPS


@pytest.mark.parametrize("size", [(30, 6), (80, 24)])
async def test_the_list_of_panels_shows_hides_moves_and_resets_them(tmp_path: Path, size: tuple[int, int]) -> None:
    async with hosted(tmp_path, size) as (app, pilot):
        await app.deliver(pilot, night())
        await pilot.press("v", "down", "down", "enter")
        await pilot.pause()
        assert not app.dashboard.panes["tok_s"].display, "behind the list it is hidden already"
        await pilot.press("home", "right_square_bracket", "end", "up", "space")
        assert [one.id for one in app.dashboard.charts if one.display] == ["grad_norm", "loss", "dt"]
        assert not app.dashboard.alerts.display
        if size == (80, 24):
            assert any("○ learning rate" in row and "for larger windows" in row for row in screen_text(app))
            assert any("○ ranks" in row and "one rank trains" in row for row in screen_text(app))
        await pilot.press("r", "escape")
        assert app.screen is app.dashboard
        assert app.dashboard.arrangement == Layout()

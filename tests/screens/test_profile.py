"""The profile screen: what it shows."""

import os
import signal
from pathlib import Path

import psutil
import pytest

from pgs_tui.appearance.look import Look, ThemeName
from tests.screens.hosting import screen_text
from tests.screens.inspecting import until
from tests.screens.profiling import A100, HELD, fake, profiling, row_of, settled, texts
from tests.screens.snapshots import check_snapshot


async def test_the_verdict_comes_in_words_and_the_parts_as_bars(here: Path) -> None:
    async with profiling(here) as (screen, _):
        shown = texts(screen)
        assert "✔ fits: needs 16.6, free 39.4 of 39.4 GiB" in shown["room"] and "✔ fits" in shown["status"]
        assert "16.6 of 39.4 GiB" in shown["room"] and "at the peak 15.4 in backward" in shown["room"]
        weights = next(row for row in shown["components"].splitlines() if "weights" in row)
        assert "7.83" in weights and weights.count("█") > 5 and "░" in weights
        assert "backward" in shown["phases"] and "◂ decides" in shown["phases"]
        assert "4 096 tokens a step" in shown["work"] and "≈ 6 180 tok/s" in shown["work"]
        assert "100 %" in shown["work"] and "4.21 B" in shown["work"]


async def test_it_shows_itself_before_the_profiler_has_answered(here: Path) -> None:
    async with profiling(here, "--slow", "gpus", "60", wait=False) as (screen, _):
        shown = texts(screen)
        assert "○ starting the profiler" in shown["status"]
        assert "the model is put together" in shown["room"]
        assert "settings" in shown["settings"]


async def test_the_wide_form_has_the_phases_side_by_side(here: Path) -> None:
    async with profiling(here, size=(140, 40)) as (screen, _):
        heading = texts(screen)["components"].splitlines()[1]
        assert heading.split()[1:-1] == ["GiB", "start", "forward", "loss", "backward", "optim."]
        assert "▸15.41" in texts(screen)["components"], "the phase that decides is marked without a colour"


async def test_memory_that_others_hold_is_named_and_drawn(here: Path) -> None:
    async with profiling(here, *HELD) as (screen, _):
        shown = texts(screen)
        assert "free 50.0 of 80.0 GiB, 30.0 held by pid 4711" in shown["room"]
        assert "held by pid 4711 python" in shown["room"] and "the margin depends on pid 4711" in shown["room"]
        assert shown["room"].count("▒") > 30 and "50.0 free" in shown["status"]


async def test_what_others_take_meanwhile_is_seen_without_a_key(here: Path) -> None:
    async with profiling(here, *A100, "--drift", "8") as (screen, pilot):
        await until(pilot, lambda: screen.profiling.advice and not screen.profiling.lacks_advice)
        before = screen.profiling.profile.gpu.free
        screen.profiling.look_at_gpu()
        await until(pilot, lambda: screen.profiling.profile.gpu.free < before)
        await until(pilot, lambda: "held by pid 4711" in texts(screen)["room"])


async def test_what_does_not_fit_says_by_how_much(here: Path) -> None:
    async with profiling(here, overrides=("--train.per_device_batch_size", "32")) as (screen, _):
        shown = texts(screen)
        assert "✖ does not fit" in shown["status"] and "✖ does not fit: needs" in shown["room"]
        assert "┃" in shown["room"] and " +" in shown["room"], "the border of what is free, and how much is missing"


async def test_without_a_gpu_it_is_useful_too(here: Path) -> None:
    async with profiling(here, "--slow", "nothing", "0") as (screen, _):
        shown = texts(screen)
        assert "no GPU" in shown["status"] and "needs 16.6 GiB" in shown["room"]
        assert "none here" in row_of(screen, "GPU")
        assert "it would fit RTX 4090, A100 40GB, H200" in shown["changes"]


async def test_a_gpu_that_was_named_is_the_one_to_judge_by(here: Path) -> None:
    async with profiling(here, gpu="RTX 4090") as (screen, _):
        assert "RTX 4090" in texts(screen)["status"] and "RTX 4090" in row_of(screen, "GPU")


async def test_a_config_that_is_refused_ends_the_program_with_the_reason(here: Path) -> None:
    async with profiling(here, config="model: {}\n", wait=False) as (screen, pilot):
        await until(pilot, lambda: screen.app.return_value is not None)
        goodbye = screen.app.return_value
        assert goodbye.exit_code == 2 and "model.name_or_path" in goodbye.refused


async def test_the_death_of_the_profiler_is_told_and_s_starts_it_again(here: Path) -> None:
    async with profiling(here) as (screen, pilot):
        await pilot.press("down", "right")
        await settled(screen, pilot)
        os.kill(screen.profiling.pid, signal.SIGKILL)
        await until(pilot, lambda: screen.profiling.ended)
        await pilot.pause()
        assert "the profiler ended with exit code -9" in texts(screen)["room"]
        assert "s starts it again" in texts(screen)["room"] and "✖ the profiler ended" in texts(screen)["status"]
        await pilot.press("down", "right", "1", "enter", "escape")
        await pilot.press("s")
        await settled(screen, pilot)
        assert "3" in row_of(screen, "batch") and "✔ fits" in texts(screen)["status"]


async def test_a_profiler_that_cannot_be_started_is_told(here: Path) -> None:
    async with profiling(here, command=(str(here / "nothing"),), wait=False) as (screen, pilot):
        await until(pilot, lambda: "the profiler cannot be started" in texts(screen)["room"])


async def test_the_process_is_gone_with_the_screen(here: Path) -> None:
    async with profiling(here) as (screen, _):
        process = psutil.Process(screen.profiling.pid)
        assert process.is_running()
    process.wait(10)


@pytest.mark.parametrize("theme", ["dark", "light", "terminal"])
@pytest.mark.parametrize("size", [(80, 24), (60, 15), (140, 40)])
async def test_it_looks_as_it_did(here: Path, size: tuple[int, int], theme: ThemeName) -> None:
    async with profiling(here, *HELD, size=size, look=Look(theme=theme)) as (screen, pilot):
        await pilot.press("down", "right")
        await until(pilot, lambda: not screen.profiling.is_behind and not screen.profiling.lacks_advice)
        await until(pilot, lambda: screen.profiling.advice)
        await pilot.pause()
        check_snapshot(screen.app, f"profile-{size[0]}x{size[1]}-{theme}")


async def test_the_largest_terminal_shows_verdict_total_and_settings(here: Path) -> None:
    async with profiling(here, size=(200, 50)) as (screen, _):
        rows = screen_text(screen.app)
        shown = "\n".join(rows)
        assert "✔ fits: needs 16.6" in shown and "batch" in shown and "weights" in shown
        assert all(len(row) <= 200 for row in rows)


async def test_tab_leads_to_every_pane_also_where_one_alone_has_room(here: Path) -> None:
    async with profiling(here, size=(40, 12)) as (screen, pilot):
        for pane in (screen.components, screen.phases, screen.changes, screen.work, screen.settings):
            await pilot.press("tab")
            await pilot.pause()
            assert screen.focused is pane and pane.size.height > 0 and pane.lines


async def test_any_size_is_survived_and_the_selection_kept(here: Path) -> None:
    async with profiling(here, size=(80, 24)) as (screen, pilot):
        await pilot.press("down", "down")
        for size in ((20, 5), (1, 1), (200, 2), (2, 60), (3, 3), (80, 24)):
            await pilot.resize_terminal(*size)
            await pilot.pause()
        assert screen.settings.chosen is not None and screen.settings.chosen.name == "length"
        assert "2 048" in row_of(screen, "length")


async def test_ascii_only_terminals_get_ascii_only(here: Path) -> None:
    async with profiling(here, *HELD, look=Look(glyphs="ascii", ascii_only=True)) as (screen, pilot):
        await pilot.press("g")
        assert all(row.isascii() for row in screen_text(screen.app))
        assert ":::" in texts(screen)["room"], "what others hold is told from what is free"


async def test_hostile_names_are_shown_and_not_executed(here: Path) -> None:
    options = ("--card", "\x1b[31mA100\x1b[0m [@click=app.bell]", "39.4", "39.4")
    async with profiling(here, *options) as (screen, _):
        shown = "".join(screen_text(screen.app))
        assert "\x1b" not in shown and "[@click=app.bell]" in shown


async def test_odd_figures_are_survived(here: Path) -> None:
    async with profiling(here, *A100, overrides=("--train.per_device_batch_size", "100000")) as (screen, _):
        assert "needs" in texts(screen)["room"]


async def test_an_answer_of_another_shape_is_a_sentence_and_no_crash(here: Path) -> None:
    script = here / "odd.py"
    script.write_text(
        "import json, sys\nfor text in sys.stdin:\n"
        "    print(json.dumps({'id': json.loads(text)['id'], 'result': {}}), flush=True)\n"
    )
    command = (fake()[0], str(script))
    async with profiling(here, command=command, wait=False) as (screen, pilot):
        await until(pilot, lambda: "makes no sense here" in texts(screen)["room"])

"""The picker: what it shows."""

import os
from pathlib import Path

import pytest

from pgs_tui.appearance.look import Look, ThemeName
from tests.screens.hosting import screen_text
from tests.screens.inspecting import until
from tests.screens.picking import picker, texts, write_config, write_folder
from tests.screens.snapshots import check_snapshot


async def test_configs_are_listed_by_model_with_what_is_known_of_them(here: Path) -> None:
    write_folder(here)
    async with picker(here) as (screen, _):
        rows = [row.strip("│ ") for row in texts(screen)["configs"].splitlines()[2:12]]
        starts = [
            "HuggingFaceTB/SmolLM2-135M",
            "›  try.yaml",
            "Qwen/Qwen3-4B",
            "broken.yaml",
            "qwen/large",
            "qwen/mixers",
        ]
        assert all(row.startswith(start) for row, start in zip(rows, starts, strict=False))
        listed = "\n".join(rows)
        assert "all weights  16 × 8 192      61.5 GiB ✖ does not fit" in listed
        assert "mixers       2 × 2 048       37.4 GiB ▲ tight" in listed and "14.2 GiB ✔ fits" in listed
        assert "2·4 × 2 048" in listed, "accumulation stands with the batch"
        assert "1 other YAML file" in texts(screen)["configs"]
        assert "A100-SXM4-40GB · 38.6 of 39.4 GiB free" in texts(screen)["status"]
        assert "2 of 6 invalid" in texts(screen)["status"]


async def test_an_invalid_config_stands_there_with_its_first_error(here: Path) -> None:
    write_folder(here)
    async with picker(here) as (screen, _):
        assert "line 9: train.learning_rat: unknown key; did you mean train.learning_rate?" in texts(screen)["configs"]
        assert "✖ line 3: not valid YAML" in texts(screen)["configs"]


async def test_it_shows_itself_before_anything_is_found(here: Path) -> None:
    write_folder(here)
    async with picker(here, settled=False) as (screen, _):
        assert "configs" in texts(screen)["configs"]
        assert "Enter start" in texts(screen)["keys"]


async def test_the_details_tell_what_the_selected_config_does(here: Path) -> None:
    write_config(here / "a.yaml", batch=4, more="  optimizer: lion8bit\n  gradient_accumulation_steps: 2\n")
    async with picker(here, answers={"a": {"total": 30.0}}) as (screen, _):
        told = texts(screen)["details"]
        assert "fits: 8.6 GiB stay free" in told
        assert "all weights on chats.jsonl: 4 chats of at most 2 048 tokens, 2 passes" in told
        assert "lion8bit at 1e-05" in told and "~/here/a.yaml" in told


async def test_an_empty_folder_says_what_to_do(here: Path) -> None:
    async with picker(here) as (screen, pilot):
        shown = texts(screen)["configs"]
        assert "there is no config below ~/here" in shown and "pgs-tui quickstart" in shown
        await pilot.press("enter", "p", "i", "e", "m", "down", "up", "home", "end", "tab", "pagedown", "escape", "c")
        write_config(here / "new.yaml")
        await pilot.press("r")
        await until(pilot, lambda: "new.yaml" in texts(screen)["configs"])


async def test_without_a_gpu_the_memory_stands_alone(here: Path) -> None:
    write_config(here / "a.yaml")
    async with picker(here, "--no-gpu") as (screen, _):
        assert "16.0 GiB" in texts(screen)["configs"] and "fits" not in texts(screen)["configs"]
        assert "no GPU here" in texts(screen)["status"]
        assert "there is no GPU here to compare it with" in texts(screen)["details"]


async def test_a_warning_stands_in_the_list_too(here: Path) -> None:
    write_config(here / "a.yaml")
    refused = {"word": "fits", "headroom_gib": 22.0, "sentence": "fits: 22.0", "warnings": ["the run would be refused"]}
    async with picker(here, answers={"a": {"total": 16.6, "verdict": refused}}) as (screen, _):
        assert "16.6 GiB ▲ fits" in texts(screen)["configs"]
        assert "▲ the run would be refused" in texts(screen)["details"]


async def test_a_config_whose_memory_cannot_be_told_says_why(here: Path) -> None:
    write_config(here / "a.yaml")
    write_config(here / "b.yaml")
    async with picker(here, answers={"a": "the hub does not know Qwen/Qwen3-4B"}) as (screen, _):
        assert "the hub does not know Qwen/Qwen3-4B" in texts(screen)["details"]
        assert "16.0 GiB" in texts(screen)["configs"], "the others are told"


async def test_the_death_of_the_profiler_is_one_line_and_the_list_stays(here: Path) -> None:
    write_folder(here)
    async with picker(here, "--die-after", "0", settled=False) as (screen, pilot):
        await until(pilot, lambda: screen.picking.ended)
        await pilot.pause()
        assert "the profiler ended with exit code 9: pgs: out of patience" in texts(screen)["keys"]
        assert "qwen/large" in texts(screen)["configs"] and "16 × 8 192" in texts(screen)["configs"]
        assert "…" not in texts(screen)["configs"], "nothing is promised that will not come"


async def test_a_config_that_kills_the_profiler_keeps_no_other_from_its_estimate(here: Path) -> None:
    for name in "abc":
        write_config(here / f"{name}.yaml")
    async with picker(here, "--die-on", "b") as (screen, pilot):
        assert texts(screen)["configs"].count("16.0 GiB ✔ fits") == 2 and not screen.picking.ended
        await pilot.press("down")
        assert "the profiler ended with exit code 9: pgs: out of patience" in texts(screen)["details"]


async def test_a_profiler_that_cannot_be_started_is_told(here: Path) -> None:
    write_config(here / "a.yaml")
    async with picker(here, command=(str(here / "nothing"),), settled=False) as (screen, pilot):
        await until(pilot, lambda: "the profiler cannot be started" in texts(screen)["details"])


async def test_what_is_in_sight_is_asked_for_first(here: Path, tmp_path: Path) -> None:
    for number in range(60):
        write_config(here / f"c{number}.yaml")
    log = tmp_path / "log"
    async with picker(here, "--log", str(log), "--slow", "estimate", "0.03", settled=False) as (screen, pilot):
        await until(pilot, lambda: screen.picking.searched)
        await pilot.press("end")
        await until(pilot, lambda: log.exists() and "c59" in log.read_text())
        asked = log.read_text().split()
        assert len(asked) < 55, "the last one did not wait for its turn"


@pytest.mark.parametrize("theme", ["dark", "light", "terminal"])
async def test_it_looks_as_it_did(here: Path, theme: ThemeName) -> None:
    write_folder(here)
    async with picker(here, look=Look(theme=theme)) as (screen, pilot):
        await pilot.press("down", "down")
        for width, height in ((60, 15), (80, 24), (140, 40)):
            await pilot.resize_terminal(width, height)
            await pilot.pause()
            check_snapshot(screen.app, f"picker-{width}x{height}-{theme}")


async def test_any_size_is_survived_and_the_selection_kept(here: Path) -> None:
    write_folder(here)
    async with picker(here, size=(80, 24)) as (screen, pilot):
        await pilot.press("down", "down", "down")
        chosen = screen.list.selected
        for size in ((20, 5), (1, 1), (200, 2), (2, 60), (3, 3), (80, 24)):
            await pilot.resize_terminal(*size)
            await pilot.pause()
        assert screen.list.selected == chosen
        assert "qwen/large" in texts(screen)["configs"]


async def test_ascii_only_terminals_get_ascii_only(here: Path) -> None:
    write_folder(here)
    async with picker(here, look=Look(glyphs="ascii", ascii_only=True)) as (screen, pilot):
        await pilot.press("g")
        assert all(row.isascii() for row in screen_text(screen.app))
        assert "x does not fit" in texts(screen)["configs"]


async def test_hostile_names_are_shown_and_not_executed(here: Path) -> None:
    names = ["see [bold].yaml", "[@click=app.bell]tap[@].yaml", "\x1b[31mred.yaml", "x\u202ey.yaml", "\\[x].yaml"]
    for name in names:
        write_config(here / name, model="'[link=http://x]y'")
    async with picker(here) as (screen, pilot):
        shown = texts(screen)["configs"]
        assert all(text in shown for text in ("see [bold].yaml", "[@click=app.bell]tap[@].yaml", "\\[x].yaml"))
        for _ in names:
            await pilot.press("down", "enter", "escape")
        assert "\x1b" not in "".join(screen_text(screen.app))


async def test_names_that_are_not_text_are_survived(here: Path) -> None:
    path = os.fsencode(here / "x.yaml").replace(b"x.yaml", b"bad-\xff.yaml")
    write_config(here / "good.yaml")
    Path(os.fsdecode(path)).write_bytes((here / "good.yaml").read_bytes())
    async with picker(here) as (screen, pilot):
        assert "good.yaml" in texts(screen)["configs"] and "bad-" in texts(screen)["configs"]
        await pilot.press("home", "c")

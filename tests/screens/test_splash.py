from pathlib import Path

import pyte
import pytest

from pgs_tui.appearance.look import Look
from pgs_tui.appearance.splash import ALTERNATE_SCREEN, splash
from pgs_tui.keys import ScreenName, hints_of
from tests.screens.hosting import hosted, screen_text
from tests.screens.picking import picker

HINTS = hints_of("dashboard")


def shown(
    size: tuple[int, int], name: str = "quickstart", screen: ScreenName = "dashboard", state: str = "starting"
) -> list[str]:
    drawn = pyte.Screen(*size)
    pyte.Stream(drawn).feed(splash(*size, name, state, Look(), True, hints_of(screen, screen == "dashboard")))
    return list(drawn.display)


@pytest.mark.parametrize("size", [(120, 36), (80, 24), (60, 15)])
async def test_the_splash_is_the_first_and_the_last_line_of_the_dashboard(
    tmp_path: Path, size: tuple[int, int]
) -> None:
    async with hosted(tmp_path, size) as (app, _):
        app.dashboard.live = None
        app.dashboard.announce("starting")
        dashboard = screen_text(app)
    lines = shown(size)
    assert lines[0].rstrip() == dashboard[0].rstrip()
    assert lines[-1].rstrip() == dashboard[-1].rstrip()
    assert not "".join(lines[1:-1]).strip()


@pytest.mark.parametrize("size", [(120, 36), (80, 24), (60, 15)])
async def test_the_splash_of_the_picker_is_its_first_and_last_line(here: Path, size: tuple[int, int]) -> None:
    async with picker(here, size=size) as (screen, pilot):
        screen.picking.searched = False
        screen.show_now()
        await pilot.pause()
        found = screen_text(screen.app)
    lines = shown(size, "~/here", screen="picker", state="looking for configs")
    assert (lines[0].rstrip(), lines[-1].rstrip()) == (found[0].rstrip(), found[-1].rstrip())


@pytest.mark.parametrize("size", [(1, 1), (0, 0), (7, 2), (400, 120)])
def test_no_size_is_too_small(size: tuple[int, int]) -> None:
    assert splash(*size, "quickstart", "starting", Look(), True, HINTS).startswith(ALTERNATE_SCREEN)


def test_ascii_terminals_get_ascii() -> None:
    assert splash(80, 24, "quickstart", "starting", Look(glyphs="ascii", ascii_only=True), False, HINTS).isascii()


def test_colours_are_only_sent_where_they_are_understood() -> None:
    assert "48;2;" in splash(80, 24, "x", "y", Look(), true_colour=True, hints=HINTS)
    for look, true_colour in ((Look(), False), (Look(theme="terminal"), True)):
        assert "8;2;" not in splash(80, 24, "x", "y", look, true_colour, HINTS)


def test_a_name_cannot_steer_the_terminal() -> None:
    assert "\x1b]" not in splash(80, 24, "a\x1b]0;b\x07", "y", Look(), True, HINTS)

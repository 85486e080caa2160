"""A terminal that gets the changed cells alone shows what one shows that gets everything."""

from __future__ import annotations

import random
from collections.abc import Sequence

import pyte
import pytest
from textual import _compositor
from textual.app import App, ComposeResult
from textual.containers import Horizontal

from pgs_tui.appearance.themes import THEMES
from pgs_tui.apps.themed import ThemedApp
from pgs_tui.drawing.lines import Line, Role, line
from pgs_tui.terminal.frugal import ChangedCells, frugal
from pgs_tui.widgets.drawn import Drawn

SIZE = (50, 8)
SIGNS = ("a", "Z", " ", "·", "⣿", "█", "漢", "é", "e\u0301", "😀", "▲", "…")
ROLES: tuple[Role, ...] = ("text", "accent", "bad", "dim")


class Scribble(Drawn):
    """Shows the lines that it was given."""

    text: Sequence[Line] = ()

    def draw(self, width: int, height: int) -> Sequence[Line]:
        return self.text


class Page(App[None]):
    """Two scribbles side by side, so that a line has more than one piece."""

    CSS = "Scribble { width: 1fr; height: 100%; }"

    def __init__(self) -> None:
        super().__init__()
        self.register_theme(THEMES["dark"])
        self.theme = THEMES["dark"].name
        self.scribbles = Scribble(), Scribble()

    def compose(self) -> ComposeResult:
        yield Horizontal(*self.scribbles)


def some_line(chance: random.Random) -> Line:
    spans = [("".join(chance.choices(SIGNS, k=chance.randrange(1, 9))), chance.choice(ROLES)) for _ in range(6)]
    return line(*spans)


def cells(screen: pyte.Screen) -> list[list[tuple[str, str, str]]]:
    return [
        [(one.data, one.fg, one.bg) for one in (screen.buffer[y][x] for x in range(screen.columns))]
        for y in range(screen.lines)
    ]


@pytest.mark.parametrize("seed", range(4))
async def test_after_many_updates_the_screen_is_that_of_a_full_repaint(seed: int) -> None:
    chance = random.Random(seed)
    app = Page()
    async with app.run_test(size=SIZE) as pilot:
        compositor = app.screen._compositor
        live = pyte.Screen(*SIZE)
        feed = pyte.Stream(live).feed
        feed(compositor.render_update(full=True).render_segments(app.console))
        for _ in range(40):
            for scribble in app.scribbles:
                lines = list(scribble.text) or [some_line(chance) for _ in range(SIZE[1])]
                for place in chance.sample(range(len(lines)), 2):
                    changed = list(lines[place])
                    changed[chance.randrange(len(changed))] = chance.choice(some_line(chance))
                    lines[place] = tuple(changed)
                scribble.text = lines
                scribble.redraw()
            compositor.update_widgets(set(app.scribbles))
            update = compositor.render_update()
            if update is None:
                continue
            feed(frugal(update).render_segments(app.console))
            await pilot.pause()
        fresh = pyte.Screen(*SIZE)
        pyte.Stream(fresh).feed(compositor.render_update(full=True).render_segments(app.console))
        assert cells(live) == cells(fresh)


async def test_one_cell_of_a_wide_line_costs_one_cell() -> None:
    app = Page()
    async with app.run_test(size=(200, 8)):
        right = app.scribbles[1]
        compositor = app.screen._compositor
        for digit in "12":
            right.text = [line(("─" * 90, "frame"), (digit, "value"), ("─" * 9, "frame"))]
            right.redraw()
            compositor.update_widgets({right})
            text = frugal(compositor.render_update()).render_segments(app.console)
        assert "2" in text
        assert "─" not in text


def test_updates_of_another_shape_are_left_to_textual(monkeypatch: pytest.MonkeyPatch) -> None:
    class Renamed(_compositor.ChopsUpdate):
        def __init__(self) -> None:
            self.pieces = ()

    assert frugal(None) is None
    odd = Renamed()
    monkeypatch.setattr(_compositor, "ChopsUpdate", Renamed)
    assert frugal(odd) is odd
    monkeypatch.delattr(_compositor, "ChopsUpdate")
    assert frugal(odd) is odd


def test_all_applications_send_the_changed_cells_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[object] = []
    monkeypatch.setattr(App, "_display", lambda self, screen, update: shown.append(update))
    update = _compositor.ChopsUpdate([{}], [(0, 0, 1)], [[1]])
    ThemedApp._display(object.__new__(ThemedApp), None, update)  # type: ignore[arg-type]
    assert isinstance(shown[0], ChangedCells)

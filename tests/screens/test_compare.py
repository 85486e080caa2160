"""Several runs on one screen, from the keyboard alone: read from the disk, aligned, measured against each other."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from textual.pilot import Pilot

from engine.config import dump_config, load_config
from engine.events import Stamped
from engine.events.codec import encode
from engine.rundir import RunDir, this_process, write_run_info
from pgs_tui.appearance.look import GlyphName, Look
from pgs_tui.apps.compare import CompareApp
from pgs_tui.apps.themed import Goodbye
from pgs_tui.drawing.lines import text_of
from pgs_tui.goals import Attach, Compare, CompareRuns, ListRuns
from pgs_tui.keys import keys_of
from pgs_tui.runs.past import LONG_BYTES, past_of
from pgs_tui.runs.source import LocalRun
from tests.comparing.made_runs import evaluated, falling, resumed, told, write
from tests.pgs_tui.making import step
from tests.screens.inspecting import until

QUICKSTART = Path(__file__).parents[2] / "configs" / "quickstart.yaml"
STEPS = 100


@pytest.fixture
def runs(tmp_path: Path) -> list[RunDir]:
    """Three that are over: of 100 and of 200 steps, and one that was resumed and tells no tokens."""
    events = [
        evaluated(told(falling(STEPS)), {50: 2.5, 100: 1.9}),
        told(falling(2 * STEPS, lift=0.5), lr=5e-5),
        resumed(told(falling(90, lift=1.0), tokens=0), 60, falling(20, lift=1.0), tokens=0),
    ]
    found = [write(tmp_path / f"20261130-10{number}000-made", one) for number, one in enumerate(events)]
    for run, epochs in zip(found[:2], ("1", "2"), strict=True):
        loaded = load_config(QUICKSTART, ["--train.epochs", epochs], check_files=False)
        run.config_yaml.write_text(dump_config(loaded.config))
    return found


class Comparing:
    """The application, and what it shows."""

    def __init__(self, app: CompareApp, pilot: Pilot[Goodbye]) -> None:
        self.app = app
        self.pilot = pilot
        self.screen = app.compare_screen

    async def press(self, *keys: str) -> None:
        await self.pilot.press(*keys)
        await self.pilot.pause()

    async def until(self, true: Callable[[], object]) -> None:
        await until(self.pilot, true)

    async def read(self) -> None:
        """Wait until all logs and configs have been read and are shown."""
        await self.until(lambda: not self.screen.comparison.loading)
        await self.until(lambda: "reading" not in self.text("differences") and "reading" not in self.text("status"))
        self.screen.show_now()
        await self.pilot.pause()

    def text(self, pane: str) -> str:
        return "\n".join(text_of(row) for one in self.screen.drawn if one.id == pane for row in one.lines)

    def row(self, place: int) -> str:
        """What is told of the run at this place."""
        run = self.screen.comparison.runs[place]
        return next(row for row in self.text("runs").splitlines() if f"{run.sign}" in row[:6] and run.name[:6] in row)


@asynccontextmanager
async def comparing(
    runs: Sequence[RunDir], size: tuple[int, int] = (120, 36), look: Look | None = None, back: ListRuns | None = None
) -> AsyncIterator[Comparing]:
    sources = tuple(LocalRun(run, "made", past=past_of(run.events)) for run in runs)
    app = CompareApp(CompareRuns(sources, back), look or Look())
    async with app.run_test(size=size) as pilot:
        shown = Comparing(app, pilot)
        await shown.read()
        yield shown


async def test_all_runs_are_drawn_and_told(runs: list[RunDir]) -> None:
    async with comparing(runs) as shown:
        chart = shown.text("metric")
        assert all(sign in chart for sign in "123")
        assert "100000-made" in chart, "the legend names them"
        assert "200" in shown.row(1) and "finished" in shown.row(1) and "+0.500" in shown.row(1)
        assert "1.900 @ 100" in shown.row(0)
        assert "all are over" in shown.text("status")


async def test_the_cursor_reads_all_runs_at_one_place(runs: list[RunDir]) -> None:
    async with comparing(runs) as shown:
        await shown.press("s", "s")  # raw values
        await shown.press("home", "L", "L")
        at = int(shown.screen.comparison.cursor or 0)
        assert 1 < at < 90
        assert f"at step {at}" in shown.text("runs")
        assert f"{falling(STEPS)[at - 1]:.3f}" in shown.row(0)
        assert "+0.500" in shown.row(1) and "+1.000" in shown.row(2)
        await shown.press("end")
        assert "at step 200" in shown.text("runs")
        assert "ended before" in shown.row(0) and "ended before" in shown.row(2)
        await shown.press("escape")
        assert "newest values" in shown.text("runs")


async def test_along_tokens_a_run_that_tells_none_is_left_out_and_says_so(runs: list[RunDir]) -> None:
    async with comparing(runs) as shown:
        await shown.press("t")
        assert "by tokens" in shown.text("status")
        assert "tells no tokens" in shown.row(2)
        assert [curve.sign for curve in shown.screen.comparison.curves("loss")(80).others] == ["2", "1"]  # type: ignore[misc]
        await shown.press("t")
        assert "by time" in shown.text("status") and "tells no" not in shown.text("runs")


async def test_another_run_becomes_the_baseline(runs: list[RunDir]) -> None:
    async with comparing(runs) as shown:
        await shown.press("down", "b")
        assert "less 2" in shown.text("runs") and "-0.500" in shown.row(0)
        assert "2◆" in shown.text("runs")


async def test_a_run_is_hidden_and_shown_but_never_the_last(runs: list[RunDir]) -> None:
    async with comparing(runs) as shown:
        await shown.press("1", "2")
        assert [run.sign for run in shown.screen.comparison.drawn] == ["3"]
        await shown.press("3", "6")
        assert [run.sign for run in shown.screen.comparison.drawn] == ["3"]
        assert "there is no run 6" in shown.text("keys")
        await shown.press("1")
        assert {run.sign for run in shown.screen.comparison.drawn} == {"1", "3"}


async def test_metrics_go_round_and_only_those_with_values(runs: list[RunDir]) -> None:
    async with comparing(runs, size=(80, 24)) as shown:
        seen = []
        for _ in range(6):
            seen.append(shown.screen.comparison.shown.metric)
            await shown.press("m")
        assert seen == ["loss", "eval", "grad_norm", "tok_s", "dt", "lr"]
        assert shown.screen.comparison.shown.metric == "loss"


async def test_differing_keys_stand_there_with_the_runs_that_have_them(runs: list[RunDir]) -> None:
    async with comparing(runs, size=(80, 24)) as shown:
        assert not shown.screen.differences.display
        await shown.press("d")
        text = shown.text("differences")
        assert "train.epochs" in text and "1 1.0" in text and "2 2.0" in text
        assert "3: it has no config" in text and "1 key differs" in text
        assert not shown.screen.chart.display or shown.screen.chart.size.height == 0
        assert "zoom" not in shown.text("keys") and "d curves" in shown.text("keys")
        await shown.press("escape")
        assert "zoom" in shown.text("keys") and "d configs" in shown.text("keys")
        assert not shown.screen.differences.display


async def test_a_window_closer_and_back(runs: list[RunDir]) -> None:
    async with comparing(runs) as shown:
        whole = shown.screen.comparison.window
        await shown.press("home", "L", "plus")
        closer = shown.screen.comparison.window
        assert whole is not None and closer is not None and closer[1] - closer[0] < whole[1] - whole[0]
        await shown.press("greater_than_sign", "0", "escape")
        assert shown.screen.comparison.window == whole


async def test_a_live_run_grows_and_becomes_the_measure_when_it_is_the_longest(tmp_path: Path) -> None:
    done = write(tmp_path / "20261130-100000-made", told(falling(50)))
    going = write(tmp_path / "20261130-110000-made", told(falling(20, lift=0.2)), end=None)
    write_run_info(going, this_process(going, "made"))
    async with comparing([going, done]) as shown:
        assert "1 of them going" in shown.text("status")
        await shown.press("s", "s", "home", "L", "L")
        before = shown.screen.comparison.cursor
        with going.events.open("a") as log:
            log.writelines(
                f"{encode(one.event, one.t)}\n" for one in [Stamped(2000.0 + n, step(n, 1.8)) for n in range(21, 81)]
            )
        await shown.until(lambda: shown.screen.comparison.runs[0].history.last_step == 80)
        await shown.until(lambda: shown.screen.comparison.ground and shown.screen.comparison.ground.steps[-1] == 80)
        assert shown.screen.comparison.cursor == before
        await shown.press("end")
        assert "ended before" in shown.row(1) and "1.8" in shown.row(0)


async def test_long_logs_are_surveyed_first_and_read_one_after_the_other(tmp_path: Path) -> None:
    long = int(LONG_BYTES / 350)
    paths = [tmp_path / f"20261130-1{number}0000-made" for number in range(3)]
    runs = [write(path, told(falling(long, lift=number / 4))) for number, path in enumerate(paths)]
    assert all(run.events.stat().st_size > LONG_BYTES for run in runs)
    async with comparing(runs) as shown:
        assert [len(run.history.steps) for run in shown.screen.comparison.runs] == [long] * 3
        assert "all are over" in shown.text("status")


@pytest.mark.parametrize(
    ("size", "glyphs"),
    [
        ((60, 15), "braille"),
        ((80, 24), "ascii"),
        ((120, 36), "blocks"),
        ((200, 50), "ascii"),
        ((40, 10), "braille"),
        ((20, 5), "ascii"),
    ],
)
async def test_every_size_in_every_look(runs: list[RunDir], size: tuple[int, int], glyphs: GlyphName) -> None:
    async with comparing(runs, size, Look(glyphs=glyphs)) as shown:
        await shown.press("home", "L", "d", "d", "m", "y")
        text = "\n".join(text_of(row) for one in shown.screen.drawn for row in one.lines)
        assert glyphs != "ascii" or text.isascii()
        assert size[0] < 60 or all(sign in shown.text("runs") for sign in "123")
        assert size[0] < 60 or all(sign in shown.text("metric") for sign in "123")


async def test_enter_opens_the_run_and_leads_back(runs: list[RunDir]) -> None:
    async with comparing(runs) as shown:
        await shown.press("down", "enter")
    goodbye = shown.app.return_value
    assert goodbye is not None and isinstance(goodbye.next, Attach)
    assert goodbye.next.run == str(runs[1].path)
    assert goodbye.next.back == Compare(tuple(str(run.path) for run in runs))


async def test_escape_goes_back_to_the_list_and_q_away(runs: list[RunDir]) -> None:
    back = ListRuns("runs")
    async with comparing(runs[:2], back=back) as shown:
        await shown.press("escape")
    assert shown.app.return_value is not None and shown.app.return_value.next == back
    async with comparing(runs[:2], back=back) as shown:
        await shown.press("q")
    assert shown.app.return_value == Goodbye()


async def test_every_key_of_the_screen_does_something_without_breaking_it(runs: list[RunDir]) -> None:
    leaving = {"q", "escape", "enter", "ctrl+c", "question_mark"}
    async with comparing(runs, (80, 24)) as shown:
        for key in (key for entry in keys_of("compare") for key in entry.keys):
            if key not in leaving:
                await shown.pilot.press(key)
        await shown.pilot.pause()
        assert shown.app.return_code is None


async def test_a_run_without_any_step_is_no_trouble(tmp_path: Path, runs: list[RunDir]) -> None:
    empty = write(tmp_path / "20261130-150000-empty", told([]), end=None)
    async with comparing([empty, runs[0]]) as shown:
        await shown.press("home", "l", "t", "m", "b")
        assert "no step yet" in shown.row(0)

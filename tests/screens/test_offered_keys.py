"""The key bar and the help page of every screen: what they offer fits, and can be done with what is shown."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine.rundir import RunDir
from pgs_tui.appearance.first_hints import first_hints
from pgs_tui.drawing.lines import text_of
from pgs_tui.foreign.foreign_run import WHY_NOT, ForeignRun
from pgs_tui.goals import AttachTo, ListRuns
from pgs_tui.keys import TABLES, ScreenName, fitting, hints_of, keys_of
from pgs_tui.replaying.replayed_run import ReplayedRun
from pgs_tui.runs.follow import Update
from pgs_tui.runs.source import Ability, LocalRun, Source
from screens.dialogs.help import HelpScreen
from tests.listing.making import make_run
from tests.pgs_tui.making import stamped
from tests.screens.far_run import FarRun
from tests.screens.hosting import hosted, screen_text
from tests.screens.listing import listed
from tests.screens.scenes import training
from tests.screens.test_states import DONE

STEERS = {"x", "P", "C E", "r"}
WRITES = {"w", "e"}
READS_HERE = {"i", "p"}


class OtherTool(LocalRun):
    """Training of another tool, without the process that reads it."""

    abilities = ForeignRun.abilities

    def why_not(self, ability: Ability) -> str:
        return "" if ability in self.abilities else WHY_NOT[ability]


SOURCES = {"here": lambda path: LocalRun(RunDir(path)), "far": FarRun, "foreign": lambda path: OtherTool(RunDir(path))}
NOT_OFFERED = {
    ("here", False): {"R"},
    ("here", True): {"R"} | STEERS | WRITES,
    ("far", False): READS_HERE,
    ("far", True): READS_HERE | STEERS | WRITES,
    ("foreign", False): {"R"} | READS_HERE | STEERS,
}


@pytest.mark.parametrize("screen", TABLES)
@pytest.mark.parametrize("columns", [60, 80, 120])
def test_every_bar_fits_with_how_to_leave_and_where_help_is(screen: ScreenName, columns: int) -> None:
    shown = fitting(hints_of(screen), columns)
    assert sum(len(key) + len(meaning) + 3 for key, meaning in shown) - 1 <= columns
    assert shown[0][0] == "q" and shown[-1][0] == "?" and len(shown) > 2


@pytest.mark.parametrize(("kind", "readonly"), NOT_OFFERED)
async def test_a_dashboard_offers_what_can_be_done_with_its_run(tmp_path: Path, kind: str, readonly: bool) -> None:
    source: Source = SOURCES[kind](tmp_path)
    async with hosted(tmp_path, (200, 50), goal=AttachTo(source, readonly)) as (app, pilot):
        bars = [app.texts["keys"]]
        await app.deliver(pilot, training())
        bars.append(app.texts["keys"])
        left_out = NOT_OFFERED[kind, readonly]
        offered = {entry.shown for entry in keys_of("dashboard", app.live.lacking)}
        assert {entry.shown for entry in keys_of("dashboard")} - offered == left_out
        for bar in bars:
            for key, hint in hints_of("dashboard"):
                assert key not in left_out or f"{key} {hint}" not in bar, f"{key} can do nothing there"
        assert all(("run goes on" in bar) == (kind != "foreign") for bar in bars), "nobody here knows whether it does"
        await app.deliver(pilot, Update(events=stamped(DONE), life="gone"))
        assert "stop…" not in app.texts["keys"] and "run goes on" not in app.texts["keys"]
        await pilot.press("question_mark")
        assert isinstance(app.screen, HelpScreen)
        page = [text_of(row).lstrip("│ ") for row in app.screen._page._text(72)]
        keys = page[: page.index("signs") - 1]
        assert not [row for row in keys for key in left_out if row.startswith(f"{key} ".ljust(12))]


async def test_a_replay_offers_nothing_that_asks_something_of_an_engine(tmp_path: Path) -> None:
    goal = AttachTo(ReplayedRun(LocalRun(RunDir(tmp_path))))
    assert STEERS.isdisjoint(dict(first_hints(goal))) and "play, hold" in dict(first_hints(goal)).values()
    assert dict(first_hints(goal))["q"] == "leave"


@pytest.mark.parametrize("readonly", [False, True])
async def test_a_list_opened_readonly_offers_no_key_that_writes(here: Path, readonly: bool) -> None:
    make_run(here / "runs", "one")
    goal = ListRuns(str(here / "runs"), readonly)
    async with listed(None, (200, 50), goal=goal) as (screen, pilot):
        offered = dict(first_hints(goal))
        bar = screen_text(screen.app)[-1]
        assert all(f"{key} {hint}" in bar for key, hint in offered.items())
        assert {"t", "n", "D", "R"}.isdisjoint(offered) == readonly
        await pilot.press("question_mark")
        page = "\n".join(screen_text(screen.app))
        assert ("delete it from the disk" in page) != readonly and "watch the run" in page


def test_a_list_of_another_machine_offers_no_key_that_writes_there() -> None:
    assert {"t", "n", "D"}.isdisjoint(dict(first_hints(ListRuns("me@box:runs"))))

"""Makes the pictures of docs/replay.md and docs/foreign-runs.md: `PYTHONPATH=. .venv/bin/python docs/pictures/make.py`.

A run is played to a step and held there, so that a picture shows the same whenever it is made. The run is the made-up
night of the tests, or a run's folder that is given: `make.py RUN STEP FILE.svg [COLUMNSxROWS]`.
"""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import sys
import tempfile
from pathlib import Path

from engine.rundir import RunDir
from pgs_tui.appearance.look import look_of
from pgs_tui.apps.dashboard import PgsApp
from pgs_tui.foreign.foreign_run import ForeignRun
from pgs_tui.goals import AttachTo
from pgs_tui.replaying.replayed_run import ReplayedRun
from pgs_tui.runs.source import LocalRun, Source
from tests.foreign.samples import STATE
from tests.replaying.playing import night_on_disk

HERE = Path(__file__).parent
PATIENCE = 30.0
FAR_FONTS = re.compile(r"@font-face\s*\{[^}]*\}\s*")
"""A document must not fetch anything."""


async def picture(source: Source, size: tuple[int, int], no_colour: bool = False, keys: tuple[str, ...] = ()) -> str:
    """The dashboard of the run once all of it is shown, as SVG."""
    os.environ.pop("NO_COLOR", None)
    if no_colour:
        os.environ["NO_COLOR"] = "1"
    app = PgsApp(AttachTo(source), look_of(os.environ, "utf-8", None, False))
    async with app.run_test(size=size) as pilot:
        async with asyncio.timeout(PATIENCE):
            while app.dashboard.live is None or app.dashboard.live.loading or not app.dashboard.live.history.steps:
                await pilot.pause()
        await pilot.press(*keys)
        await pilot.pause()
        app.dashboard.show_now()
        await pilot.pause()
        return FAR_FONTS.sub("", app.export_screenshot(title="pgs-tui"))


async def all_pictures(folder: Path) -> None:
    """Those of the documentation."""
    run = night_on_disk(folder / "20260101-220000-night")
    other = folder / "outputs" / "my-model"
    other.mkdir(parents=True)
    shutil.copy(STATE, other)
    made = {
        "replay.svg": (ReplayedRun(LocalRun(run), at=231, plays=False), (120, 36), False),
        "replay-60x15-no-colour.svg": (ReplayedRun(LocalRun(run), at=340, plays=False), (60, 15), True),
        "foreign.svg": (ForeignRun(other), (100, 28), False),
    }
    for name, (source, size, no_colour) in made.items():
        (HERE / name).write_text(await picture(source, size, no_colour), encoding="utf-8")
        source.close()


async def one_picture(run: str, step: str, file: str, size: str = "120x36") -> None:
    """Of a run's folder."""
    columns, rows = map(int, size.split("x"))
    source = ReplayedRun(LocalRun(RunDir(Path(run))), at=int(step), plays=False)
    Path(file).write_text(await picture(source, (columns, rows)), encoding="utf-8")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as made:
        os.environ["XDG_STATE_HOME"] = made  # the layout of the person who makes them plays no part
        asyncio.run(one_picture(*sys.argv[1:]) if sys.argv[1:] else all_pictures(Path(made)))

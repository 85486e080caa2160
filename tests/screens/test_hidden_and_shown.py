"""What is hidden and comes back in the size that it had shows what it has to say now."""

from dataclasses import replace
from pathlib import Path

from engine.events import End, Phase
from pgs_tui.runs.follow import Update
from tests.pgs_tui.making import stamped
from tests.screens.hosting import hosted, screen_text
from tests.screens.scenes import START, training


async def test_the_banner_of_the_end_is_not_that_of_the_beginning(tmp_path: Path) -> None:
    async with hosted(tmp_path, now=1001.0) as (app, pilot):
        opening = stamped(START, Phase(name="loading model"), start=990.0)
        await app.deliver(pilot, Update(events=opening, life="live"))
        assert "loading model" in screen_text(app)[1]
        await app.deliver(pilot, training())
        assert "loading model" not in "".join(screen_text(app)[:3])
        end = End(status="stopped", reason="asked to", exit_code=0, last_step=1240)
        await app.deliver(pilot, replace(Update(), events=stamped(end, start=1001.0), life="gone"))
        assert "stopped at step" in screen_text(app)[1]

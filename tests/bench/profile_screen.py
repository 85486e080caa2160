"""How quickly the bars of the profile screen follow a key, with the real profiler but without a terminal's own time.

    python tests/bench/profile_screen.py [--config configs/qwen35_4b/a100_40gb.yaml] [--gpu a100-40] [--quiet 12]

Each of the settings gets a press of the right arrow: with one profiler at once, with another one after it has had
`--quiet` seconds to look ahead.
"""

from __future__ import annotations

import argparse
import asyncio
import time
from pathlib import Path

from pgs_tui.appearance.look import Look
from pgs_tui.apps.profile import ProfileApp
from pgs_tui.goals import ProfileConfig
from pgs_tui.profiling.settings import SETTINGS
from screens.profile.screen import ProfileScreen

PATIENCE = 120.0
POLLED_SECONDS = 0.002


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--config", type=Path, default=Path("configs/qwen35_4b/a100_40gb.yaml"))
    parser.add_argument("--gpu", default="a100-40")
    parser.add_argument("--quiet", type=float, default=12.0, help="seconds that the profiler gets to look ahead")
    options = parser.parse_args()
    goal = ProfileConfig(options.config, (), options.config.stem, options.gpu)
    at_once, later = (asyncio.run(measured(goal, quiet)) for quiet in (0.0, options.quiet))
    for setting in SETTINGS:
        print(f"{setting.name:24} {at_once[setting.key] * 1000:5.0f} ms {later[setting.key] * 1000:5.0f} ms")


async def measured(goal: ProfileConfig, quiet: float) -> dict[str, float]:
    """Seconds for a press on each setting, with a profiler of its own that is left alone for `quiet` seconds first."""
    app = ProfileApp(goal, Look())
    started = time.perf_counter()
    async with app.run_test(size=(120, 36)):
        await answered(app.profile_screen)
        print(f"first estimate {time.perf_counter() - started:.2f} s")
        await asyncio.sleep(quiet)
        return {setting.key: await pressed(app.profile_screen, setting.key) for setting in SETTINGS}


async def pressed(screen: ProfileScreen, key: str) -> float:
    """Seconds from the right arrow on a setting until what it shows is shown; then it is taken back."""
    screen.settings.select([row.key for row in screen.settings.rows].index(key))
    started = time.perf_counter()
    screen.action_right()
    await answered(screen)
    took = time.perf_counter() - started
    screen.action_undo()
    await answered(screen)
    return took


async def answered(screen: ProfileScreen) -> None:
    """Wait until the screen shows what it asked for, or why there is no such thing."""
    end = time.perf_counter() + PATIENCE
    while screen.profiling.profile is None or (screen.profiling.is_behind and not screen.profiling.problem):
        assert time.perf_counter() < end, "no answer"
        await asyncio.sleep(POLLED_SECONDS)


if __name__ == "__main__":
    main()

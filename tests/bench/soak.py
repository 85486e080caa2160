"""Whether the dashboard stays as small as it was: an hour of 20 events a second, replayed at speed.

    PYTHONPATH=. python tests/bench/soak.py [--seconds 3600] [--size 120x36] [--most 12]

A real log grows, a real follower reads it from its thread, and the whole application draws it, in a terminal of which
the codes are made and thrown away. Keys move the cursor, zoom, maximise and resize all the while. Prints memory and the
number of objects at each quarter; the exit code is 1 when memory grew from the first quarter to the last by more than
`--most` MB. What must grow is the history: about 100 bytes for each step, 5 MB here.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import os
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from textual.events import Key
from textual.pilot import Pilot

from engine.events import (
    Alert,
    Checkpoint,
    Eval,
    Event,
    Gpu,
    Host,
    ModelInfo,
    Phase,
    Start,
    encode,
)
from engine.events.types import AlertState
from engine.rundir import RunDir, this_process, write_run_info
from pgs_tui.apps.themed import Goodbye
from pgs_tui.runs.follow import Follower
from pgs_tui.runs.source import LocalRun
from screens.dashboard.live import LiveRun
from tests.bench.watching.in_process import Unattended
from tests.bench.watching.runs import steps_from

STEPS_A_SECOND = 16
EVENTS_A_SECOND = 20
AT_ONCE = 10
"""Seconds of the run that are written at once."""
KEYS = (
    *("left", "left", "plus", "n", "greater_than_sign", "f", "t", "s"),
    *("y", "m", "escape", "escape", "escape", "0", "end"),
)
SIZES = ((60, 15), (200, 50))
PAGE = os.sysconf("SC_PAGESIZE")


@dataclass(frozen=True, slots=True)
class Reading:
    """What the process holds once a share of the run was seen."""

    steps: int
    megabytes: float
    objects: int


def main() -> int:
    options = parse()
    with tempfile.TemporaryDirectory() as folder:
        os.environ["XDG_STATE_HOME"] = folder  # the layout that a person has stays as it is
        begin = time.monotonic()
        readings = asyncio.run(soak(Path(folder) / "20260101-000000-soak", options.seconds, options.size))
        took = time.monotonic() - begin
    for reading in readings:
        print(f"{reading.steps:>7} steps  {reading.megabytes:6.1f} MB  {reading.objects:>7} objects")
    grown = readings[-1].megabytes - readings[0].megabytes
    events = options.seconds * EVENTS_A_SECOND
    print(f"{events} events in {took:.0f} s; grown by {grown:.1f} MB from 25 to 100 % (bound: {options.most})")
    return 0 if grown <= options.most else 1


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=int, default=3600, help="of the run, not of this program")
    parser.add_argument("--size", default=(120, 36), type=lambda text: tuple(map(int, text.split("x"))))
    parser.add_argument("--most", type=float, default=12.0, help="MB")
    return parser.parse_args()


async def soak(folder: Path, seconds: int, size: tuple[int, int]) -> list[Reading]:
    """Replay so many seconds of a run; what the process holds after each quarter."""
    folder.mkdir()
    run = RunDir(folder)
    write_run_info(run, this_process(run, "soak"))
    app, readings = Unattended(), list[Reading]()
    source = lines(seconds)
    with run.events.open("a", buffering=1 << 20) as log, run.console_log.open("a") as console:
        async with app.run_test(size=size) as pilot:
            live = LiveRun(LocalRun(run, "soak"))
            app.dashboard.follow(live, Follower.of(run))
            for second in range(0, seconds, AT_ONCE):
                steps = (second + AT_ONCE) * STEPS_A_SECOND
                log.writelines(next(source) for _ in range(AT_ONCE))
                log.flush()
                console.write(f"step={steps}  loss=2.1 lr=1e-05 tok/s=6102 grad_norm=0.41 dt=1.2s\n")
                console.flush()
                await seen(live, steps)
                await use(pilot, second // AT_ONCE, size)
                if (second + AT_ONCE) * 4 // seconds > second * 4 // seconds:
                    readings.append(read_memory(live))
    return readings


async def seen(live: LiveRun, step: int) -> None:
    """Wait until the dashboard knows of the step."""
    while live.history.last_step != step:
        await asyncio.sleep(0.01)


async def use(pilot: Pilot[Goodbye], count: int, size: tuple[int, int]) -> None:
    """What a person does meanwhile."""
    pilot.app.post_message(Key(KEYS[count % len(KEYS)], None))
    if count % 40 == 39:
        await pilot.resize_terminal(*SIZES[count // 40 % len(SIZES)])
    elif count % 40 == 0:
        await pilot.resize_terminal(*size)
    await asyncio.sleep(0.02)


def read_memory(live: LiveRun) -> Reading:
    """After everything that nobody needs is gone."""
    gc.collect()
    resident = int(Path("/proc/self/statm").read_text().split()[1]) * PAGE / 1e6
    return Reading(len(live.history.steps), resident, len(gc.get_objects()))


def lines(seconds: int) -> Iterator[str]:
    """The log, a second at a time, each of as many events."""
    begin = time.time() - seconds
    model = ModelInfo(name="made up", params=4_000_000, trainable=3_000_000)
    start = Start(run="soak", command="", config="", model=model, device="cuda", total_steps=seconds * STEPS_A_SECOND)
    source = steps_from(1)
    for second in range(seconds):
        events: list[Event] = [start, Phase(name="training")] if second == 0 else []
        steps = [next(source) for _ in range(STEPS_A_SECOND)]
        last = steps[-1].step
        events += [replace(one, dt=1 / STEPS_A_SECOND) for one in steps]
        events += [gpu(index, second) for index in range(2)]
        events.append(Host(cpu=180.0, rss=1.2, disk_free=300.0, cores=2))
        events.append(rare(second, last))
        yield "".join(f"{encode(event, begin + second)}\n" for event in events)


def gpu(index: int, second: int) -> Gpu:
    hot = second % 600 < 30 and index == 0
    return Gpu(
        index=index,
        uuid=f"GPU-{index}",
        name="A100",
        utilisation=97.0 - 20 * hot,
        temperature=65.0 + 25 * hot,
        power=290.0,
        used_by_us=15.7,
        total=39.4,
        throttle=("thermal",) if hot else (),
    )


def rare(second: int, step: int) -> Event:
    """One event a second that is neither a step nor a reading."""
    match second % 60:
        case 0:
            return Eval(step=step, loss=2.0 + 100 / (second + 60), best=True, seconds=0.5)
        case 1:
            return Checkpoint(step=step, path=f"checkpoints/step-{step}", seconds=2.0, bytes=8_000_000)
        case 30 | 31 | 32:
            state: AlertState = "open" if second % 60 == 30 else "update" if second % 60 == 31 else "closed"
            return Alert(
                id=f"spike-{second // 60}",
                state=state,
                code="SPIKE_SKIPPED",
                severity="warning",
                meaning="The loss of this batch lies far above those before it.",
                step=step,
                metric="loss",
                value=9.4,
                baseline=2.0,
                rows=(1, 2, 3),
            )
        case _:
            return Phase(name="training")


if __name__ == "__main__":
    raise SystemExit(main())

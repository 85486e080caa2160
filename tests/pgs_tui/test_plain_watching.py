"""A run told line by line, where there is no screen."""

import io
from pathlib import Path

from engine.events import End, Event, Resume, encode
from engine.rundir import RunDir
from pgs_tui.plain import watch
from pgs_tui.runs.source import LocalRun
from tests.pgs_tui.making import step
from tests.screens.scenes import START


def test_only_the_last_end_of_a_run_that_was_resumed_counts(tmp_path: Path) -> None:
    stopped = End(status="stopped", reason="SIGTERM", exit_code=0, last_step=5)
    failed = End(status="failed", reason="out of memory", exit_code=3, last_step=6000)
    resumed = Resume(from_step=5, checkpoint="checkpoints/step-5")
    first, second = map(step, range(1, 6)), map(step, range(6, 6001))
    events: list[Event] = [START, *first, stopped, START, resumed, *second, failed]
    run = RunDir(tmp_path)
    run.events.write_text("".join(encode(event, 1000.0) + "\n" for event in events))
    run.console_log.write_text("step=6000  loss=2\n")
    out = io.StringIO()
    assert watch(LocalRun(run), out) == 3
    assert out.getvalue().splitlines() == ["step=6000  loss=2", "failed at step 6000: out of memory"]

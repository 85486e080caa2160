from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

from engine.events import Stamped, encode
from engine.rundir import RunDir
from tests.screens.night import night

Writer = Callable[[Iterable[Stamped]], RunDir]


@pytest.fixture
def written(tmp_path: Path) -> Writer:
    """Writes events as the log of a run."""

    def write(events: Iterable[Stamped]) -> RunDir:
        run = RunDir(tmp_path / "20261130-120000-night")
        run.path.mkdir()
        run.events.write_text("".join(f"{encode(one.event, one.t)}\n" for one in events))
        return run

    return write


@pytest.fixture
def night_run(written: Writer) -> RunDir:
    """A run in which much happened, with its config and its log."""
    run = written(night(gpus=2, ranks=2).events)
    run.config_yaml.write_text("model:\n  name: m\ntrain:\n  learning_rate: 1.0e-5  # by hand\n")
    run.console_log.write_text("step=1 loss=2.1\nthe last words\n")
    return run

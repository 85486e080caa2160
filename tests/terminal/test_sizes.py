"""A terminal that reports no size, and one that shrinks to nothing while a run goes on."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.terminal.terminal import Terminal, environment, fake_run, program

pytestmark = pytest.mark.terminal


@pytest.fixture
def run(tmp_path: Path) -> Iterator[Path]:
    path = tmp_path / "runs" / "20260101-000000-quickstart"
    with fake_run(path, tmp_path, FAKE_STEPS="1000", FAKE_PAST="50", FAKE_DT="0.2"):
        yield path


def test_a_terminal_of_no_size_at_first(run: Path, tmp_path: Path) -> None:
    terminal = Terminal(program("attach", str(run)), environment(tmp_path), size=(1, 1))
    try:
        terminal.resize(0, 0)
        for _ in range(20):
            terminal.read()
        assert terminal.process.poll() is None
        terminal.resize(80, 24)
        terminal.wait_for("loss", "training", "leave, run goes on")
        terminal.type(b"q")
        assert terminal.wait_for_end() == 0
    finally:
        terminal.close()


def test_a_terminal_that_shrinks_to_nothing_and_comes_back(run: Path, tmp_path: Path) -> None:
    terminal = Terminal(program("attach", str(run)), environment(tmp_path), size=(80, 24))
    try:
        terminal.wait_for("loss", "training")
        for columns, rows in ((20, 5), (1, 1), (200, 2), (0, 0), (2, 60)):
            terminal.resize(columns, rows)
            for _ in range(4):
                terminal.read()
            assert terminal.process.poll() is None, (columns, rows)
        terminal.resize(80, 24)
        terminal.wait_for("loss", "grad norm", "training", "leave, run goes on")
        assert b"Traceback" not in terminal.output
        terminal.type(b"q")
        assert terminal.wait_for_end() == 0
    finally:
        terminal.close()

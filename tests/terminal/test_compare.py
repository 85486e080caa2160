"""`pgs-tui compare` in a real terminal: two runs, one of them alone, and back again."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.comparing.made_runs import falling, told, write
from tests.terminal.terminal import Terminal, environment, program

pytestmark = pytest.mark.terminal


def test_two_runs_one_alone_and_back(tmp_path: Path) -> None:
    runs = [
        write(tmp_path / f"20261130-1{number}0000-made", told(falling(60, lift=number / 2))).path for number in range(2)
    ]
    terminal = Terminal(program("compare", *map(str, runs)), environment(tmp_path / "state"), (80, 24))
    try:
        terminal.wait_for("2 runs", "all are over", "100000-made", "less 1")
        terminal.type(b"\x1b[B\r")  # down, Enter
        terminal.wait_for("finished at step")
        terminal.type(b"\x1b")
        terminal.wait_for("less 1", "all are over")
        terminal.type(b"q")
        assert terminal.wait_for_end() == 0
    finally:
        terminal.close()

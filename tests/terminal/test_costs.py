"""What a step and a key cost a slow link: bytes that the real program writes, counted in a terminal."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.bench.watching.runs import Going, write_run
from tests.terminal.terminal import Terminal, environment, program

pytestmark = pytest.mark.terminal

PAST = 400
STEPS = 4
BYTES_A_STEP = {(80, 24): 1200, (200, 50): 2500}
"""Of 2000 and 7500, which 4 and 15 KB a second are at two steps a second."""
BYTES_A_KEY = 1500
"""To move the focus. A screen of 200x50 that is sent in full takes 20 000."""


@pytest.fixture(params=BYTES_A_STEP, ids=lambda size: f"{size[0]}x{size[1]}")
def watched(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[Terminal, Going]]:
    """The dashboard of a run that goes on, once it has told its past."""
    run = write_run(tmp_path / "runs" / "20260101-000000-costs", PAST, total=5000, ended=False, readings=False)
    going = Going(run, PAST)
    terminal = Terminal(program("attach", str(run.path)), environment(tmp_path), request.param)
    terminal.wait_for("training", "400", "loss")
    rest(terminal)
    yield terminal, going
    terminal.close()
    going.close()


def rest(terminal: Terminal) -> bytes:
    """What is written until nothing more comes."""
    heard = b""
    while data := terminal.read(0.4):
        heard += data
    return heard


def test_a_new_step_is_few_bytes(watched: tuple[Terminal, Going], request: pytest.FixtureRequest) -> None:
    terminal, going = watched
    columns = terminal.text.index("\n")
    bound = next(bytes_ for size, bytes_ in BYTES_A_STEP.items() if size[0] == columns)
    costs = []
    for number in range(PAST + 1, PAST + 1 + STEPS):
        going.step()
        begin = len(terminal.output)
        terminal.wait_for(f"{number}")
        rest(terminal)
        costs.append(len(terminal.output) - begin)
    assert sorted(costs)[STEPS // 2] < bound, costs


def test_the_focus_moves_for_the_two_edges_that_tell_it(watched: tuple[Terminal, Going]) -> None:
    terminal, _ = watched
    costs = []
    for _ in range(3):
        begin = len(terminal.output)
        terminal.type(b"\t")
        terminal.wait_for("━")
        rest(terminal)
        costs.append(len(terminal.output) - begin)
    assert max(costs) < BYTES_A_KEY, costs

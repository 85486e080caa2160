"""In a real terminal multiplexer the screen shows what the log says."""

import json
import subprocess
import time
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from pgs_tui.format import seconds, value
from tests.terminal.terminal import PATIENCE, environment, fake_run, program

pytestmark = [pytest.mark.terminal, pytest.mark.needs("tmux")]


class Tmux:
    """A tmux of its own, with one window."""

    def __init__(self, command: tuple[str, ...], variables: dict[str, str], size: tuple[int, int]) -> None:
        self.socket = f"pgs-{uuid.uuid4().hex[:8]}"
        self.variables = variables
        columns, rows = (str(number) for number in size)
        self.run("-f", "/dev/null", "new-session", "-d", "-x", columns, "-y", rows, *command)
        self.run("set", "-g", "status", "off")

    def run(self, *words: str) -> str:
        command = ["tmux", "-L", self.socket, *words]
        return subprocess.run(command, env=self.variables, check=True, capture_output=True, text=True).stdout

    @property
    def text(self) -> str:
        return self.run("capture-pane", "-p")

    def wait_for(self, *texts: str) -> str:
        end = time.monotonic() + PATIENCE
        while not all(text in (shown := self.text) for text in texts):
            assert time.monotonic() < end, f"waited for {texts}, the screen shows\n{shown}"
            time.sleep(0.1)
        return shown

    def close(self) -> None:
        subprocess.run(["tmux", "-L", self.socket, "kill-server"], capture_output=True, check=False)


@pytest.fixture
def finished(tmp_path: Path) -> Path:
    path = tmp_path / "runs" / "finished"
    with fake_run(path, tmp_path, FAKE_STEPS="300", FAKE_PAST="300", FAKE_GPU="1", FAKE_SPIKE="200") as engine:
        engine.wait()
    return path


@pytest.fixture
def tmux(finished: Path, tmp_path: Path) -> Iterator[Tmux]:
    opened = Tmux(program("attach", str(finished)), environment(tmp_path, TERM="screen-256color"), (120, 36))
    yield opened
    opened.close()


def test_the_five_values_on_the_screen_are_those_of_the_log(tmux: Tmux, finished: Path) -> None:
    events = [json.loads(text) for text in (finished / "events.jsonl").read_text().splitlines()]
    last = [event for event in events if event["event"] == "step"][-1]
    shown = tmux.wait_for("✔ finished", "step 300/300")
    wanted = (value(last["loss"]), value(last["grad_norm"], 3), value(last["tok_s"]), seconds(last["dt"]))
    titles = ("loss", "grad norm", "tok/s", "dt")
    for title, text in zip(titles, wanted, strict=True):
        (row,) = [row for row in shown.splitlines() if f"╭─ {title} " in row]
        panel = row[row.index(f"╭─ {title} ") :].partition("╮")[0]
        assert panel.rstrip("─ ").endswith(text), panel
    assert "16.4 / 39.4 GiB" in shown
    assert "▲ 200  spike skipped" in shown


def test_shrinking_and_growing_the_window_keeps_it_alive(tmux: Tmux) -> None:
    tmux.wait_for("✔ finished")
    for size in ((20, 5), (1, 1), (200, 2), (2, 60), (120, 36)):
        tmux.run("resize-window", "-x", str(size[0]), "-y", str(size[1]))
        time.sleep(0.3)
    tmux.wait_for("✔ finished", "╭─ loss", "╭─ log")

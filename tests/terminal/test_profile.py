"""`pgs-tui profile` in a real terminal with the real profiler, from a config to a written one."""

from pathlib import Path

import psutil
import pytest

from engine.config import load_config
from tests.terminal.terminal import ROOT, Terminal, environment, program
from tests.terminal.test_tmux import Tmux

pytestmark = pytest.mark.terminal

CONFIG = f"""\
# The model of the quickstart.
model:
  name_or_path: {ROOT / "configs/quickstart/model"}
  init: random
data:
  dataset: {ROOT / "configs/quickstart/train.jsonl"}
  max_seq_length: 256  # tokens
train:
  per_device_batch_size: 4  # chats
"""


@pytest.fixture
def config(tmp_path: Path) -> Path:
    path = tmp_path / "small.yaml"
    path.write_text(CONFIG)
    return path


@pytest.mark.needs("tmux")
def test_from_the_first_frame_to_a_written_config(config: Path, tmp_path: Path) -> None:
    command = program("profile", str(config), "--gpu", "4090")
    tmux = Tmux(command, environment(tmp_path, TERM="screen-256color"), (80, 24))
    try:
        tmux.wait_for("✔ fits: needs", "1 024 tokens a step", "weights", "◂")
        tmux.run("send-keys", "j", "l", "l")
        tmux.wait_for("* batch", "was 4", "2 048 tokens a step", "✔ fits: needs")
        tmux.run("resize-window", "-x", "60", "-y", "15")
        tmux.wait_for("✔ fits: needs", "* batch", "weights")
        tmux.run("send-keys", "w")
        tmux.wait_for("write to", "small-2.yaml")
        tmux.run("send-keys", "Enter")
        tmux.wait_for("Written:")
        tmux.run("send-keys", "Enter")
        tmux.wait_for("✔ fits: needs")
        assert config.read_text() == CONFIG
        written = tmp_path / "small-2.yaml"
        assert "per_device_batch_size: 8  # chats" in written.read_text()
        assert load_config(written).config.train.per_device_batch_size == 8
    finally:
        tmux.close()


def test_leaving_restores_the_terminal_and_leaves_no_process(config: Path, tmp_path: Path) -> None:
    terminal = Terminal(program("profile", str(config)), environment(tmp_path))
    try:
        terminal.wait_for("starting the profiler", "batch           4")
        (profiler,) = psutil.Process(terminal.process.pid).children()
        terminal.type(b"q")
        assert terminal.wait_for_end() == 0
        assert terminal.attributes_now() == terminal.attributes
        psutil.wait_procs([profiler], timeout=10)
        assert not profiler.is_running()
    finally:
        terminal.close()


def test_a_config_with_a_fault_is_told_on_stderr(config: Path, tmp_path: Path) -> None:
    config.write_text(CONFIG.replace("dataset", "datasett"))
    terminal = Terminal(program("profile", str(config)), environment(tmp_path))
    try:
        assert terminal.wait_for_end() == 2
        tail = terminal.output[terminal.output.rindex(b"\x1b[?1049l") :].decode()
        assert "small.yaml" in tail and "datasett" in tail and "Traceback" not in tail
    finally:
        terminal.close()

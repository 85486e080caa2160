"""`pgs-tui` without a config in a real terminal, with the real profiler, and without a terminal."""

import json
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.terminal.terminal import ROOT, environment, program
from tests.terminal.test_tmux import Tmux

pytestmark = pytest.mark.terminal

QUICKSTART = ROOT / "configs" / "quickstart"
FIXING = """#!/bin/sh
echo "the editor was told: $1"
sed -i 's/optimiser/optimizer/' "$2"
read -r ready
"""


@pytest.fixture
def here(tmp_path: Path) -> Path:
    """A folder with a config that has a mistake, and one whose runs cannot be put anywhere."""
    folder = tmp_path / "here"
    shutil.copytree(QUICKSTART / "model", folder / "model")
    shape = json.loads((folder / "model" / "config.json").read_text())
    shape |= {"hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 1, "layer_types": ["full_attention"]}
    (folder / "model" / "config.json").write_text(json.dumps(shape))
    (folder / "chats.jsonl").write_text((QUICKSTART / "train.jsonl").read_text()[:2000].rpartition("\n")[0] + "\n")
    (folder / "configs").mkdir()
    lines = ("model:", "  name_or_path: ../model", "  init: random", "data:", "  dataset: ../chats.jsonl", "train:")
    text = "\n".join((*lines, "  output_dir: /dev/null/no\n"))
    (folder / "configs" / "nowhere.yaml").write_text(text)
    (folder / "configs" / "typo.yaml").write_text(f"{text}  optimiser: lion8bit\n")
    (folder / "fixing").write_text(FIXING)
    (folder / "fixing").chmod(0o755)
    return folder


@pytest.mark.needs("tmux")
def test_a_config_is_edited_estimated_and_started_from_the_list(here: Path, tmp_path: Path) -> None:
    variables = environment(tmp_path, TERM="screen-256color", VISUAL=f"{here / 'fixing'} --quickly")
    command = f"cd {shlex.quote(str(here))}; {shlex.join(program())}; echo it left with $?; sleep 100"
    tmux = Tmux(("sh", "-c", command), variables, (100, 30))
    try:
        tmux.wait_for("nowhere", "✖ line 8: train.optimiser: unknown key; did you mean train.optimizer?")
        tmux.run("send-keys", "Down", "e")
        tmux.wait_for("the editor was told: --quickly")
        tmux.run("send-keys", "x", "Enter")
        tmux.wait_for("›  typo", "lion8bit at 1e-05", "✔ 2 valid")
        tmux.wait_for("GiB at the peak")
        tmux.run("resize-window", "-x", "60", "-y", "15")
        tmux.wait_for("typo", "1 × 2 048")
        tmux.run("send-keys", "Enter")
        shown = tmux.wait_for("the run's directory cannot be made", "it left with 1")
        assert "Traceback" not in shown
    finally:
        tmux.close()


def test_without_a_terminal_the_list_is_text(here: Path, tmp_path: Path) -> None:
    done = subprocess.run(
        program(), env=environment(tmp_path), cwd=here, stdin=subprocess.DEVNULL, capture_output=True, check=False
    )
    assert done.returncode == 0, done.stderr
    told = done.stdout.decode()
    assert "  nowhere  all weights, chats.jsonl, 1 × 2 048" in told and "invalid: line 8" in told
    assert "\x1b" not in told

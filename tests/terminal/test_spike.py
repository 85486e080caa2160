"""From a row that poisons a run to its tokens: the engine flags the step, and the screens lead to the very line."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from engine.rundir import RunDir
from tests.terminal.terminal import ROOT, Terminal, environment, program
from tests.train.conftest import tiny_model  # noqa: F401

pytestmark = pytest.mark.terminal
QUICKSTART = ROOT / "configs" / "quickstart"
POISONED = 40
"""The row that is poisoned; it stands in the next line of the file."""


@pytest.fixture
def run(tmp_path: Path, tiny_model: Path) -> RunDir:  # noqa: F811
    """A run over sixty chats, one of which has an answer of random signs; its own detector finds that."""
    rows = [json.loads(line) for line in (QUICKSTART / "train.jsonl").read_text().splitlines()[:60]]
    signs = random.Random(1).choices([chr(code) for code in range(0x4E00, 0x4E40)], k=80)
    rows[POISONED]["messages"][-1]["content"] = "".join(signs)
    (tmp_path / "chats.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    config = {
        "model": {"name_or_path": str(tiny_model), "init": "random"},
        "data": {"dataset": "chats.jsonl", "eval_split": None, "max_seq_length": 256},
        "train": {
            "output_dir": str(tmp_path / "runs"),
            "max_steps": 130,
            "per_device_batch_size": 2,
            "learning_rate": 2.0e-3,
            "optimizer": "adamw",
            "spike_detection": True,
        },
    }
    (tmp_path / "poisoned.yaml").write_text(yaml.safe_dump(config))
    done = subprocess.run(
        [sys.executable, "-m", "engine", "train", "--config", str(tmp_path / "poisoned.yaml")],
        env=environment(tmp_path, OMP_NUM_THREADS="1"),
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    (folder,) = (tmp_path / "runs").iterdir()
    return RunDir(folder)


@pytest.fixture
def flagged(run: RunDir) -> int:
    """The last step that was skipped because of the row."""
    events = [json.loads(line) for line in run.events.read_text().splitlines()]
    steps = [event for event in events if event["event"] == "step"]
    found = [step["step"] for step in steps if step["skipped"] and POISONED in step["rows"]]
    assert found, "the engine's own detector finds the row"
    return int(found[-1])


def test_from_a_poisoned_row_to_its_line(run: RunDir, flagged: int, tmp_path: Path) -> None:
    variables = environment(tmp_path)
    said = subprocess.run(
        [sys.executable, "-m", "engine", "inspect", "--spike", f"{run.path}:{flagged}"],
        env=variables,
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    first_row = next(line for line in said.splitlines() if "row " in line and "mean loss" in line and "chats" in line)
    assert f"chats.jsonl:{POISONED + 1} " in first_row

    terminal = Terminal(program("attach", str(run.path)), variables, size=(120, 36))
    try:
        terminal.wait_for("finished", "alerts (")
        chosen = f" step {flagged}  loss"  # the line of the cursor, which stands where the alert struck
        for _ in range(40):
            terminal.type(b"N")
            terminal.wait_until_read()
            terminal.read(3.0)
            while terminal.read(0.3):  # until all of it is drawn
                pass
            if chosen in terminal.text:
                break
        terminal.wait_for(chosen)
        terminal.type(b"\r")
        text = terminal.wait_for(f"rows of step {flagged}, worst first", f"chats.jsonl:{POISONED + 1} ", "9+")
        first, second = (line for line in text.splitlines() if "chats.jsonl:" in line and "│" in line[:1])
        assert f"chats.jsonl:{POISONED + 1} " in first and "›" in first, second
        terminal.type(b"\r")
        terminal.wait_for("1. worst of")
        terminal.type(b"\x1b")
        terminal.type(b"\x1b")
        terminal.wait_for(chosen)
    finally:
        terminal.close()

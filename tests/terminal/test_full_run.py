"""The main job, with nothing replaced: config -> dashboard in tmux -> engine -> log -> screen."""

import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from engine.rundir import RunDir, liveness
from pgs_tui.format import gib, seconds, value
from tests.terminal.terminal import ROOT, environment, program
from tests.terminal.test_tmux import Tmux

pytestmark = [pytest.mark.terminal, pytest.mark.needs("tmux")]

QUICKSTART = ROOT / "configs" / "quickstart"
STEPS = 40


@pytest.fixture
def config(tmp_path: Path) -> Path:
    """A config that trains a very small model on real chats within seconds."""
    model = tmp_path / "model"
    shutil.copytree(QUICKSTART / "model", model)
    shape = json.loads((model / "config.json").read_text())
    shape |= {
        "model_type": "qwen3",
        "architectures": ["Qwen3ForCausalLM"],
        "hidden_size": 32,
        "intermediate_size": 48,
        "num_hidden_layers": 2,
        "layer_types": ["full_attention"] * 2,
        "head_dim": 8,
    }
    (model / "config.json").write_text(json.dumps(shape))
    chats = (QUICKSTART / "train.jsonl").read_text().splitlines(keepends=True)
    (tmp_path / "chats.jsonl").write_text("".join(chats[:80]))
    settings = {
        "model": {"name_or_path": "model", "init": "random"},
        "data": {"dataset": "chats.jsonl", "eval_split": 0.1, "eval_every": 20, "max_seq_length": 128},
        "train": {
            "output_dir": str(tmp_path / "runs"),
            "max_steps": STEPS,
            "per_device_batch_size": 2,
            "learning_rate": 0.001,
            "optimizer": "lion8bit",
        },
    }
    path = tmp_path / "tiny.yaml"
    path.write_text(yaml.safe_dump(settings))
    return path


@pytest.fixture
def tmux(config: Path, tmp_path: Path) -> Iterator[Tmux]:
    opened = Tmux(
        program(str(config)), environment(tmp_path, TERM="screen-256color", OMP_NUM_THREADS="1"), size=(120, 36)
    )
    yield opened
    opened.close()


def test_the_five_values_of_a_real_run_are_those_of_its_log(tmux: Tmux, tmp_path: Path) -> None:
    tmux.wait_for("✔ finished", f"step {STEPS}/{STEPS}", "eval ")
    [folder] = (tmp_path / "runs").iterdir()
    run = RunDir(folder)
    assert liveness(run) == "finished"
    events = [json.loads(line) for line in run.events.read_text().splitlines()]
    last = _last(events, "step")
    shown = tmux.wait_for(value(last["loss"]), seconds(last["dt"]))  # a frame comes to the terminal in pieces
    assert _on_border(shown, "loss") == value(last["loss"])
    assert _on_border(shown, "grad norm") == value(last["grad_norm"], 3)
    assert _on_border(shown, "tok/s") == value(last["tok_s"])
    assert _on_border(shown, "dt") == seconds(last["dt"])
    host = _last(events, "host")
    assert _on_border(shown, "process memory").startswith(f"{gib(host['rss'])} / ")
    best = min(event["loss"] for event in events if event["event"] == "eval")
    assert f"best {value(best)}" in shown


def test_leaving_leaves_the_run_and_attach_finds_it_again(tmux: Tmux, config: Path, tmp_path: Path) -> None:
    tmux.wait_for("● training")
    tmux.run("send-keys", "q")
    again = Tmux(program("attach"), environment(tmp_path, TERM="screen-256color"), size=(80, 24))
    try:
        again.wait_for("✔ finished", f"{STEPS}/{STEPS}")
    finally:
        again.close()


def _last(events: list[dict[str, Any]], kind: str) -> dict[str, Any]:
    return [event for event in events if event["event"] == kind][-1]


def _on_border(shown: str, title: str) -> str:
    """The value at the right end of a panel's upper border."""
    [row] = [row for row in shown.splitlines() if f"╭─ {title} " in row]
    border = row[row.index(f"╭─ {title} ") :].partition("╮")[0]
    found = re.search(r"([^─]+)[─ ]*$", border)
    assert found is not None, border
    return found.group(1).strip()


def test_a_pipe_is_told_the_end_once(config: Path, tmp_path: Path) -> None:
    variables = environment(tmp_path, OMP_NUM_THREADS="1")
    train = subprocess.run(
        program(str(config)), env=variables, stdin=subprocess.DEVNULL, capture_output=True, check=True
    )
    again = subprocess.run(program("attach"), env=variables, stdin=subprocess.DEVNULL, capture_output=True, check=True)
    for done in (train, again):
        lines = done.stdout.decode().splitlines()
        assert lines[-1].startswith(f"finished: all {STEPS} steps are done")
        assert sum("finished" in line for line in lines) == 1

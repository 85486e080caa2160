"""A real pretrained model is fine-tuned by the real command, gets better, and loads again with transformers."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
CONFIG = ROOT / "configs" / "smollm2_135m" / "cpu.yaml"
EVAL_CHATS = ROOT / "configs" / "quickstart" / "eval.jsonl"
STEPS = 6
EVAL_ROWS = 10


def python(*arguments: str | Path) -> str:
    """Run Python with these arguments, without network; its standard output.

    One thread: two that wait for each other at every operation stand still when other tests hold the cores.
    """
    quiet = {"HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": ""}
    done = subprocess.run(
        [sys.executable, *map(str, arguments)],
        cwd=ROOT,
        env=os.environ | quiet,
        capture_output=True,
        text=True,
        timeout=400,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-4000:]
    return done.stdout


def events_of(run: Path, kind: str) -> list[dict[str, Any]]:
    lines = (run / "events.jsonl").read_text(encoding="utf-8").splitlines()
    return [event for event in map(json.loads, lines) if event["event"] == kind]


@pytest.mark.real
@pytest.mark.xdist_group("smollm2")
def test_a_real_model_learns_and_its_saved_result_loads_again(smollm2_folder: Path, tmp_path: Path) -> None:
    held_out = tmp_path / "held_out.jsonl"
    with EVAL_CHATS.open(encoding="utf-8") as lines:
        held_out.write_text("".join(islice(lines, EVAL_ROWS)), encoding="utf-8")

    overrides = {
        "model.name_or_path": smollm2_folder,
        "data.eval_dataset": held_out,
        "data.eval_samples": EVAL_ROWS,
        "data.eval_every": STEPS,
        "train.output_dir": tmp_path / "runs",
        "train.max_steps": STEPS,
        "train.gradient_accumulation_steps": 1,
        "train.learning_rate": "5e-5",
        "train.save_steps": "null",
    }
    arguments = [text for key, value in overrides.items() for text in (f"--{key}", str(value))]
    python("-m", "engine", "train", "--config", CONFIG, *arguments)

    (run,) = (tmp_path / "runs").iterdir()
    evaluations = events_of(run, "eval")
    before, after = evaluations[0], evaluations[-1]
    assert (before["step"], after["step"]) == (0, STEPS)
    assert after["loss"] < 0.95 * before["loss"]
    assert [event["status"] for event in events_of(run, "end")] == ["finished"]

    second_opinion = json.loads(python(Path(__file__).with_name("judge.py"), run / "final", held_out))
    assert second_opinion["loss"] == pytest.approx(after["loss"], rel=1e-3)

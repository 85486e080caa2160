"""The runs of TRL's SFTTrainer beside ours: each in a process of its own, on the same rows."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.bench.training.runner import bench_environment
from tests.bench.training.workload import PROJECT, QWEN3_5_4B


@dataclass(frozen=True, slots=True)
class TrlRun:
    """One setting of TRL; `options` are those of `trl_sft.py`."""

    name: str
    rows: int
    length: int
    options: tuple[str, ...]


def _runs(rows: int, length: int, **settings: tuple[str, ...]) -> tuple[TrlRun, ...]:
    return tuple(TrlRun(f"{rows}x{length}_{name}", rows, length, options) for name, options in settings.items())


LION, ADAMW = ("--optim", "lion_8bit"), ("--optim", "adamw_bnb_8bit")
FULL, SELECTIVE, NONE = (("--checkpointing", how) for how in ("full", "selective", "none"))
TRL_RUNS: tuple[TrlRun, ...] = (
    *_runs(
        2,
        2048,
        lion_8bit=(*LION, *FULL),
        adamw_bnb_8bit=(*ADAMW, *FULL),
        lion_8bit_liger=(*LION, *FULL, "--liger"),
        lion_8bit_compile=(*LION, *FULL, "--compile"),
    ),
    *_runs(
        4,
        4096,
        lion_8bit=(*LION, *FULL),
        adamw_bnb_8bit=(*ADAMW, *FULL),
        lion_8bit_liger=(*LION, *FULL, "--liger"),
        lion_8bit_compile=(*LION, *FULL, "--compile"),
        lion_8bit_selective_liger=(*LION, *SELECTIVE, "--liger"),
        lion_8bit_none_liger=(*LION, *NONE, "--liger"),
    ),
)


def trl_runs_named(names: Sequence[str]) -> list[TrlRun]:
    """All of them for `["all"]`. Raises SystemExit with the names that there are."""
    if list(names) == ["all"]:
        return list(TRL_RUNS)
    by_name = {run.name: run for run in TRL_RUNS}
    unknown = [name for name in names if name not in by_name]
    if unknown:
        raise SystemExit(f"no run of TRL named {', '.join(unknown)}; there are {', '.join(by_name)}, or all")
    return [by_name[name] for name in names]


def run_trl(run: TrlRun, shape: str, steps: int, timeout: float) -> dict[str, Any]:
    """The figures of one setting, or how it ended where there are none."""
    length = run.length if shape == QWEN3_5_4B else 64
    command = [sys.executable, str(PROJECT / "tests" / "bench" / "trl_sft.py"), "--shape", shape]
    command += ["--rows", str(run.rows), "--length", str(length), "--steps", str(steps), *run.options]
    with tempfile.TemporaryDirectory() as state:
        try:
            answer = subprocess.run(
                command,
                env=bench_environment(Path(state)),
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                timeout=timeout,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return {"name": run.name, "ended": f"ended after {timeout:.0f} s"}
    printed = answer.stdout.splitlines()
    figures = [line for line in printed if line.startswith('{"optim"')]
    if answer.returncode or not figures:
        return {"name": run.name, "ended": f"exit code {answer.returncode}", "printed": answer.stdout[-3000:]}
    return {"name": run.name, "ended": "finished", **json.loads(figures[-1])}

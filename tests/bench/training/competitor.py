"""The runs of TRL's SFTTrainer beside ours: each in a process of its own, on the same rows."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.bench.training.runner import WARM, bench_environment
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


@dataclass
class TrlProcess:
    """A run of TRL whose process is there."""

    run: TrlRun
    process: subprocess.Popen[bytes]
    printed: Path
    go: Path | None
    """It stands still behind its warm-up until this file is there; None where it does not wait."""

    def is_warm(self) -> bool:
        """Whether it stands behind its warm-up, or has ended."""
        return self.process.poll() is not None or WARM in self.printed.read_text(errors="replace")

    def figures(self, timeout: float) -> dict[str, Any]:
        """Let it go on, wait for its end; its figures, or how it ended where there are none."""
        if self.go is not None:
            self.go.touch()
        try:
            code = self.process.wait(timeout)
        except subprocess.TimeoutExpired:
            return {"name": self.run.name, "ended": f"ended after {timeout:.0f} s", "printed": self._end()}
        lines = self.printed.read_text(errors="replace").splitlines()
        figures = [line for line in lines if line.startswith('{"optim"')]
        if code or not figures:
            return {"name": self.run.name, "ended": f"exit code {code}", "printed": self._end()}
        return {"name": self.run.name, "ended": "finished", **json.loads(figures[-1])}

    def _end(self) -> str:
        return self.printed.read_text(errors="replace")[-3000:]


@contextmanager
def started_trl(run: TrlRun, shape: str, steps: int, *, waits: bool = False) -> Iterator[TrlProcess]:
    """The run, loading; its process is ended with the block. With `waits` it stands behind its warm-up until told."""
    length = run.length if shape == QWEN3_5_4B else 64
    command = [sys.executable, str(PROJECT / "tests" / "bench" / "trl_sft.py"), "--shape", shape]
    command += ["--rows", str(run.rows), "--length", str(length), "--steps", str(steps), *run.options]
    with tempfile.TemporaryDirectory() as state:
        printed, go = Path(state) / "printed.txt", Path(state) / "go" if waits else None
        if go is not None:
            command += ["--wait-for", str(go)]
        with printed.open("wb") as output:
            process = subprocess.Popen(
                command,
                env=bench_environment(Path(state)),
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
            try:
                yield TrlProcess(run, process, printed, go)
            finally:
                with suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                process.wait()

"""Runs on the disk, as an engine leaves them."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from engine.events import Alert, End, Eval, Event, ModelInfo, Phase, Start
from engine.events.codec import encode
from engine.events.types import EndStatus
from engine.rundir import RunDir, this_process, write_run_info
from tests.pgs_tui.making import step

NO_PROCESS = 2**22 + 1
"""Beyond the numbers that Linux gives."""


def start(model: str = "Qwen/Qwen3-4B", total: int | None = 10) -> Start:
    info = ModelInfo(name=model, params=1, trainable=1)
    return Start(run="r", command="pgs train", config="c", model=info, device="cpu", total_steps=total)


def end(status: EndStatus = "finished", reason: str = "all steps done") -> End:
    return End(status=status, reason=reason, exit_code=0, last_step=3)


def make_run(
    folder: Path,
    name: str = "small",
    *events: Event,
    losses: Sequence[float] = (3.0, 2.0, 2.5),
    model: str = "Qwen/Qwen3-4B",
    ended: End | None = None,
    live: bool = False,
    began: float = 1000.0,
    clock: str = "120000",
) -> Path:
    """A run with a step a second; its engine is this process if it is `live`, and gone otherwise."""
    path = folder / f"20260101-{clock}-{name.replace('/', '-')}"
    path.mkdir(parents=True)
    run = RunDir(path)
    info = replace(this_process(run, name), started=began)
    write_run_info(run, info if live else replace(info, pid=NO_PROCESS))
    told: list[Event] = [Phase(name="loading model"), start(model)]
    told += [step(number, loss) for number, loss in enumerate(losses, 1)]
    told += [*events, *((ended,) if ended else ())]
    run.events.write_text("".join(encode(event, began + place) + "\n" for place, event in enumerate(told)))
    return path


def alert(id: str, severity: str = "warning") -> Alert:
    return Alert(id=id, state="open", code="SPIKE", severity=severity, meaning="high")  # type: ignore[arg-type]


def evaluation(number: int, loss: float) -> Eval:
    return Eval(step=number, loss=loss)


def fill(path: Path, size: int) -> None:
    """A file whose bytes take room on the disk."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(os.urandom(size))

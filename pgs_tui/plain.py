"""Without a terminal to draw on: train in the foreground, or print what a run's log says."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn, TextIO

from engine.events import End, Start
from pgs_tui.format import plain
from pgs_tui.runs.launcher import engine_environment
from pgs_tui.runs.source import Source


def train(config: Path, overrides: tuple[str, ...]) -> NoReturn:
    """Become the engine. Its step lines go to stdout, its exit code is ours."""
    arguments = (sys.executable, "-m", "engine", "train", "--config", str(config), *overrides)
    sys.stdout.flush()
    os.execve(sys.executable, arguments, engine_environment(os.environ))


def inspect(chosen: tuple[str, ...], row: int | None, plain: bool) -> NoReturn:
    """Become `pgs inspect`, which prints rows of what is chosen; `plain` leaves out its colours."""
    rows = ("--row", str(row)) if row is not None else ()
    arguments = (sys.executable, "-m", "engine", "inspect", *rows, *(("--plain",) if plain else ()), *chosen)
    sys.stdout.flush()
    os.execve(sys.executable, arguments, engine_environment(os.environ))


def profile(config: Path, gpu: str | None, memory: float | None, overrides: tuple[str, ...], plain: bool) -> NoReturn:
    """Become `pgs profile`, which prints the estimate; `plain` leaves out its colours."""
    card = ("--gpu", gpu) if gpu is not None else ("--gpu_memory_gb", f"{memory:g}") if memory is not None else ()
    chosen = ("--config", str(config), *card, *(("--plain",) if plain else ()), *overrides)
    sys.stdout.flush()
    os.execve(sys.executable, (sys.executable, "-m", "engine", "profile", *chosen), engine_environment(os.environ))


def watch(source: Source, out: TextIO, wait: Callable[[float], None] = time.sleep) -> int:
    """Print the log's lines as they come, until the run ends. Returns the run's exit code, 1 when it was killed."""
    follower = source.follower()
    end: End | None = None
    last_text = ""
    while True:
        life, loading, trouble = "", False, None
        for update in follower.poll():
            for text in update.log:
                print(last_text := plain(text), file=out, flush=True)
            for note in update.notes:
                sys.stderr.write(f"pgs-tui: {note}\n")
            if update.link is not None and update.link.state == "refused":
                sys.stderr.write(f"pgs-tui: {plain(update.link.why)}\n")
                return 1
            for one in () if update.preview else update.events:
                if isinstance(one.event, End | Start):  # a process that has started undoes the end of the one before
                    end = one.event if isinstance(one.event, End) else None
            life, loading, trouble = update.life, update.loading, update.trouble
        if loading:  # the rest of the past may hold another start
            if follower.pause:
                wait(follower.pause)
            continue
        if end is not None:
            if (
                not end.reason or plain(end.reason) not in last_text
            ):  # the engine's own last line, where the log has it already
                print(plain(f"{end.status} at step {end.last_step}: {end.reason}"), file=out, flush=True)
            return end.exit_code
        if life == "gone":
            unread = f"the engine is gone, and its log cannot be read: {plain(trouble or '')}"
            print(unread if trouble else "killed: the engine vanished without a last event", file=out, flush=True)
            return 1
        wait(follower.pause)

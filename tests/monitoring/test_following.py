"""A log that is followed by a real process while it grows, on a real terminal and through pipes."""

from __future__ import annotations

import json
import os
import pty
import select
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

PROGRAM = [sys.executable, "-m", "engine", "monitor"]
PATIENCE = 30.0


def healthy(steps: range) -> str:
    return "".join(f"step={step}  loss={2 + 0.01 * (step % 3):.3f} lr=1e-05 dt=0.1s\n" for step in steps)


class OnTerminal:
    """A process whose stdout is a terminal; `heard` is what came from it."""

    def __init__(self, folder: Path, *arguments: str, **environment: str) -> None:
        self._master, slave = pty.openpty()
        self.heard = b""
        self.process = subprocess.Popen(
            [*PROGRAM, *arguments],
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=slave,
            stderr=subprocess.STDOUT,
            env={**os.environ, "TERM": "xterm", **environment},
        )
        os.close(slave)

    def hear_until(self, is_enough: Callable[[bytes], bool]) -> None:
        end = time.monotonic() + PATIENCE
        while not is_enough(self.heard) and time.monotonic() < end:
            if not select.select([self._master], [], [], 0.1)[0]:
                continue
            try:
                self.heard += os.read(self._master, 4096)
            except OSError:  # the process has ended
                break
        assert is_enough(self.heard), self.heard

    def end(self) -> int:
        code = self.process.wait(PATIENCE)
        os.close(self._master)
        return code


def test_what_becomes_critical_rings_once_and_runs_the_command_and_the_past_does_not(tmp_path: Path) -> None:
    log, told = tmp_path / "train.log", tmp_path / "told"
    nan = "step={step} loss=nan lr=1e-05 dt=0.1s\n"
    past = "".join(nan.format(step=step) for step in (1, 2, 3))
    log.write_text(past + healthy(range(4, 30)))
    command = f'printf "%s %s;" "$PGS_CODE" "$PGS_STEP" >> {told}'
    terminal = OnTerminal(tmp_path, "train.log", "--follow", "--on-critical", command, PGS_TUI_BELL="1")
    terminal.hear_until(lambda heard: b"health: ok" in heard)
    assert b"\a" not in terminal.heard, "nobody is woken for what is over"
    with log.open("a") as file:
        file.write("".join(nan.format(step=step) for step in range(30, 36)))
    terminal.hear_until(lambda heard: b"critical" in heard and b"NON_FINITE_LOSS" in heard)
    with log.open("a") as file:
        file.write(healthy(range(36, 40)) + "finished: all 39 steps are done\n")
    terminal.hear_until(lambda heard: heard.count(b"can be seen)") == 2)
    assert terminal.end() == 0
    assert terminal.heard.count(b"\a") == 1
    deadline = time.monotonic() + PATIENCE
    while not told.exists() and time.monotonic() < deadline:
        time.sleep(0.02)
    assert told.read_text() == "NON_FINITE_LOSS 32;"


def test_a_pipe_is_followed_to_its_end(tmp_path: Path) -> None:
    monitor = subprocess.Popen([*PROGRAM, "-", "--follow", "--json"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert monitor.stdin is not None and monitor.stdout is not None
    monitor.stdin.write(healthy(range(1, 31)).encode())
    monitor.stdin.flush()
    first = json.loads(monitor.stdout.readline())
    assert first["kind"] == "log" and first["source"] == "stdin"
    monitor.stdin.write(b"step=31 loss=9.5 lr=1e-05 dt=0.1s\nstep=32 lo")
    monitor.stdin.close()
    lines = [json.loads(line) for line in monitor.stdout]
    assert monitor.wait(PATIENCE) == 0
    changes = [(line["change"], line["incident"]["code"]) for line in lines if line.get("incident")]
    assert changes == [("opened", "SPIKE_LOGGED")]
    assert lines[-1]["step"] == 31 and lines[-1]["state"] == "running"


def test_an_interrupt_ends_it_without_a_word(tmp_path: Path) -> None:
    log = tmp_path / "train.log"
    log.write_text(healthy(range(1, 5)))
    terminal = OnTerminal(tmp_path, "train.log", "--follow", "--brief")
    terminal.hear_until(lambda heard: b"ok" in heard)
    terminal.process.send_signal(2)
    assert terminal.end() == 130
    assert b"Traceback" not in terminal.heard


def test_a_log_that_is_emptied_while_it_is_followed_is_told(tmp_path: Path) -> None:
    log = tmp_path / "train.log"
    log.write_text(healthy(range(1, 41)))
    terminal = OnTerminal(tmp_path, "train.log", "--follow")
    terminal.hear_until(lambda heard: b"step 40" in heard)
    log.write_text(healthy(range(1, 3)) + "stopped: by Ctrl-C\n")
    terminal.hear_until(lambda heard: b"can be seen)" in heard.partition(b"emptied")[2])
    assert terminal.end() == 0
    assert b"log was emptied, reading from the start" in terminal.heard

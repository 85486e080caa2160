"""How long the dashboard takes from its start to its first frame and to its panels.

    python tests/bench/first_frame.py [RUN] [--times 10]

RUN is a run to attach to (a path, an id or latest). Each start is paired with one of Python importing Textual alone,
since that is the part nobody can save; the ratio holds where absolute times drift.
"""

from __future__ import annotations

import argparse
import fcntl
import os
import pty
import select
import signal
import statistics
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Sequence

ALTERNATE_SCREEN = b"\x1b[?1049h"
STATUS_LINE = b"pgs-tui"
PANEL = "╭".encode()
PATIENCE = 20.0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", nargs="?", default="latest")
    parser.add_argument("--times", type=int, default=10)
    options = parser.parse_args()
    command = (sys.executable, "-m", "pgs_tui", "attach", options.run)
    frames, panels, references = [], [], []
    for _ in range(options.times):
        frame, panel = seconds_until(command, STATUS_LINE, PANEL)
        frames.append(frame)
        panels.append(panel)
        references.append(seconds_of((sys.executable, "-c", "import textual.app")))
    show("first frame (status line, keys)", frames)
    show("panels", panels)
    show("import textual.app alone", references)
    ratio = statistics.median(panel / reference for panel, reference in zip(panels, references, strict=True))
    print(f"panels / import of Textual, pair by pair: {ratio:.2f}")


def seconds_until(command: Sequence[str], *marks: bytes) -> list[float]:
    """Start the command in a terminal of 120 x 36 and time the first appearance of each mark on the other screen."""
    begin = time.perf_counter()
    pid, descriptor = pty.fork()
    if pid == 0:
        os.environ.update(TERM="xterm-256color", LANG="C.UTF-8")
        os.execvp(command[0], list(command))
    fcntl.ioctl(descriptor, termios.TIOCSWINSZ, struct.pack("HHHH", 36, 120, 0, 0))
    found: dict[bytes, float] = {}
    output = b""
    while len(found) < len(marks) and time.perf_counter() - begin < PATIENCE:
        if select.select([descriptor], [], [], 0.02)[0]:
            output += os.read(descriptor, 65536)
            _, _, screen = output.partition(ALTERNATE_SCREEN)
            for mark in marks:
                if mark in screen:
                    found.setdefault(mark, time.perf_counter() - begin)
    os.kill(pid, signal.SIGTERM)
    os.waitpid(pid, 0)
    os.close(descriptor)
    return [found[mark] for mark in marks]


def seconds_of(command: Sequence[str]) -> float:
    begin = time.perf_counter()
    subprocess.run(command, check=True)
    return time.perf_counter() - begin


def show(what: str, seconds: Sequence[float]) -> None:
    middle, low, high = statistics.median(seconds), min(seconds), max(seconds)
    print(f"{what:32} median {middle * 1000:4.0f} ms   {low * 1000:.0f} to {high * 1000:.0f}")


if __name__ == "__main__":
    main()

"""The process that a measurement trains in: `pgs train`, which ends with the process that started it.

    python -m engine.profile.measured_run --config FILE --run-dir DIR

Its standard input is a pipe that nobody writes to; when the other end is closed, because the starting process is gone
however it went, this one and all that it started are killed. Nothing of a measurement is to be saved.
"""

from __future__ import annotations

import os
import signal
import sys
import threading


def main() -> int:
    threading.Thread(target=_die_with_the_pipe, name="lifeline", daemon=True).start()
    from engine.cli import main as pgs

    return pgs(["train", *sys.argv[1:]])


def _die_with_the_pipe() -> None:
    while os.read(sys.stdin.fileno(), 1):
        pass
    os.killpg(os.getpgrp(), signal.SIGKILL)  # it leads a group of its own, the compiler's helpers in it


if __name__ == "__main__":
    sys.exit(main())

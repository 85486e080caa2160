"""Many dashboards at little cost: children of one process that has the program's libraries already."""

from __future__ import annotations

import fcntl
import json
import os
import signal
import subprocess
import sys
import termios
import time
import traceback
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from typing import IO

from tests.terminal.terminal import PATIENCE, Terminal

LIBRARIES = ("pgs_tui.cli", "pgs_tui.commands.watching", "pgs_tui.remote.attaching", "screens.dashboard.screen")


class Child:
    """A process of the nursery, as Terminal knows one."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self.returncode: int | None = None

    def poll(self) -> int | None:
        """0 once it is gone; how it ended is not known."""
        if self.returncode is None:
            try:
                os.kill(self.pid, 0)
            except ProcessLookupError:
                self.returncode = 0
        return self.returncode

    def wait(self, timeout: float = PATIENCE) -> int:
        end = time.monotonic() + timeout
        while (code := self.poll()) is None:
            assert time.monotonic() < end, f"process {self.pid} does not end"
            time.sleep(0.005)
        return code

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)


class Nursery:
    """Starts `pgs-tui` with these arguments in a new terminal, in a session of its own."""

    def __init__(self, wishes: IO[bytes], born: IO[bytes]) -> None:
        self._wishes = wishes
        self._born = born

    def terminal(self, *arguments: str) -> Terminal:
        return Terminal(arguments, {}, start=self._start)

    def _start(self, arguments: tuple[str, ...], environment: Mapping[str, str], slave: int) -> Child:
        wish = {"terminal": os.ttyname(slave), "arguments": arguments}
        self._wishes.write(json.dumps(wish).encode() + b"\n")
        self._wishes.flush()
        return Child(int(self._born.readline()))


@contextmanager
def nursery(environment: Mapping[str, str]) -> Iterator[Nursery]:
    command = (sys.executable, "-m", "tests.remote.nursery")
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=dict(environment))
    assert process.stdin is not None and process.stdout is not None
    try:
        yield Nursery(process.stdin, process.stdout)
    finally:
        process.kill()
        process.communicate()


def main() -> None:
    os.environ["TEXTUAL_FPS"] = import_module("pgs_tui.showing").FRAMES_A_SECOND
    for name in LIBRARIES:
        import_module(name)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody asks how they ended
    with open(0, "rb", closefd=False) as wishes:  # sys.stdin is left to the children as it is
        for line in wishes:
            wish = json.loads(line)
            child = os.fork()
            if child == 0:
                run(wish["terminal"], wish["arguments"])
            os.write(1, b"%d\n" % child)


def run(terminal: str, arguments: list[str]) -> None:
    """Be what `python -m pgs_tui` would be on this terminal, to the end of the process."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    os.setsid()
    descriptor = os.open(terminal, os.O_RDWR)
    fcntl.ioctl(descriptor, termios.TIOCSCTTY, 0)
    for standard in (0, 1, 2):
        os.dup2(descriptor, standard)
    for descriptor, (name, mode) in enumerate((("stdin", "r"), ("stdout", "w"), ("stderr", "w"))):
        stream = os.fdopen(descriptor, mode, closefd=False)
        setattr(sys, name, stream)
        setattr(sys, f"__{name}__", stream)
    code = 1
    try:
        code = import_module("pgs_tui.cli").main(arguments)
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        os._exit(code)


if __name__ == "__main__":
    main()

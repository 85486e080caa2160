"""`pgs control`: asks something of a running engine and tells what it answered, for people and for scripts."""

from __future__ import annotations

import argparse
import os
import re
import shlex
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from engine.errors import UserError
from engine.events import Ack, BadLineError, End, decode
from engine.events.control_file import append_command
from engine.events.control_line import ARGUMENTS, Command, new_command
from engine.events.growing import GrowingFile
from engine.exit_codes import FAILED, USAGE_ERROR
from engine.printing.outcome import print_json, told
from engine.printing.visible import Signs
from engine.rundir import RunDir, liveness, resolve_run, why_unreadable
from engine.session.control import why_not_obeyed

SECONDS = 0.1
"""Between two looks at the log."""
LOOKS_AT_ENGINE = 20
"""Looks at the log between two at the engine's process."""
PATIENCE_SECONDS = 5.0
"""After so long without an answer a person is told what is waited for."""
_GOING = ("live", "starting", "elsewhere")
_OVER = {
    "killed": "its engine is gone without a word (killed, or the machine was started anew)",
    "lost": "it is on another machine, and nothing has been heard of it for ten minutes",
}
_ELSEWHERE = re.compile(r"([^/:\s]+):(\S.*)")
"""`user@host:path`"""


def control_command(options: argparse.Namespace, overrides: list[str]) -> int:
    """Ask, wait for the answer unless told not to, and print it. Raises RunNotFoundError."""
    problem = _problem(options, overrides)
    if problem is not None:
        sys.stderr.write(f"pgs: {problem}\n")
        return USAGE_ERROR
    run = resolve_run(options.run)
    args = dict.fromkeys(ARGUMENTS.get(options.cmd, ()), options.factor)
    try:
        command = new_command(options.cmd, **args)
    except ValueError as error:
        sys.stderr.write(f"pgs: {options.cmd}: {error}\n")
        return USAGE_ERROR
    return told(lambda: _control(run, command, options))


def _problem(options: argparse.Namespace, overrides: list[str]) -> str | None:
    if elsewhere := _ELSEWHERE.fullmatch(options.run):
        host, path = elsewhere.groups()
        words = ["pgs", "control", path, options.cmd, *([] if options.factor is None else [f"{options.factor:g}"])]
        if not Path(options.run).exists():
            return (
                f"{options.run} is a run of another machine: `{shlex.join(['ssh', host, shlex.join(words)])}` asks it "
                f"there, and `pgs-tui attach {shlex.quote(options.run)}` has keys for it"
            )
    if overrides:
        return f"{overrides[0]}: `pgs control` takes a run, a command, and for scale_lr a factor"
    wants = bool(ARGUMENTS.get(options.cmd))
    if wants and options.factor is None:
        return f"{options.cmd} needs a factor: pgs control {options.run} {options.cmd} 0.5"
    if not wants and options.factor is not None:
        return f"{options.cmd} takes no number"
    return None


def _control(run: RunDir, command: Command, options: argparse.Namespace) -> int:
    state = liveness(run)
    if state == "unreadable":
        raise UserError(
            f"Nobody here can tell whether the run {run.id} goes on: it may not be read ({why_unreadable(run)})."
        )
    if state not in _GOING:
        raise UserError(f"The run {run.id} is over: {_OVER.get(state, state)}. No engine reads its commands any more.")
    if why := why_not_obeyed(run.control, _engine_user(run)):
        raise UserError(f"The engine does not obey {run.control}: {why}.")
    log = GrowingFile(run.events, tail_bytes=0)  # what is answered from now on
    log.poll()
    _append(run, command)
    if options.no_wait:
        return _tell(command, None, f"asked the run {run.id}", options.json)
    answer = _answer(command, run, log, Silence() if options.json else ForPeople(command))
    if answer is None:
        return _tell(command, False, f"the run {run.id} ended before it answered", options.json)
    return _tell(command, answer.ok, answer.message, options.json)


def _engine_user(run: RunDir) -> int:
    """The number of the user who trains, whose files the run's are."""
    try:
        return run.events.stat().st_uid
    except OSError:  # it has written nothing yet
        return os.geteuid()


def _append(run: RunDir, command: Command) -> None:
    try:
        append_command(run.control, command)
    except OSError as error:
        raise UserError(f"{run.control} could not be written: {error.strerror or error}.") from error


def _answer(command: Command, run: RunDir, log: GrowingFile, waiting: Silence) -> Ack | None:
    """What came of the command, however long that takes; None when the engine ended without an answer."""
    begin, looks = time.monotonic(), 0
    while True:
        is_over = looks % LOOKS_AT_ENGINE == 0 and liveness(run) not in _GOING  # first, so that no answer comes later
        for event in _answers_and_ends(log):
            if isinstance(event, Ack) and event.id == command.id:
                if not event.later:
                    return event
                waiting.is_promised(event)
            is_over = is_over or isinstance(event, End)
        if is_over:
            return None
        looks += 1
        waiting.goes_on(time.monotonic() - begin)
        time.sleep(SECONDS)


def _answers_and_ends(log: GrowingFile) -> Iterator[Ack | End]:
    """What is new in the log of these kinds; a line that cannot be read is none."""
    more = True
    while more:
        grown = log.poll()
        more = grown.more
        for line in grown.data.split(b"\n"):
            if b'"ack"' in line or b'"end"' in line:
                try:
                    stamped = decode(line.decode())
                except (BadLineError, UnicodeDecodeError):
                    continue
                if stamped is not None and isinstance(stamped.event, Ack | End):
                    yield stamped.event


class Silence:
    """What is told while the answer is waited for: to programs nothing."""

    def is_promised(self, answer: Ack) -> None:
        """The engine has said when it will do it."""

    def goes_on(self, seconds: float) -> None:
        """It has been waited for so long."""


class ForPeople(Silence):
    """On stderr, so that stdout has what came of the command alone."""

    def __init__(self, command: Command) -> None:
        self._command = command
        self._said = False

    def is_promised(self, answer: Ack) -> None:
        self._said = True
        message = Signs(sys.stderr.encoding).show_in_line(answer.message)
        sys.stderr.write(f"pgs: the engine {message}; Ctrl-C leaves, and it is done all the same\n")

    def goes_on(self, seconds: float) -> None:
        if seconds >= PATIENCE_SECONDS and not self._said:
            self._said = True
            sys.stderr.write(
                f"pgs: no answer for {PATIENCE_SECONDS:.0f} s: the engine is kept from it (by a full or slow disk, "
                f"the driver of its GPU, a stopped process); Ctrl-C leaves, and {self._command.cmd} stays asked\n"
            )


def _tell(command: Command, ok: bool | None, message: str, as_json: bool) -> int:
    if as_json:
        print_json({"id": command.id, "cmd": command.cmd, "ok": ok, "message": message})
    else:
        signs = Signs(sys.stdout.encoding)
        sys.stdout.write(f"{command.cmd}: {'no: ' if ok is False else ''}{signs.show_in_line(message)}\n")
    return FAILED if ok is False else 0

"""`pgs monitor`: which run or log is meant, how it is told, and the exit code."""

from __future__ import annotations

import argparse
import os
import stat
import sys
from pathlib import Path

from engine.events.foreign.recognised import recognised
from engine.events.foreign.told import NotReadableError
from engine.exit_codes import FAILED, USAGE_ERROR
from engine.monitoring.as_json import change, document
from engine.monitoring.as_text import MonitorPrinter
from engine.monitoring.files_source import FilesSource
from engine.monitoring.following import Teller, Waker, follow
from engine.monitoring.log_source import LogFile, LogSource
from engine.monitoring.run_source import RunSource
from engine.monitoring.source import Source
from engine.monitoring.stream import Stream
from engine.monitoring.summary import Told
from engine.printing.outcome import print_json, told
from engine.printing.paper import paper_for
from engine.rundir import RunNotFoundError, resolve_run

STDIN = "-"


def monitor_command(options: argparse.Namespace, overrides: list[str]) -> int:
    """Tell how a run or a log stands, once or until it ends. Raises RunNotFoundError."""
    if overrides:
        sys.stderr.write(f"pgs: {overrides[0]}: `pgs monitor` takes a run or a log and no keys of a config\n")
        return USAGE_ERROR
    if options.brief and options.json:
        sys.stderr.write("pgs: --brief is for people and --json for programs: choose one\n")
        return USAGE_ERROR
    if not options.follow and (options.bell or options.on_critical):
        sys.stderr.write("pgs: --bell and --on-critical wait for what is to come: add --follow\n")
        return USAGE_ERROR
    source = _source_of(options.target, options.follow)
    return told(lambda: _monitor(source, options))


def _monitor(source: Source, options: argparse.Namespace) -> int:
    teller = _JsonTeller() if options.json else MonitorPrinter(paper_for(sys.stdout, options.plain), options.brief)
    if options.follow:
        rings = options.bell or os.environ.get("PGS_TUI_BELL", "") not in ("", "0")
        command = options.on_critical or os.environ.get("PGS_TUI_ON_CRITICAL") or None
        follow(source, teller, Waker(rings, command, source.path, _note))
    else:
        for _ in source.poll():
            pass
        teller.report(source)
    return 0 if source.health.is_well else FAILED


class _JsonTeller(Teller):
    """A document first and last, and a line for each change between them."""

    def report(self, source: Source) -> None:
        print_json(document(source))

    def told(self, told: Told) -> None:
        if told.incident is None or told.change is not None:
            print_json(change(told))

    def verdict(self, source: Source) -> None:
        print_json(document(source))


def _note(text: str) -> None:
    sys.stderr.write(f"pgs: {text}\n")


def _source_of(target: str, follows: bool) -> Source:
    """The run, else the file, of this name. Raises RunNotFoundError."""
    if target == STDIN:
        return LogSource(Stream(0, waits=not follows), "stdin", follows)
    try:
        run = resolve_run(target)
    except RunNotFoundError as error:
        return _log_of(target, follows, error)
    path = Path(target).expanduser()
    if path.is_file():
        _note(f"{target} belongs to the run {run.id}, which is what is told of")
    return RunSource(run)


def _log_of(target: str, follows: bool, no_run: RunNotFoundError) -> Source:
    path = Path(target).expanduser()
    try:
        mode = path.stat().st_mode
    except (OSError, ValueError):
        raise RunNotFoundError(f"{no_run}; nor is there a log file of this name") from None
    if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
        return LogSource(Stream(os.open(path, os.O_RDONLY), waits=not follows), target, follows)
    try:
        found = recognised(path)
    except NotReadableError as error:
        if path.is_dir():
            raise RunNotFoundError(str(error)) from error
        return LogSource(LogFile(path), target, follows)  # one without steps so far, perhaps
    if found.kind == "log":
        return LogSource(LogFile(found.path), target, follows)
    return FilesSource(found, target, follows)

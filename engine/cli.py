"""The command `pgs`: arguments to exit codes. Heavy libraries are imported by what needs them, not here."""

from __future__ import annotations

import argparse
import atexit
import shlex
import signal
import sys
from collections.abc import Sequence
from pathlib import Path

USAGE_ERROR, INTERRUPTED = 2, 130


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; the exit code tells how it went.

    0 done, 1 failed, 2 usage, 3 out of memory, 4 disk full, 130 interrupted.
    """
    try:
        return _run(list(sys.argv[1:] if arguments is None else arguments))
    except KeyboardInterrupt:  # before there is a run that could tell of it, or after its end
        return INTERRUPTED
    finally:
        atexit.register(signal.signal, signal.SIGINT, signal.SIG_IGN)  # the libraries take a while to leave


def _run(given: list[str]) -> int:
    from engine.config import ConfigError, load_config

    options, overrides = build_parser().parse_known_args(given)
    problem = _problem_of_place(given)
    if problem is not None:
        print(f"pgs: {problem}", file=sys.stderr)
        return USAGE_ERROR
    try:
        loaded = load_config(options.config, overrides)
    except ConfigError as error:
        print(f"pgs: {error}", file=sys.stderr)
        return USAGE_ERROR
    from engine.run import train_command

    return train_command(loaded, command=shlex.join(["pgs", *given]), run_dir=options.run_dir)


def _problem_of_place(given: list[str]) -> str | None:
    """Why no path can be made out here: the folder is gone, or a name has bytes that Python could not decode."""
    try:
        names = [*given, str(Path.cwd())]
    except FileNotFoundError:
        return "the working directory no longer exists; change to another one"
    for name in names:
        if any("\udc80" <= character <= "\udcff" for character in name):
            return f"{name!a} is no text in this locale's encoding; set LC_ALL=C.UTF-8"
    return None


def build_parser() -> argparse.ArgumentParser:
    """The arguments of `pgs`. What is left over are overrides of config keys, which the config judges."""
    parser = argparse.ArgumentParser(
        prog="pgs",
        description="Fine-tune all the weights of a language model on one GPU.",
        epilog="Exit codes: 0 done or stopped on request, 1 failed, 2 bad config, 3 out of memory, 4 disk full.",
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=_version())
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    train = commands.add_parser(
        "train",
        help="train a config in the foreground and print the step lines",
        usage="pgs train --config FILE [--run-dir DIR] [--SECTION.FIELD VALUE ...]",
        description="Train a config. Any key of the config can be set with --section.field value.",
        allow_abbrev=False,
    )
    train.add_argument("--config", type=Path, required=True, metavar="FILE", help="the YAML config")
    train.add_argument("--run-dir", type=Path, metavar="DIR", help="use this folder instead of a new one")
    return parser


def _version() -> str:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return f"pgs {version('pgs-tui')}"
    except PackageNotFoundError:
        return "pgs (not installed)"

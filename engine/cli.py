"""The command `pgs`: arguments to exit codes. Heavy libraries are imported by what needs them, not here."""

from __future__ import annotations

import argparse
import atexit
import shlex
import signal
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from engine.events.control_line import COMMANDS as ASKED
from engine.exit_codes import INTERRUPTED, USAGE_ERROR
from engine.rundir import RunNotFoundError

if TYPE_CHECKING:
    Subparsers = argparse._SubParsersAction[argparse.ArgumentParser]


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
    options, overrides = build_parser().parse_known_args(given)
    problem = _problem_of_place(given)
    if problem is not None:
        return _refuse(problem)
    from engine.config import ConfigError

    try:
        return COMMANDS[options.command](options, overrides, shlex.join(["pgs", *given]))
    except (ConfigError, RunNotFoundError) as error:
        return _refuse(str(error))


def _train(options: argparse.Namespace, overrides: list[str], command: str) -> int:
    from engine.config import load_config

    loaded = load_config(options.config, overrides)
    from engine.run import train_command

    return train_command(loaded, command=command, run_dir=options.run_dir)


def _inspect(options: argparse.Namespace, overrides: list[str], command: str) -> int:
    from engine.inspect.command import inspect_command

    return inspect_command(options, overrides)


def _validate(options: argparse.Namespace, overrides: list[str], command: str) -> int:
    from engine.inspect.command import validate_command

    return validate_command(options, overrides)


def _profile(options: argparse.Namespace, overrides: list[str], command: str) -> int:
    from engine.profile.command import profile_command

    return profile_command(options, overrides)


def _control(options: argparse.Namespace, overrides: list[str], command: str) -> int:
    from engine.control import control_command

    return control_command(options, overrides)


def _doctor(options: argparse.Namespace, overrides: list[str], command: str) -> int:
    from engine.doctor.command import doctor_command

    return doctor_command(options, overrides)


def _monitor(options: argparse.Namespace, overrides: list[str], command: str) -> int:
    from engine.monitoring.command import monitor_command

    return monitor_command(options, overrides)


COMMANDS: dict[str, Callable[[argparse.Namespace, list[str], str], int]] = {
    "train": _train,
    "inspect": _inspect,
    "validate": _validate,
    "profile": _profile,
    "monitor": _monitor,
    "control": _control,
    "doctor": _doctor,
}
"""Given the options, the overrides of config keys, and the command line as a text; the result is the exit code."""


def _refuse(message: str) -> int:
    from engine.printing.visible import harmless

    print(harmless(f"pgs: {message}", sys.stderr.encoding), file=sys.stderr)
    return USAGE_ERROR


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
    _add_train(commands)
    _add_inspect(commands)
    _add_validate(commands)
    _add_profile(commands)
    _add_monitor(commands)
    _add_control(commands)
    _add_doctor(commands)
    return parser


def _add_train(commands: Subparsers) -> None:
    train = commands.add_parser(
        "train",
        help="train a config in the foreground and print the step lines",
        usage="pgs train --config FILE [--run-dir DIR] [--SECTION.FIELD VALUE ...]",
        description="Train a config. Any key of the config can be set with --section.field value.",
        allow_abbrev=False,
    )
    train.add_argument("--config", type=Path, required=True, metavar="FILE", help="the YAML config")
    train.add_argument("--run-dir", type=Path, metavar="DIR", help="use this folder instead of a new one")


def _add_inspect(commands: Subparsers) -> None:
    inspect = commands.add_parser(
        "inspect",
        help="show which tokens of a row are trained, and why",
        usage=(
            "pgs inspect (--config FILE | --run RUN) [--num_samples N | --row N] [--flagged] [--tokens] [--full]\n"
            "                   [--plain | --json | --serve] [--SECTION.FIELD VALUE ...]\n"
            "       pgs inspect --spike RUN:STEP [--full] [--plain | --json]"
        ),
        description="Show rows as training sees them: the rendered text, and which of its tokens are trained. "
        "RUN is a path, a run id, the beginning of one, or latest.",
        allow_abbrev=False,
    )
    what = inspect.add_mutually_exclusive_group(required=True)
    what.add_argument("--config", type=Path, metavar="FILE", help="the YAML config whose data is shown")
    what.add_argument("--run", metavar="RUN", help="the config that a run was started with")
    what.add_argument("--spike", metavar="RUN:STEP", help="the rows behind a flagged step, the worst first")
    which = inspect.add_mutually_exclusive_group()
    which.add_argument("--num_samples", "--num-samples", type=_whole, metavar="N", help="so many rows (3)")
    which.add_argument("--row", type=_whole, metavar="N", help="this row; they count from 0 over all sources")
    inspect.add_argument("--flagged", action="store_true", help="only rows with a warning or an error")
    inspect.add_argument("--tokens", action="store_true", help="list each token, too: id, loss, turn and why")
    inspect.add_argument("--full", action="store_true", help="show long rows whole")
    _add_output(inspect).add_argument("--serve", action="store_true", help="answer requests on stdin (docs/json.md)")


def _add_validate(commands: Subparsers) -> None:
    validate = commands.add_parser(
        "validate",
        help="audit the data of a config before a run",
        usage=(
            "pgs validate (--config FILE | --run RUN) [--num_samples N] [--plain | --json] [--SECTION.FIELD VALUE ...]"
        ),
        description="Read all rows (or the first N) as training would, and tell what is trained and what is odd. "
        "Exit code 1 where something is wrong enough to spoil a run.",
        allow_abbrev=False,
    )
    what = validate.add_mutually_exclusive_group(required=True)
    what.add_argument("--config", type=Path, metavar="FILE", help="the YAML config whose data is audited")
    what.add_argument("--run", metavar="RUN", help="the config that a run was started with")
    validate.add_argument("--num_samples", "--num-samples", type=_whole, metavar="N", help="only the first N rows")
    _add_output(validate)


def _add_profile(commands: Subparsers) -> None:
    profile = commands.add_parser(
        "profile",
        help="tell what a config takes of a GPU before it runs",
        usage=(
            "pgs profile (--config FILE | --run RUN) [--gpu NAME | --gpu_memory_gb N | --gpu_index N]\n"
            "                   [--measure] [--price PER_HOUR] [--full] [--plain | --json]\n"
            "                   [--SECTION.FIELD VALUE ...]\n"
            "       pgs profile --serve"
        ),
        description="Estimate the memory of a config part by part and phase by phase, whether it fits a GPU, what to "
        "change if not, and how long a run takes. No weight is read and nothing is trained. Exit code 1 where it does "
        "not fit. Without a GPU option it is this machine's first visible one.",
        allow_abbrev=False,
    )
    what = profile.add_mutually_exclusive_group()
    what.add_argument("--config", type=Path, metavar="FILE", help="the YAML config")
    what.add_argument("--run", metavar="RUN", help="the config that a run was started with")
    which = profile.add_mutually_exclusive_group()
    which.add_argument("--gpu", metavar="NAME", help='a GPU such as "RTX 4090", A100-40 or H200 (docs/profile.md)')
    which.add_argument("--gpu_memory_gb", "--gpu-memory-gb", type=_positive, metavar="N", help="one with so many GiB")
    which.add_argument("--gpu_index", "--gpu-index", type=_whole, metavar="N", help="this machine's GPU of that number")
    profile.add_argument("--measure", action="store_true", help="train two real steps on this GPU and compare")
    profile.add_argument("--price", type=_positive, metavar="PER_HOUR", help="dollars an hour, for what the run costs")
    profile.add_argument("--full", action="store_true", help="also tell what each figure rests on")
    _add_output(profile).add_argument("--serve", action="store_true", help="answer requests on stdin (docs/json.md)")


def _add_monitor(commands: Subparsers) -> None:
    monitor = commands.add_parser(
        "monitor",
        help="tell how a run or a log stands, and what is wrong with it",
        usage=("pgs monitor (RUN | LOG | -) [--brief] [--follow [--bell] [--on-critical CMD]] [--plain | --json]"),
        description="Judge a run's directory, or a plain console log with step lines such as `step=50 loss=2.34 "
        "lr=4.5e-05`, without a screen. RUN is a path, a run id, the beginning of one, or latest; - reads the log from "
        "stdin. Exit code 0 where all is well or merely worth a look, 1 where an error or worse holds, or the run "
        "failed or was killed.",
        allow_abbrev=False,
    )
    monitor.add_argument("target", metavar="RUN|LOG", help="the run, or the file that holds a log; - is stdin")
    monitor.add_argument("--brief", action="store_true", help="one line, and while following one for each change")
    monitor.add_argument("--follow", action="store_true", help="go on until the run ends, and tell what changes")
    monitor.add_argument("--bell", action="store_true", help="ring the terminal's bell for what becomes critical")
    monitor.add_argument(
        "--on-critical",
        "--on_critical",
        metavar="CMD",
        help="run this in a shell then; docs/monitor.md names $PGS_CODE ...",
    )
    _add_output(monitor)


def _add_control(commands: Subparsers) -> None:
    control = commands.add_parser(
        "control",
        help="ask something of a run that is going on",
        usage="pgs control RUN (stop | checkpoint | evaluate | pause | resume | scale_lr FACTOR) [--no-wait] [--json]",
        description="Ask a running engine to stop with a checkpoint, save one now, evaluate now, pause, go on, or "
        "multiply its learning rate, and print what came of it. RUN is a path, a run id, "
        "the beginning of one, or latest. Exit code 0 where it was done, 1 where it was refused or the run is over.",
        allow_abbrev=False,
    )
    control.add_argument("run", metavar="RUN", help="the run")
    control.add_argument("cmd", choices=ASKED, metavar="COMMAND", help="what is asked of it")
    control.add_argument("factor", nargs="?", type=_positive, metavar="FACTOR", help="of scale_lr: 0.5 halves the rate")
    control.add_argument("--no-wait", "--no_wait", action="store_true", help="do not wait for the answer")
    control.add_argument("--json", action="store_true", help="one JSON document for programs (docs/json.md)")


def _add_doctor(commands: Subparsers) -> None:
    doctor = commands.add_parser(
        "doctor",
        help="prove on this machine what silently goes wrong elsewhere",
        usage="pgs doctor [--config FILE] [--only CHECK ...] [--list] [--json] [--SECTION.FIELD VALUE ...]",
        description="Check this machine in under a minute: libraries, GPU, kernels, loss, packing, saving and more, "
        "each with what to do where it fails. With a config its data, memory and disk are checked, too. Nothing "
        "is downloaded. Exit code 1 where a check failed.",
        allow_abbrev=False,
    )
    doctor.add_argument("--config", type=Path, metavar="FILE", help="the YAML config to check for")
    doctor.add_argument("--only", action="append", metavar="CHECK", help="only this check; may be given several times")
    doctor.add_argument("--list", action="store_true", help="name the checks and leave")
    doctor.add_argument("--json", action="store_true", help="one JSON document for programs (docs/json.md)")


def _add_output(parser: argparse.ArgumentParser) -> argparse._MutuallyExclusiveGroup:
    output = parser.add_mutually_exclusive_group()
    output.add_argument("--plain", action="store_true", help="no colour, and no signs beyond ASCII")
    output.add_argument("--json", action="store_true", help="JSON for programs (docs/json.md)")
    return output


def _whole(text: str) -> int:
    """A whole number from 0 on."""
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"expected a whole number from 0 on, found {text!r}")
    return int(text)


def _positive(text: str) -> float:
    """A number above 0."""
    try:
        number = float(text)
    except ValueError:
        number = 0.0
    if not 0 < number < float("inf"):
        raise argparse.ArgumentTypeError(f"expected a number above 0, found {text!r}")
    return number


def _version() -> str:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return f"pgs {version('pgs-tui')}"
    except PackageNotFoundError:
        return "pgs (not installed)"

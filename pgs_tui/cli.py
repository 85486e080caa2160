"""The command `pgs-tui`: arguments to a command. Imports nothing heavy before it knows that it must."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Callable, Sequence

from pgs_tui.arguments import HELP, Arguments, UsageError, parse
from pgs_tui.format import plain_lines

WATCHING = ("attach", "runs", "compare", "replay", "export")
ABOUT_CONFIGS = ("inspect", "profile")


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code."""
    _forgive_encoding()
    try:
        arguments = parse(sys.argv[1:] if argv is None else argv)
        return _only(arguments.only) if arguments.only else _command_of(arguments)(arguments)
    except ValueError as error:
        print(f"pgs-tui: {plain_lines(str(error))}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:  # `| head` has seen enough; what still waits to be written would fail again at the end
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return 0


def _command_of(arguments: Arguments) -> Callable[[Arguments], int]:
    """What is to be done. Raises UsageError for options that it has not."""
    from pgs_tui.commands import asked

    asked.refuse_waking_without_a_run(arguments)
    asked.refuse_options_of_others(arguments)
    word = arguments.words[0] if arguments.words else ""
    if word in WATCHING or arguments.once or arguments.json or arguments.export_as:
        from pgs_tui.commands import watching

        if word == "runs":
            return watching.runs_command
        if word == "compare":
            return watching.compare_command
        if arguments.once or arguments.json:
            return watching.once_command
        if word == "export" or arguments.export_as:
            return watching.export_command
        if arguments.gpu is not None or arguments.gpu_memory is not None:
            raise UsageError(asked.GPU_IS_FOR_PROFILE)
        return watching.attach_command if word == "attach" else watching.replay_command
    from pgs_tui.commands import configs

    if word == "profile":
        return configs.profile_command
    if not word and not arguments.overrides:
        return configs.pick_command
    if arguments.gpu is not None or arguments.gpu_memory is not None:
        raise UsageError(asked.GPU_IS_FOR_PROFILE)
    return configs.inspect_command if word == "inspect" else configs.train_command


def _only(what: str) -> int:
    if what == "--help":
        print(HELP, end="")
    elif what == "--version":
        from importlib.metadata import version

        print(f"pgs-tui {version('pgs-tui')}")
    else:
        return _reset()
    return 0


def _reset() -> int:
    from pgs_tui.terminal.guard import reset_terminal

    try:
        reset_terminal()
    except OSError as error:
        print(f"pgs-tui: there is no terminal to reset: {error}", file=sys.stderr)
        return 1
    return 0


def _forgive_encoding() -> None:
    """A character that the terminal's encoding lacks must not end the program."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")


if __name__ == "__main__":
    sys.exit(main())

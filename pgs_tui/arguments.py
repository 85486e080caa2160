"""The command line of `pgs-tui`, taken apart, and what `--help` says of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from pgs_tui.appearance.look import THEME_NAMES, ThemeName

HELP = """\
usage: pgs-tui [--gpu NAME | --gpu_memory_gb N]
       pgs-tui CONFIG [--section.field VALUE ...]
       pgs-tui attach [RUN | USER@HOST:PATH | LOG] [--readonly]
       pgs-tui runs [DIR | USER@HOST:DIR] [--json | --readonly]
       pgs-tui runs --forget
       pgs-tui compare RUN RUN ... [--once | --svg | --text | --csv | --markdown]
       pgs-tui replay RUN | USER@HOST:PATH | LOG [--speed N] [--at STEP]
       pgs-tui --once [RUN] [--json]
       pgs-tui export [RUN] --svg | --text | --csv | --gpus | --markdown [--panel NAME] [--out FILE]
       pgs-tui inspect [CONFIG | RUN] [--row N] [--section.field VALUE ...]
       pgs-tui profile [CONFIG | RUN] [--gpu NAME | --gpu_memory_gb N] [--section.field VALUE ...]

Without a CONFIG it lists those below this folder: what each trains, its memory, whether it fits this GPU, how its
last run went. With one (a YAML file, or a name such as quickstart) it trains it in a process of its own and shows it
live. The run goes on when this window closes; attach opens it again, --once prints it as it is now, export writes a
chart of it, its steps or a report into a file. RUN is a path, a run id, the beginning of one, or latest; without it,
the newest run that is going. Over SSH the far machine needs nothing but a shell. LOG is what another tool wrote:
trainer_state.json, TensorBoard event files, or a console log. runs lists all runs below a folder, compare lays the
curves of up to six over each other, replay plays one as it was. inspect shows the data of a config or a run as
training sees it: every token, which of them are trained, and what is odd. profile shows whether it fits a GPU, before
anything is downloaded, and what other values of its keys would change.

  --section.field VALUE   override a value of the config, for example --train.learning_rate 1e-5
  --theme NAME            dark, light, or terminal (its own 16 colours); --light is short for the second
  --mouse                 let the mouse set the focus (off: the terminal's own text selection works; with it, hold
                          Shift, or Option on a Mac, to select text)
  --readonly              with attach and runs: no key changes a run or writes a file
  --forget                with runs: remove what is kept here of runs on other machines (docs/over-ssh.md)
  --speed N               with replay: how many times as fast as it was, 1 to 1000
  --at STEP               with replay: the step to begin with; with --once and export: the run as it was then
  --once, --json          print the dashboard of a run once, as text or as one line of JSON (docs/export.md); --json
                          with runs: the list (docs/json.md)
  --panel NAME            with export --svg or --text: which chart (loss)
  --out FILE              with export: the new file to write; without it a name in the run's folder exports/
  --bell                  ring the terminal's bell when something critical happens to the run on the screen
  --on-critical CMD       run this in a shell then; $PGS_RUN, $PGS_CODE, $PGS_STEP, $PGS_MEANING and others tell it what
                          (docs/monitor.md)
  --row N                 with inspect: the row to begin with; rows count from 0
  --gpu NAME              with profile or without a CONFIG: the GPU to judge by, such as a100-40 or 4090; without it
                          this machine's own
  --gpu_memory_gb N       the same: one of N GiB
  --plain                 no screen: train in the foreground and print the step lines; with inspect print rows, with
                          profile the estimate, without a CONFIG the list
  --reset-terminal        put a terminal in order that a killed program left in disorder
  --version, --help

Without a terminal (a pipe, cron, nohup) --plain is taken. Environment: PGS_TUI_THEME, PGS_TUI_GLYPHS (braille,
blocks, ascii), PGS_TUI_BELL=1, PGS_TUI_ON_CRITICAL, NO_COLOR. Keys: press ? on the screen.
"""

FASTEST_REPLAY = 1000.0
"""How many times as fast as it was a run can be played."""

ExportFormat = Literal["svg", "text", "csv", "gpus", "markdown"]
FORMATS_OF_FLAGS: dict[str, ExportFormat] = {f"--{name}": name for name in get_args(ExportFormat)}


class UsageError(ValueError):
    """The arguments make no sense; the text says which and what would."""


@dataclass
class Arguments:
    """The command line, taken apart."""

    words: list[str]
    overrides: list[str]
    theme: ThemeName | None = None
    mouse: bool = False
    plain: bool = False
    row: int | None = None
    gpu: str | None = None
    gpu_memory: float | None = None
    bell: bool = False
    on_critical: str | None = None
    once: bool = False
    json: bool = False
    export_as: ExportFormat | None = None
    panel: str | None = None
    out: str | None = None
    readonly: bool = False
    forget: bool = False
    speed: float | None = None
    at: int | None = None
    only: str = ""
    """`--help`, `--version` or `--reset-terminal`: that and nothing else."""


def parse(argv: Sequence[str]) -> Arguments:
    """Take the arguments apart. Raises UsageError."""
    parsed = Arguments([], [])
    waiting = list(argv)
    while waiting:
        word = waiting.pop(0)
        flag, equals, given = word.partition("=")
        if not word.startswith("-"):
            parsed.words.append(word)
        elif flag.startswith("--") and "." in flag:
            parsed.overrides += [word] if equals else [flag, _value(flag, waiting)]
        elif flag == "--theme":
            parsed.theme = _theme(given if equals else _value(flag, waiting))
        elif word in ("--help", "-h", "--version", "--reset-terminal"):
            parsed.only = "--help" if word == "-h" else word
        elif flag == "--row":
            parsed.row = _row(given if equals else _value(flag, waiting))
        elif flag == "--gpu":
            parsed.gpu = given if equals else _value(flag, waiting)
        elif flag == "--gpu_memory_gb":
            parsed.gpu_memory = _gibibytes(given if equals else _value(flag, waiting))
        elif word == "--light":
            parsed.theme = "light"
        elif word == "--mouse":
            parsed.mouse = True
        elif word == "--bell":
            parsed.bell = True
        elif flag in ("--on-critical", "--on_critical"):
            parsed.on_critical = given if equals else _value(flag, waiting)
        elif word == "--once":
            parsed.once = True
        elif word == "--json":
            parsed.json = True
        elif word in FORMATS_OF_FLAGS:
            parsed.export_as = _one_format(parsed.export_as, FORMATS_OF_FLAGS[word])
        elif flag == "--panel":
            parsed.panel = given if equals else _value(flag, waiting)
        elif flag == "--out":
            parsed.out = given if equals else _value(flag, waiting)
        elif word == "--readonly":
            parsed.readonly = True
        elif word == "--forget":
            parsed.forget = True
        elif flag == "--speed":
            parsed.speed = _speed(given if equals else _value(flag, waiting))
        elif flag == "--at":
            parsed.at = _step(given if equals else _value(flag, waiting))
        elif word == "--plain":
            parsed.plain = True
        else:
            raise UsageError(f"unknown option {word}; an override has a section, as in --train.epochs 2 (see --help)")
    return parsed


def _one_format(known: ExportFormat | None, wanted: ExportFormat) -> ExportFormat:
    if known not in (None, wanted):
        raise UsageError(f"--{known} and --{wanted} are two formats; give one of them")
    return wanted


def _value(flag: str, waiting: list[str]) -> str:
    if not waiting or waiting[0].startswith("--"):
        raise UsageError(f"{flag} needs a value" + (f", but {waiting[0]} follows" if waiting else ""))
    return waiting.pop(0)


def _theme(text: str) -> ThemeName:
    for name in THEME_NAMES:
        if name == text:
            return name
    raise UsageError(f"--theme {text}: no such theme; use one of {', '.join(THEME_NAMES)}")


def _row(text: str) -> int:
    if not text.isdecimal():
        raise UsageError(f"--row {text}: rows are counted from 0, as in --row 12")
    return int(text)


def _step(text: str) -> int:
    if not text.isdecimal():
        raise UsageError(f"--at {text}: steps are counted from 1, as in --at 1200")
    return int(text)


def _speed(text: str) -> float:
    try:
        speed = float(text)
    except ValueError:
        speed = 0.0
    if not 1 <= speed <= FASTEST_REPLAY:
        raise UsageError(f"--speed {text}: give a number from 1 to {FASTEST_REPLAY:g}, as in --speed 60")
    return speed


def _gibibytes(text: str) -> float:
    try:
        amount = float(text)
    except ValueError:
        amount = 0.0
    if not 0 < amount < float("inf"):
        raise UsageError(f"--gpu_memory_gb {text}: a GPU's memory is a number of GiB, as in --gpu_memory_gb 24")
    return amount

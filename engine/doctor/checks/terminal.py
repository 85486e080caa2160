"""What the terminal can show, from the environment alone: nothing is sent to it."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Mapping
from dataclasses import dataclass

from engine.doctor.result import Outcome, Patient, ok, warning

NARROWEST = 60
"""Columns that the dashboard's layout needs."""
_LINUX_CONSOLES = ("linux", "vt100", "vt220")


@dataclass(frozen=True, slots=True)
class Terminal:
    """`columns` is None where there is no terminal."""

    columns: int | None
    encoding: str


def check_terminal(patient: Patient) -> Outcome:
    """Whether the dashboard's signs, colours and width have what they need."""
    is_terminal = sys.stdout.isatty() or sys.stderr.isatty()
    columns = shutil.get_terminal_size().columns if is_terminal else None
    return judge(patient.environment, Terminal(columns, _encoding()))


def judge(environment: Mapping[str, str], terminal: Terminal) -> Outcome:
    """The verdict from what is known of a terminal."""
    if terminal.columns is None:
        return ok("no terminal here (a pipe or a log): `pgs-tui` takes --plain and prints a line a step")
    kind = environment.get("TERM", "")
    if kind in ("", "dumb"):
        return warning(
            f"TERM is {kind or 'not set'}, so the dashboard cannot draw", "export TERM=xterm-256color, or use --plain"
        )
    if terminal.encoding.lower().replace("-", "") != "utf8":
        return warning(
            f"text is printed as {terminal.encoding}, not UTF-8: braille curves and borders would be lost",
            "export LC_ALL=C.UTF-8, or PGS_TUI_GLYPHS=ascii",
        )
    if terminal.columns < NARROWEST:
        return warning(
            f"{terminal.columns} columns, the dashboard needs {NARROWEST}", "make the window wider, or use --plain"
        )
    if kind in _LINUX_CONSOLES:
        return warning(f"TERM={kind} has a font without braille", "export PGS_TUI_GLYPHS=ascii (or press g)")
    parts = ["UTF-8", f"{terminal.columns} columns", _colours(environment, kind), "braille", *_between(environment)]
    return ok(", ".join(parts))


def _colours(environment: Mapping[str, str], kind: str) -> str:
    if environment.get("NO_COLOR"):
        return "no colours (NO_COLOR)"
    if environment.get("COLORTERM") in ("truecolor", "24bit"):
        return "true colour"
    return "256 colours" if "256" in kind else "16 colours"


def _between(environment: Mapping[str, str]) -> list[str]:
    """What stands between the program and the person's terminal."""
    return [name for variable, name in (("TMUX", "in tmux"), ("SSH_CONNECTION", "over ssh")) if variable in environment]


def _encoding() -> str:
    return os.device_encoding(1) or getattr(sys.stdout, "encoding", None) or "ascii"

"""What was copied is kept in a file too, for terminals that do not pass it to a clipboard."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from engine.rundir import registry_path


def save_copy(text: str, environment: Mapping[str, str], readonly: bool = False) -> str:
    """Keep the text, which was sent to the clipboard, beside the registry of runs. Returns what to say about both.

    With `readonly` no file is written.
    """
    if readonly:
        return f"sent to the clipboard, and into no file: opened with --readonly{_hint(environment)}"
    path = registry_path().parent / "copied.txt"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        kept = f"the file could not be written: {error}"
    else:
        kept = f"kept in {_short(path)}"
    return f"sent to the clipboard, {kept}{_hint(environment)}"


def _hint(environment: Mapping[str, str]) -> str:
    """What stands between the program and the clipboard."""
    if environment.get("TMUX"):
        return " · tmux needs: set -g set-clipboard on"
    return " · GNU screen lets nothing through to the clipboard" if environment.get("STY") else ""


def _short(path: Path) -> str:
    try:
        return f"~/{path.relative_to(Path.home())}"
    except (ValueError, RuntimeError):  # not below the home directory, or there is none
        return str(path)

"""Which editor a person uses, and how it is run in the terminal that the screen has left for it."""

from __future__ import annotations

import contextlib
import shlex
import shutil
import signal
import subprocess
import sys
import termios
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

FALLBACKS = ("nano", "vi")


class NoEditorError(ValueError):
    """There is no editor, or it could not do its work; the text says what to do."""


def editor_command(
    environment: Mapping[str, str], which: Callable[[str], str | None] = shutil.which
) -> tuple[str, ...]:
    """The words of the command: VISUAL, else EDITOR, with the arguments in them; else nano or vi.

    Raises NoEditorError where there is none.
    """
    for variable in ("VISUAL", "EDITOR"):
        written = environment.get(variable, "").strip()
        if not written:
            continue
        try:
            words = tuple(shlex.split(written))
        except ValueError as error:
            raise NoEditorError(f"{variable}={written} cannot be read: {error}") from None
        if which(words[0]) is None:
            raise NoEditorError(f"{variable} names {words[0]}, which is not there; set it to an editor that is")
        return words
    found = next((name for name in FALLBACKS if which(name)), None)
    if found is None:
        raise NoEditorError("no editor is known: set EDITOR, for example export EDITOR=nano")
    return (found,)


def edit(path: Path, command: Sequence[str]) -> None:
    """Run the editor on the file in this terminal and wait for it. Raises NoEditorError when it fails."""
    try:
        with _echoing_terminal(), _interrupts_for_the_editor():
            code = subprocess.run([*command, str(path)], check=False).returncode
    except OSError as error:
        raise NoEditorError(f"{command[0]} cannot be started: {error.strerror}") from None
    if code != 0:
        raise NoEditorError(f"{shlex.join(command)} ended with exit code {code}")


@contextlib.contextmanager
def _interrupts_for_the_editor() -> Iterator[None]:
    """A Ctrl-C is typed at the editor, and reaches this program too. A handler is not inherited; ignoring would be."""
    before = signal.signal(signal.SIGINT, lambda number, frame: None)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


@contextlib.contextmanager
def _echoing_terminal() -> Iterator[None]:
    """What is typed is shown, as programs expect it of a terminal; the screen had switched that off."""
    try:
        before = termios.tcgetattr(sys.__stdin__ if sys.__stdin__ else 0)
    except (termios.error, ValueError, OSError):  # no terminal
        yield
        return
    echoing = [*before]
    echoing[3] |= termios.ECHO | termios.ICANON | termios.ISIG
    stdin = sys.__stdin__ or 0
    termios.tcsetattr(stdin, termios.TCSADRAIN, echoing)
    try:
        yield
    finally:
        termios.tcsetattr(stdin, termios.TCSADRAIN, before)

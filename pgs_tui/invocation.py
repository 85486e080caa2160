"""How a person calls this program from where they are."""

from __future__ import annotations

import shlex
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

NAME = "pgs-tui"


def own_command(program: str | None = None, which: Callable[[str], str | None] = shutil.which) -> str:
    """`pgs-tui` where the shell finds it, else the path of the script that was started, as short as it gets."""
    script = Path(sys.argv[0] if program is None else program).absolute()
    if which(NAME) is not None or script.name != NAME:
        return NAME
    here = Path.cwd()
    return shlex.quote(str(script.relative_to(here) if script.is_relative_to(here) else script))

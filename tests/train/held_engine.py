"""The engine's command line, held where a test wants it; the environment's GATES names a folder.

At each place it makes the file `PLACE.reached` there and waits until `PLACE.open` exists.
"""

from __future__ import annotations

import os
import shutil
import sys
import time
from collections import namedtuple
from collections.abc import Callable
from pathlib import Path
from typing import Any

import engine.session.orders
import engine.train.assemble
import engine.train.evaluate
import engine.train.loop
from engine.cli import main
from engine.monitor import Sampler

GATES = Path(os.environ["GATES"])
Usage = namedtuple("Usage", "total used free")


def held(place: str, function: Callable[..., Any], calls_before: int = 0) -> Callable[..., Any]:
    """The function, behind a gate from the call after `calls_before` on."""
    calls = iter(range(10**9))

    def behind_gate(*arguments: Any, **more: Any) -> Any:
        if next(calls) >= calls_before:
            (GATES / f"{place}.reached").touch()
            while not is_open(place):
                time.sleep(0.02)
        return function(*arguments, **more)

    return behind_gate


def is_open(place: str) -> bool:
    return (GATES / f"{place}.open").exists()


def space(path: Path) -> Usage:
    (GATES / "disk.reached").touch()
    return Usage(2**40, 2**39, 2**39) if is_open("disk") else Usage(2**40, 2**40, 0)


engine.session.orders.PATIENCE_SECONDS = 0.5
assert Sampler.__init__.__kwdefaults__ is not None
Sampler.__init__.__kwdefaults__["interval"] = 0.1
engine.train.assemble.load_model = held("load", engine.train.assemble.load_model)
engine.train.evaluate.collate = held("evaluation", engine.train.evaluate.collate, calls_before=7)
engine.train.loop.go_to_gate = held("step", engine.train.loop.go_to_gate, calls_before=2)
if "final" in sys.argv[-1]:
    shutil.disk_usage = space  # type: ignore[assignment]
    sys.argv.pop()
sys.exit(main(sys.argv[1:]))

"""The engine's command line with kernels that add up in a fixed order; `KILLED_AT` ends it without a word.

    KILLED_AT=8 python tests/gpu/deterministic_engine.py train --config FILE

The environment variable names the step after which the process kills itself, as a machine that fails does.
"""

from __future__ import annotations

import os
import signal
import sys

import torch

from engine.cli import main
from engine.train.commands import CommandDesk


def kill_after(step: int) -> None:
    """Let this process be killed between that step and the next one."""
    obey_all = CommandDesk.obey_all

    def obey_or_die(desk: CommandDesk) -> None:
        if desk._trainer.progress.step == step:
            os.kill(os.getpid(), signal.SIGKILL)
        obey_all(desk)

    CommandDesk.obey_all = obey_or_die  # type: ignore[method-assign]


if __name__ == "__main__":
    torch.utils.deterministic.fill_uninitialized_memory = False
    torch.use_deterministic_algorithms(True)
    if step := os.environ.get("KILLED_AT"):
        kill_after(int(step))
    sys.exit(main(sys.argv[1:]))

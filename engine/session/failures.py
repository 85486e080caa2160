"""How a run that cannot go on is explained: one sentence, an advice, and the exit code.

Exit codes: 1 the run failed, 2 bad config or usage, 3 out of memory, 4 disk full. No torch import.
"""

from __future__ import annotations

import errno
import re
import traceback
from dataclasses import dataclass

from engine.config import Config, ConfigError
from engine.errors import UserError, is_out_of_memory
from engine.events import Advice
from engine.events.types import Scalar
from engine.exit_codes import DISK_FULL, FAILED, OUT_OF_MEMORY, USAGE_ERROR
from engine.health import advise, settings_of
from engine.health.memory_remedies import LONGEST_ROW, ROWS

_SMALLEST_GIB = 0.1
"""Less than this is told in MiB."""
KERNEL_PACKAGES = frozenset({"fla", "causal_conv1d", "flash_attn", "triton", "tilelang", "bitsandbytes"})


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a run ended, for the `end` event, the alert and the terminal."""

    code: str
    reason: str
    exit_code: int
    advice: tuple[Advice, ...] = ()
    has_alert: bool = False
    """True when an alert has told of it already."""


@dataclass(slots=True)
class Whereabouts:
    """Where the loop stands, so that a failure can name the step and the batch."""

    step: int = 0
    longest_row: int | None = None
    rows: tuple[int, ...] = ()
    last_checkpoint: str | None = None
    expected: str | None = None
    """What a step was expected to take of the GPU's memory, where that was told."""


def explain(error: BaseException, config: Config, where: Whereabouts) -> Failure:
    """The failure that `error` means to the user of this config."""
    if isinstance(error, UserError):
        exit_code = DISK_FULL if error.code == "DISK_FULL" else FAILED
        return Failure(
            error.code, str(error), exit_code, error.advice or _advice(error.code, config, where), error.has_alert
        )
    if isinstance(error, ConfigError):
        return Failure("BAD_CONFIG", str(error), USAGE_ERROR)
    if is_out_of_memory(error):
        return _out_of_memory(error, config, where)
    if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
        reason = f"The disk is full: {error.filename or error}. Free space on it, then resume the run."
        return Failure("DISK_FULL", reason, DISK_FULL, _advice("DISK_FULL", config, where))
    if (library := _kernel_library(error)) is not None:
        message = " ".join(str(error).split())
        reason = f"The kernels of {library} do not run on this machine: {message}"
        return Failure("KERNEL_REFUSED", reason, FAILED, _advice("KERNEL_REFUSED", config, where))
    reason = f"Unexpected {type(error).__name__}: {str(error).strip() or 'no message'} (traceback in console.log)"
    return Failure("UNEXPECTED_ERROR", reason, FAILED, _advice("UNEXPECTED_ERROR", config, where))


def _advice(code: str, config: Config, where: Whereabouts) -> tuple[Advice, ...]:
    """What the table advises; to go on from a checkpoint only where there is one."""
    offered = advise(code, settings_of(config))
    return tuple(one for one in offered if one.key != "train.resume_from" or where.last_checkpoint is not None)


def _kernel_library(error: BaseException) -> str | None:
    """The kernel package that raised the error, if one did: its message tells what this machine lacks."""
    packages = [
        frame.f_globals.get("__name__", "").partition(".")[0] for frame, _ in traceback.walk_tb(error.__traceback__)
    ]
    return packages[-1] if packages and packages[-1] in KERNEL_PACKAGES else None


def _out_of_memory(error: BaseException, config: Config, where: Whereabouts) -> Failure:
    asked, free = _asked_and_free(str(error))
    parts = [f"Out of memory at step {where.step}" if where.step else "Out of memory before the first step"]
    if where.longest_row is not None:
        parts.append(f"longest row of the batch {where.longest_row:,} tokens")
    if asked:
        parts.append(f"asked for {asked}" + (f", {free} free" if free else ""))
    if where.expected:
        parts.append(f"a step was expected to take {where.expected}: `pgs profile --run RUN` says what makes it fit")
    if where.last_checkpoint:
        parts.append(f"the last good checkpoint is {where.last_checkpoint}")
    advice = advise("OUT_OF_MEMORY", settings_of(config), _memory_facts(where))
    return Failure("OUT_OF_MEMORY", "; ".join(parts) + ".", OUT_OF_MEMORY, advice)


def _memory_facts(where: Whereabouts) -> dict[str, Scalar]:
    return {ROWS: len(where.rows) or None, LONGEST_ROW: where.longest_row}


def _asked_and_free(message: str) -> tuple[str | None, str | None]:
    """The sizes in the allocator's message, which is the only place that has them."""
    asked = re.search(r"[Tt]ried to allocate (\d[\d.]* ?[KMGT]?i?B|\d+ bytes)", message)
    asked = asked or re.search(r"you tried to allocate (\d+ bytes)", message)
    free = re.search(r"of which (\d[\d.]* [KMGT]?i?B) is free", message)
    return (_readable(asked.group(1)) if asked else None, _readable(free.group(1)) if free else None)


def _readable(text: str) -> str:
    number, unit = re.match(r"([\d.]+) ?(\w+)", text).groups()  # type: ignore[union-attr]
    scale = {"bytes": 2**-30, "B": 2**-30, "KiB": 2**-20, "MiB": 2**-10, "GiB": 1.0, "TiB": 2**10}[unit]
    gib = float(number) * scale
    return f"{gib:.1f} GiB" if gib >= _SMALLEST_GIB else f"{gib * 2**10:.0f} MiB"

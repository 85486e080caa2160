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
from engine.exit_codes import DISK_FULL, FAILED, OUT_OF_MEMORY, USAGE_ERROR

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


def explain(error: BaseException, config: Config, where: Whereabouts) -> Failure:
    """The failure that `error` means to the user of this config."""
    if isinstance(error, UserError):
        return Failure(
            error.code, str(error), DISK_FULL if error.code == "DISK_FULL" else FAILED, error.advice, error.has_alert
        )
    if isinstance(error, ConfigError):
        return Failure("BAD_CONFIG", str(error), USAGE_ERROR)
    if is_out_of_memory(error):
        return _out_of_memory(error, config, where)
    if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
        reason = f"The disk is full: {error.filename or error}. Free space on it, then resume the run."
        return Failure("DISK_FULL", reason, DISK_FULL, (Advice(key="train.resume_from", value="auto"),))
    if (library := _kernel_library(error)) is not None:
        message = " ".join(str(error).split())
        return Failure("KERNEL_REFUSED", f"The kernels of {library} do not run on this machine: {message}", FAILED)
    reason = f"Unexpected {type(error).__name__}: {str(error).strip() or 'no message'} (traceback in console.log)"
    return Failure("UNEXPECTED_ERROR", reason, FAILED)


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
    if where.last_checkpoint:
        parts.append(f"the last good checkpoint is {where.last_checkpoint}")
    return Failure("OUT_OF_MEMORY", "; ".join(parts) + ".", OUT_OF_MEMORY, _memory_advice(config, where))


def _memory_advice(config: Config, where: Whereabouts) -> tuple[Advice, ...]:
    """What to change, what costs least first; each piece alone makes a config that is accepted."""
    return (*_advice_that_changes_no_result(config), *_smaller_batch(config, where), *_smaller_training(config))


def _advice_that_changes_no_result(config: Config) -> list[Advice]:
    train, memory, advice = config.train, config.memory, []
    if not memory.chunked_loss:
        advice.append(Advice(key="memory.chunked_loss", value=True, why="the full logits are the largest tensor"))
    if not memory.gradient_release and train.gradient_accumulation_steps == 1:
        limit = "" if train.max_grad_norm is None else "; with train.max_grad_norm: null"
        why = f"each gradient is freed at once{limit}"
        advice.append(Advice(key="memory.gradient_release", value=True, why=why))
    if memory.chunked_loss and memory.gradient_release and not (memory.tiled_head or train.freeze_non_attention):
        why = "the gradient of the head never exists as a whole"
        advice.append(Advice(key="memory.tiled_head", value=True, why=why))
    if train.gradient_checkpointing == "none":
        why = "computes much of the forward pass a second time instead of keeping it"
        advice.append(Advice(key="train.gradient_checkpointing", value="selective", why=why))
    elif train.gradient_checkpointing in ("selective", "mixers"):
        why = "computes every layer a second time; only the borders of the layers are kept"
        advice.append(Advice(key="train.gradient_checkpointing", value="full", why=why))
    elif not memory.offload_activations:
        why = "the inputs of the layers wait in main memory"
        advice.append(Advice(key="memory.offload_activations", value=True, why=why))
    slices = min(2 * memory.layer_slices, train.per_device_batch_size)
    if train.gradient_checkpointing == "full" and slices > memory.layer_slices:
        why = "a layer takes the batch in slices and computes on the memory of one"
        advice.append(Advice(key="memory.layer_slices", value=slices, why=why))
    return advice


def _smaller_batch(config: Config, where: Whereabouts) -> list[Advice]:
    train, advice = config.train, []
    rows = min(train.per_device_batch_size, len(where.rows) or train.per_device_batch_size)
    if rows > 1:
        smaller = rows // 2
        more = -(-train.per_device_batch_size * train.gradient_accumulation_steps // smaller)
        why = f"with train.gradient_accumulation_steps: {more} the step stays the same"
        if config.memory.gradient_release:
            why = "a step of fewer chats"
        if config.memory.layer_slices > smaller:
            why += f"; with memory.layer_slices: {smaller}"
        advice.append(Advice(key="train.per_device_batch_size", value=smaller, why=why))
    longest = min(where.longest_row or config.data.max_seq_length, config.data.max_seq_length)
    advice.append(Advice(key="data.max_seq_length", value=max(longest // 2, 2), why="cuts the longest rows"))
    return advice


def _smaller_training(config: Config) -> list[Advice]:
    train, advice = config.train, []
    if not train.optimizer.endswith("8bit"):
        advice.append(Advice(key="train.optimizer", value=f"{train.optimizer}8bit", why="a smaller optimizer state"))
    elif train.optimizer == "adamw8bit":
        advice.append(Advice(key="train.optimizer", value="lion8bit", why="half the optimizer state"))
    if not train.freeze_non_attention:
        why = "trains the attention layers alone, about a third of the weights"
        advice.append(Advice(key="train.freeze_non_attention", value=True, why=why))
    return advice


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

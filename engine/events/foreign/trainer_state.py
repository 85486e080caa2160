"""`trainer_state.json`, in which Hugging Face's Trainer keeps what it has logged, as the steps that it tells of.

It is written anew with each checkpoint: `checkpoint-500/trainer_state.json` has the whole history up to step 500. Times
are not in it, so all that is new comes at the moment the file was written.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from engine.events.console import ConsoleStep
from engine.events.foreign.names import CHECKPOINT_PREFIX, STATE_NAME
from engine.events.foreign.step_lines import known_of, told_by
from engine.events.foreign.told import NotReadableError, StepsTold

NAME = STATE_NAME
HISTORY = "log_history"
_SUMMARY = "train_runtime"
_OF_A_STEP = frozenset(("loss", "eval_loss", "lr", "grad_norm"))


@dataclass(frozen=True, slots=True)
class State:
    """What one file says; `note` where it is damaged and only the first of its records could be read."""

    path: Path
    records: tuple[Mapping[str, Any], ...]
    step: int
    total: int | None
    written: float
    note: str = ""

    @property
    def fingerprints(self) -> tuple[str, ...]:
        """A text for each record, the same for the same numbers; NaN equals NaN."""
        return tuple(repr(sorted(record.items())) for record in self.records)

    @property
    def is_over(self) -> bool:
        """All steps are done, or the summary is there that the trainer writes at the end."""
        has_summary = any(_is_summary(one) for one in self.records[-3:])
        return has_summary or (self.total is not None and self.step >= self.total)


class TrainerStates:
    """`poll` the newest state of a folder (its own, or that of a checkpoint in it), or that one file."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._seen: list[tuple[Path, int, int]] = []
        self._known: tuple[str, ...] = ()

    def poll(self) -> StepsTold:
        """What is new. Raises OSError, and NotReadableError where nothing can be understood."""
        paths = list(states_in(self.path)) if self.path.is_dir() else [self.path]
        seen = [(one, status.st_mtime_ns, status.st_size) for one in paths for status in (one.stat(),)]
        if seen == self._seen:
            return StepsTold()
        state = newest_of(paths)
        self._seen = seen
        return self._new(state) if state is not None else StepsTold()

    def _new(self, state: State) -> StepsTold:
        now, known = state.fingerprints, len(self._known)
        goes_on = now[:known] == self._known
        if not goes_on and now == self._known[: len(now)] and state.note:
            return StepsTold(notes=(state.note,))  # it is being written: what was known stays
        fresh = state.records[known:] if goes_on else state.records
        self._known = now
        told = tuple(one for record in fresh if (one := _told(record, state.written)) is not None)
        notes = (state.note,) if state.note else ()
        return StepsTold(told, notes, not goes_on, state.total, state.is_over)


def states_in(folder: Path) -> Iterator[Path]:
    """The states of the folder and of its checkpoints, those of the newest checkpoints last. Raises OSError."""
    own = folder / NAME
    if own.is_file():
        yield own
    checkpoints = [one for one in folder.iterdir() if one.name.startswith(CHECKPOINT_PREFIX) and (one / NAME).is_file()]
    for one in sorted(checkpoints, key=lambda one: (len(one.name), one.name)):
        yield one / NAME


def newest_of(paths: list[Path]) -> State | None:
    """The state that got on farthest; where one that was written later has another history, that.

    Training that went back to an earlier checkpoint makes such a one. Raises as `read_state` where none can be read.
    """
    if not paths:
        return None
    latest = max(paths, key=lambda one: one.stat().st_mtime_ns)
    states: list[State] = []
    errors: list[NotReadableError] = []
    for path in dict.fromkeys((paths[0], paths[-1], latest)):
        try:
            states.append(read_state(path))
        except NotReadableError as error:
            errors.append(error)
    if not states:
        raise errors[0]
    farthest = max(states, key=lambda one: (one.step, len(one.records)))
    last_written = max(states, key=lambda one: one.written)
    written = last_written.fingerprints
    return farthest if farthest.fingerprints[: len(written)] == written else last_written


def read_state(path: Path) -> State:
    """What the file says, of one that is cut the part before. Raises OSError, and NotReadableError."""
    with path.open("rb") as file:
        written = os.fstat(file.fileno()).st_mtime
        text = file.read().decode("utf-8", "replace")
    note, state = "", _loaded(text)
    if state is None:
        records, end = _first_records(text)
        if not records:
            raise NotReadableError(f"{path}: neither JSON nor the beginning of a {NAME}; it may have been cut")
        note = f"{path}: no JSON from character {end:,} on; the first {len(records):,} records are shown"
        state = {HISTORY: records}
    found = state.get(HISTORY)
    if not isinstance(found, list):
        raise NotReadableError(f'{path}: it has no list "{HISTORY}", as a {NAME} has')
    whole = tuple(one for one in found if isinstance(one, dict))
    return State(path, whole, _whole(state.get("global_step")) or 0, _whole(state.get("max_steps")), written, note)


def _loaded(text: str) -> dict[str, Any] | None:
    try:
        state = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return state if isinstance(state, dict) else {}


def _first_records(text: str) -> tuple[list[Any], int]:
    """The whole records of a text that is cut somewhere, and where the first that is not whole begins."""
    records: list[Any] = []
    place = text.find("[", text.find(f'"{HISTORY}"'))
    if f'"{HISTORY}"' not in text or place < 0:
        return records, 0
    decoder = json.JSONDecoder()
    while (begin := text.find("{", place)) >= 0:
        try:
            record, place = decoder.raw_decode(text, begin)
        except (ValueError, RecursionError):
            return records, begin
        records.append(record)
    return records, place


def _told(record: Mapping[str, Any], written: float) -> ConsoleStep | None:
    """What a record tells; None for the summary behind the last one, and for one that tells of no step."""
    values = known_of(dict(_numbers(record)))
    if "step" not in values or not _OF_A_STEP & values.keys() or _is_summary(record):
        return None
    return told_by({**values, "t": written})


def _is_summary(record: Mapping[str, Any]) -> bool:
    return _SUMMARY in record and "loss" not in record


def _numbers(record: Mapping[str, Any]) -> Iterator[tuple[str, float]]:
    for name, value in record.items():
        if isinstance(value, bool) or not isinstance(value, int | float):
            continue
        yield name, value if isinstance(value, float) else float(value) if abs(value) < 2**63 else math.inf


def _whole(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 < value <= 2**53 else None

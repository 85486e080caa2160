"""The event files of one TensorBoard run, followed while they grow, as the steps that they tell of."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from engine.events.console import ConsoleStep
from engine.events.foreign.fields import Field, field_of
from engine.events.foreign.names import EVENT_MARK
from engine.events.foreign.scalars import Purge, Scalar, told_in
from engine.events.foreign.step_lines import told_by
from engine.events.foreign.tfrecord import DamagedError, FileShrunkError, Records
from engine.events.foreign.told import StepsTold
from engine.events.foreign.wire import WireError

MARK = EVENT_MARK
_OF_A_STEP: frozenset[Field] = frozenset(("loss", "lr", "grad_norm", "dt", "tok_s", "eval_loss"))
"""One of these makes what is told under a number the telling of a step."""


class EventFiles:
    """`poll` the files of a folder, or one file. What is told of a step comes together, once a later one is told of.

    Where nothing follows, the newest step comes with the poll after the one that read it.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._begin()

    def poll(self) -> StepsTold:
        """What is new. Raises OSError where the folder cannot be read."""
        notes: list[str] = []
        paths = event_files(self.path)
        restarted = self._shrunk or not self._files.keys() <= set(paths)
        if restarted:
            self._begin()
        for path in paths:
            self._files.setdefault(path, Records(path))
        scalars = sorted((one for file in self._files.values() for one in self._read(file, notes)), key=_time)
        told = [step for one in scalars for step in self._assembling.take(one)]
        if not scalars:
            told += self._assembling.rest()
        return StepsTold(tuple(told), tuple(notes), restarted)

    def _begin(self) -> None:
        self._files: dict[Path, Records] = {}
        self._ended: set[Path] = set()
        self._assembling = Assembling()
        self._shrunk = False

    def _read(self, file: Records, notes: list[str]) -> Iterator[Scalar | Purge]:
        if file.path in self._ended:
            return
        damaged = file.damaged
        try:
            for record in file.poll():
                try:
                    yield from told_in(record)
                except WireError:
                    file.damaged += 1
        except DamagedError as error:
            self._ended.add(file.path)
            notes.append(f"{error}; what stands before is shown")
        except FileShrunkError:
            self._shrunk = True
        if file.damaged > damaged:
            notes.append(
                f"{file.path.name}: {file.damaged - damaged} records before byte {file.offset:,} do not agree with"
                " their checksums and were left out"
            )


class Assembling:
    """Puts the numbers of one step together, which come tag by tag."""

    def __init__(self) -> None:
        self._step: int | None = None
        self._values: dict[Field, float] = {}

    def take(self, one: Scalar | Purge) -> Iterator[ConsoleStep]:
        """The step before, once this belongs to another one."""
        if isinstance(one, Purge):
            yield from self.rest()
            return
        field = field_of(one.tag)
        if field is None or field in ("step", "total", "t"):
            return
        if one.step != self._step or field in self._values:
            yield from self.rest()
        self._step = one.step
        self._values[field] = one.value
        self._values["t"] = one.t

    def rest(self) -> Iterator[ConsoleStep]:
        """The step whose numbers are all there."""
        step, values = self._step, self._values
        self._step, self._values = None, {}
        if step is not None and _OF_A_STEP & values.keys():
            values["step"] = float(step)
            yield told_by(values)


def event_files(path: Path) -> list[Path]:
    """The event files that a path means: itself, or those that lie in it, the oldest first. Raises OSError."""
    if not path.is_dir():
        return [path]
    return sorted((one for one in path.iterdir() if MARK in one.name and one.is_file()), key=lambda one: one.name)


def _time(one: Scalar | Purge) -> float:
    return one.t

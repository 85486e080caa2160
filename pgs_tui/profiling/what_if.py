"""What would be if: the values of a config that were changed on the screen, and the way back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from pgs_tui.profiling.settings import Opened

MOST_STEPS_BACK = 500


@dataclass(frozen=True, slots=True)
class Target:
    """The GPU that is asked about: one by `name`, one of `memory` GiB, or, with neither, this machine's own."""

    name: str | None = None
    memory: float | None = None

    @property
    def params(self) -> dict[str, object]:
        """As the profiler wants to be told."""
        return {"gpu": self.name, "gpu_memory_gb": self.memory}

    @property
    def is_own(self) -> bool:
        """Whether it is this machine's own, whichever that is."""
        return self.name is None and self.memory is None

    def __str__(self) -> str:
        if self.memory is not None:
            return f"{self.memory:g} GiB"
        return self.name or "this machine's"


@dataclass(frozen=True, slots=True)
class Wanted:
    """Keys with other values than the config's, and the GPU."""

    changes: Mapping[str, object] = field(default_factory=dict)
    target: Target = Target()


class WhatIf:
    """Begins with the config as it was opened; `wanted` is what is asked about now."""

    def __init__(self, opened: Opened, target: Target) -> None:
        self.opened = opened
        self.wanted = Wanted(target=target)
        self.first = self.wanted
        """As it was opened."""
        self._before: list[Wanted] = []

    def value(self, key: str) -> object:
        """The value that is asked about."""
        return self.wanted.changes.get(key, self.opened.values.get(key))

    def is_changed(self, key: str) -> bool:
        """Whether it is another value than the config's."""
        return key in self.wanted.changes

    @property
    def changes(self) -> Mapping[str, object]:
        """Every key with another value than the config was opened with."""
        return self.wanted.changes

    @property
    def to_write(self) -> dict[str, object]:
        """Every key with another value than the file has: the changes, and what the command line said."""
        values, written = {**self.opened.values, **self.wanted.changes}, self.opened.written
        return {key: value for key, value in values.items() if key not in written or value != written[key]}

    def set(self, changes: Mapping[str, object]) -> bool:
        """Ask about other values of some keys; False when these are the ones asked about already."""
        merged = {**self.wanted.changes, **changes}
        kept = {key: value for key, value in merged.items() if not self._is_own(key, value)}
        return self._go(Wanted(kept, self.wanted.target))

    def step(self, key: str, direction: int) -> bool:
        """Ask about the next value of the key in this direction; False at the end of the way."""
        return self.set({key: self.opened.kinds[key].after(self.value(key), direction)})

    def aim(self, target: Target) -> bool:
        """Ask about another GPU."""
        return self._go(Wanted(self.wanted.changes, target))

    def undo(self) -> bool:
        """Back to what was asked about before; False at the beginning."""
        if not self._before:
            return False
        self.wanted = self._before.pop()
        return True

    def reset(self) -> bool:
        """Back to the config as it was opened; `undo` leads back here."""
        return self._go(self.first)

    def _is_own(self, key: str, value: object) -> bool:
        return key in self.opened.values and self.opened.values[key] == value

    def _go(self, wanted: Wanted) -> bool:
        if wanted == self.wanted:
            return False
        self._before = [*self._before[1 - MOST_STEPS_BACK :], self.wanted]
        self.wanted = wanted
        return True

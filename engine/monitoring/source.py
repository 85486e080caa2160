"""What `pgs monitor` watches: a run's directory or a log, seen alike."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Protocol

from engine.events import Severity
from engine.incidents import Incident
from engine.monitoring.summary import Summary, Told

GRAVE: tuple[Severity, ...] = ("error", "critical")
FAILED = ("failed", "killed", "lost")


@dataclass(frozen=True, slots=True)
class Health:
    """`word` is `ok`, or the gravest that is open, `unknown` where there was nothing to judge.

    `is_well` decides the exit code.
    """

    word: str
    is_well: bool

    @classmethod
    def of(cls, incidents: Iterable[Incident], state: str) -> Health:
        """The health of a run in this state with these open incidents, the gravest first."""
        gravest = next((one.severity for one in incidents), None)
        if state in FAILED:
            return cls(state, False)
        return cls("ok" if gravest in (None, "info") else str(gravest), gravest not in GRAVE)


class Source(Protocol):
    """Read by `poll`; the rest says how things stand."""

    @property
    def kind(self) -> str: ...

    @property
    def name(self) -> str: ...

    @property
    def path(self) -> str: ...

    @property
    def summary(self) -> Summary: ...

    @property
    def notes(self) -> list[str]: ...

    @property
    def bad_lines(self) -> int: ...

    @property
    def state(self) -> str: ...

    @property
    def is_over(self) -> bool: ...

    @property
    def age(self) -> float | None: ...

    @property
    def health(self) -> Health: ...

    def poll(self) -> Iterator[Told]: ...

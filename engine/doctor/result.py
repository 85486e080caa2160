"""What a check found. No heavy import."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

from engine.config import Loaded

Status = Literal["ok", "warning", "failed", "skipped"]


@dataclass(frozen=True, slots=True)
class Outcome:
    """The verdict of a check: one sentence with its number, and what to do where something is wrong."""

    status: Status
    found: str
    fix: str | None = None


@dataclass(frozen=True, slots=True)
class Result:
    """An outcome with the name of its check and how long it took."""

    name: str
    status: Status
    seconds: float
    found: str
    fix: str | None = None


@dataclass(frozen=True, slots=True)
class Patient:
    """What is examined: this machine by its environment, and a config where one was given."""

    environment: Mapping[str, str]
    loaded: Loaded | None = None


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that is proved. `subject` says in a few words what, for `--list` and while it runs.

    `compiles`: on a GPU it compiles kernels, which takes a minute or two the first time.
    """

    name: str
    subject: str
    examine: Callable[[Patient], Outcome]
    compiles: bool = False


def ok(found: str) -> Outcome:
    return Outcome("ok", found)


def warning(found: str, fix: str) -> Outcome:
    return Outcome("warning", found, fix)


def failed(found: str, fix: str) -> Outcome:
    return Outcome("failed", found, fix)


def skipped(found: str) -> Outcome:
    return Outcome("skipped", found)

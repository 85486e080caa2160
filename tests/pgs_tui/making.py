"""Events and runs for the tests of everything that looks at a run."""

from __future__ import annotations

from typing import Any

from engine.events import Batch, Event, Stamped, Step
from pgs_tui.runs.life import Life


def step(number: int, loss: float | None = 2.0, **fields: Any) -> Step:
    usual: dict[str, Any] = {
        "epoch": number / 100,
        "lr": 1e-5,
        "grad_norm": 0.5,
        "dt": 1.0,
        "tokens": 100,
        "slots": 120,
        "loss_tokens": 60,
        "tok_s": 100.0,
    }
    return Step(step=number, loss=loss, **{**usual, **fields})


def stamped(*events: Event, start: float = 1000.0, every: float = 1.0) -> tuple[Stamped, ...]:
    return tuple(Stamped(start + place * every, event) for place, event in enumerate(events))


class ScriptedReader:
    """Brings the given batches, one a poll, then nothing."""

    def __init__(self, *batches: Batch) -> None:
        self.batches = list(batches)

    def poll(self) -> Batch:
        return self.batches.pop(0) if self.batches else Batch()


class ScriptedLog:
    """Brings the given lines, one tuple a poll, then nothing; `unfinished` once its writer is gone."""

    def __init__(self, *polls: tuple[str, ...], unfinished: tuple[str, ...] = ()) -> None:
        self.polls = list(polls)
        self.unfinished = unfinished

    def poll(self) -> tuple[str, ...]:
        return self.polls.pop(0) if self.polls else ()

    def rest(self) -> tuple[str, ...]:
        return self.unfinished


class ScriptedEngine:
    """An engine in the state that the test gives it."""

    def __init__(self, life: Life = "live", exit_code: int | None = None) -> None:
        self.life: Life = life
        self.exit_code = exit_code

    def look(self) -> tuple[Life, int | None]:
        return self.life, self.exit_code


BRACKETS = (
    "see [/] here",
    "[/usr/bin/python]",
    "[link=http://x]y",
    "list[int]",
    "[red]stop[/red]",
    "[@click=app.bell]tap[/]",
    "\\[x]",
    "open [bold only",
)
"""Texts that a markup parser would swallow, turn into an action, or die of."""

"""Steps that cannot belong to a run, told from those that can before they are taken in."""

from __future__ import annotations

from typing import NamedTuple

from engine.events import Step
from pgs_tui.history.axis import LARGEST_STEP

FAR = 1_000_000
"""A step whose number is more than this away from that of the last one waits for the next step to confirm it."""
MOST_NOTES = 5
NO_OFFSET = -1


class Told(NamedTuple):
    """A step, when it was told, and the first byte of its line, below 0 where that is not known."""

    step: Step
    t: float
    offset: int


class Strays:
    """One wrong number must not stretch the x axis for ever, nor throw the run's past away.

    A step with a number or tokens beyond 2**53 is refused. One that is more than a million steps away from the last is
    held back: where the next step goes on from it, the run really is there and both are taken; else it stays out.
    """

    def __init__(self) -> None:
        self.refused = 0
        """How many steps were left out."""
        self._held: Told | None = None
        self._notes: list[str] = []

    @property
    def is_waiting(self) -> bool:
        """Whether a step is held back."""
        return self._held is not None

    def admit(self, told: Told, last: int | None) -> tuple[Told, ...]:
        """The steps to take in now that this one has come; `last` is the number of the newest one taken in."""
        number = told.step.step
        if abs(number) > LARGEST_STEP or abs(told.step.tokens) > LARGEST_STEP:
            self._refuse("left out a step whose number or tokens are beyond 2^53: no run counts so far")
            return ()
        held, self._held = self._held, None
        if held is not None and held.step.step < number <= held.step.step + FAR:
            return held, told
        if held is not None:
            self._refuse_far(held)
        if last is not None and abs(number - last) > FAR:
            self._held = told
            return ()
        return (told,)

    def give_up(self) -> None:
        """Nothing can confirm any more what is held back: the engine has started anew."""
        if self._held is not None:
            self._refuse_far(self._held)
        self._held = None

    def notes(self) -> tuple[str, ...]:
        """What was left out since the last time, in sentences; of all steps ever only the first few are told."""
        notes, self._notes = tuple(self._notes), []
        return notes

    def _refuse_far(self, told: Told) -> None:
        self._refuse(f"left out step {told.step.step}, which is over a million steps away from those around it")

    def _refuse(self, note: str) -> None:
        self.refused += 1
        if self.refused <= MOST_NOTES:
            self._notes.append(note)

"""When a run comes to what it is asked, in the words of an answer."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Moment:
    """What the run is at; each field ends the sentence of a command: it stops ..., pauses ..., goes on ...

    An empty one says that it does not come to that any more.
    """

    stops: str
    pauses: str
    goes_on: str
    later: str
    """When it comes to anything else."""


MADE_READY = Moment(
    stops="at once: the run is still being made ready",
    pauses="as soon as the run is ready",
    goes_on="as soon as the run is ready",
    later="as soon as the run is ready",
)
_GIVES_UP = "; one that waits for space on the disk is given up"
LAST_SAVE = Moment(stops=f"when the last save is over{_GIVES_UP}", pauses="", goes_on="with the last save", later="")
_LONG_WORK = {
    "rehearsing": "when the rehearsal is over",
    "compiling": "when the kernels are compiled",
    "saving": "when the save is over",
}
"""By the phases in which the loop cannot look: what has to be over first."""


def moment_of(phase: str, step: int) -> Moment:
    """What is true in this phase of a training; `step` is the newest one that was begun, 0 before the first."""
    if phase == "evaluating":
        return within_evaluation(step)
    if (when := _LONG_WORK.get(phase)) is None:
        return between_steps(step)
    return Moment(f"{when}{_GIVES_UP if phase == 'saving' else ''}", when, when, when)


def between_steps(step: int) -> Moment:
    """The step is done, or is the one under way."""
    if not step:
        return Moment("before the first step", "before the first step", "with the first step", "before the first step")
    when = f"after step {step}"
    return Moment(f"{when} with a checkpoint", when, when, when)


def within_evaluation(step: int) -> Moment:
    """Between two of its batches; what it has summed up is of no use when it is left."""
    saves = f", with a checkpoint of step {step}" if step else ""
    return Moment(
        stops=f"after this batch of the evaluation{saves}",
        pauses="after this batch of the evaluation",
        goes_on="with the evaluation",
        later="when the evaluation is over",
    )

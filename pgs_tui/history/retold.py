"""Whether a log that was emptied, replaced or written anew tells from its beginning what it has told before."""

from __future__ import annotations

from collections.abc import Iterable

from engine.events import Resume, Stamped, Step
from engine.events.columns import Block, StepColumns
from pgs_tui.history.known import KnownRun


def is_told_again(known: KnownRun, news: Iterable[Block]) -> bool | None:
    """True where all that is known is void, for the log tells it again or tells of another run; None without news.

    It is where the first event is no younger than the first one known, unless its steps go on from those known.
    """
    blocks = tuple(news)
    times = (block.t if isinstance(block, Stamped) else block.t[0] for block in blocks if _is_something(block))
    first_t = next(times, None)
    if first_t is None:
        return None
    if known.first_t is not None and first_t > known.first_t:
        return False
    first_step = next((step for block in blocks if (step := _first_step(block)) is not None), None)
    return first_step is None or not known.steps or first_step <= known.steps[0]


def _is_something(block: Block) -> bool:
    return isinstance(block, Stamped) or len(block) > 0


def _first_step(block: Block) -> int | None:
    match block:
        case StepColumns():
            return block.step[0] if len(block) else None
        case Stamped(event=Step() as step):
            return step.step
        case Stamped(event=Resume() as resume):
            return resume.from_step + 1
    return None

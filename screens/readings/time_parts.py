"""Where the time of the recent steps goes."""

from __future__ import annotations

from collections.abc import Callable

from engine.events import Step
from pgs_tui.runs.history import History

SHORT_NAMES = {"forward": "fwd", "backward": "bwd", "optimizer": "opt"}


def share_of(history: History, part: Callable[[Step], float | None]) -> float | None:
    """The part's share of the time of the recent steps, None where it was not measured."""
    measured = [(part(step), step.dt) for _, step in history.recent]
    known = [(seconds_of, whole_step) for seconds_of, whole_step in measured if seconds_of is not None]
    total = sum(whole_step for _, whole_step in known)
    return sum(seconds_of for seconds_of, _ in known) / total if total > 0 else None


def time_split(history: History) -> tuple[str, ...]:
    """The shares of the parts of a step in words, the fullest form first."""
    shares = {
        "data": share_of(history, lambda step: step.time.data),
        "forward": share_of(history, lambda step: step.time.forward),
        "backward": share_of(history, lambda step: step.time.backward),
        "optimizer": share_of(history, lambda step: step.time.optimizer),
        "gc": share_of(history, lambda step: step.time.gc),
    }
    shown = {name: share for name, share in shares.items() if share is not None and (name != "gc" or share >= 0.005)}
    if not shown:
        return ()
    rest = 1 - sum(shown.values())
    if rest >= 0.005:
        shown["other"] = rest
    words = [f"{name} {share * 100:.0f}" for name, share in shown.items()]
    short = [f"{SHORT_NAMES.get(name, name)} {share * 100:.0f}" for name, share in shown.items()]
    return " · ".join(words) + " %", " · ".join(short) + " %", " ".join(short[:4]) + " %"

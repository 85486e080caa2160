"""Where the time of the recent steps goes."""

from __future__ import annotations

from operator import attrgetter

from pgs_tui.history.history import History
from pgs_tui.history.step_parts import MEASURED, MeasuredPart, PartName

SHORT_NAMES = {"forward": "fwd", "backward": "bwd", "optimizer": "opt"}


def share_of(history: History, part: MeasuredPart) -> float | None:
    """The part's share of the time of the recent steps, None where it was not measured."""
    recent = [step for _, step in history.recent]
    amounts = list(map(attrgetter(f"time.{part}"), recent))
    whole_steps = [step.dt for step in recent]
    if None in amounts:
        whole_steps = [dt for dt, amount in zip(whole_steps, amounts, strict=True) if amount is not None]
        amounts = [amount for amount in amounts if amount is not None]
    total = sum(whole_steps)
    return sum(amounts) / total if total > 0 else None


def time_split(history: History) -> tuple[str, ...]:
    """The shares of the parts of a step in words, the fullest form first."""
    shares: dict[PartName, float | None] = {part: share_of(history, part) for part in MEASURED}
    shown = {name: share for name, share in shares.items() if share is not None and (name != "gc" or share >= 0.005)}
    if not shown:
        return ()
    rest = 1 - sum(shown.values())
    if rest >= 0.005:
        shown["other"] = rest
    words = [f"{name} {share * 100:.0f}" for name, share in shown.items()]
    short = [f"{SHORT_NAMES.get(name, name)} {share * 100:.0f}" for name, share in shown.items()]
    return " · ".join(words) + " %", " · ".join(short) + " %", " ".join(short[:4]) + " %"

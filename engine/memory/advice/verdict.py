"""Whether a run fits: what it needs against what is free, and how sure that is."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal, Protocol

from engine.config import Config
from engine.memory.advice.room import Holder, Room

Word = Literal["fits", "tight", "does not fit", "unknown"]

PEAK_ERROR = 0.03
"""By this share of the peak an estimate may be too low (docs/profile.md compares estimates with measurements)."""
RESERVED_ERROR = 0.08
"""By this share of what is reserved, which holds fragmentation besides, an estimate may be too low (same place)."""
LEAST_NAMED_GIB = 0.05
"""Holders with less are counted, not named."""
MOST_NAMED = 3


class Needs(Protocol):
    """What an estimate says, in GiB: `engine.memory.estimate.Estimate`."""

    @property
    def peak_gib(self) -> float: ...

    @property
    def reserved_gib(self) -> float: ...

    @property
    def total_gib(self) -> float:
        """`reserved_gib` and what CUDA itself takes."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """The word, GiB to spare (below 0: that are missing; None where no GPU is known), and why."""

    word: Word
    headroom_gib: float | None
    sentence: str
    warnings: tuple[str, ...] = ()


def judge(estimate: Needs, room: Room | None, config: Config | None = None) -> Verdict:
    """Holds an estimate against what is free, not against what the GPU has in total.

    With a `config` the warnings also say what this GPU cannot do, so that the run would be refused there.
    """
    verdict = _judge(estimate, room)
    refusal = what_it_cannot(config, room) if config and room else None
    return replace(verdict, warnings=(refusal, *verdict.warnings)) if refusal else verdict


def what_it_cannot(config: Config, room: Room) -> str | None:
    """Why this GPU would refuse a run of this config, however much memory it has; None where it would not."""
    if not config.memory.float8_training or room.capability is None:
        return None
    from engine.model.float8.available import float8_problem  # imports torch

    problem = float8_problem(room.name, room.capability, torchao="any")
    return f"the run would be refused there: {problem}, or set memory.float8_training: false" if problem else None


def _judge(estimate: Needs, room: Room | None) -> Verdict:
    needs = estimate.total_gib
    if room is None:
        return Verdict("unknown", None, f"unknown: needs {needs:.1f} GiB, and no GPU is known to hold that against")
    headroom = room.free_gib - needs
    if headroom < 0:
        return Verdict("does not fit", headroom, f"does not fit: needs {needs:.1f}, {_what_is_free(room)}")
    warnings = _on_others(room, headroom)
    if headroom < margin(estimate):
        sentence = (
            f"tight: needs {needs:.1f}, {_what_is_free(room)}; the {headroom:.1f} left are less than the"
            f" {margin(estimate):.1f} by which fragmentation and the estimate itself may be off"
            f" ({PEAK_ERROR:.0%} of the peak, {RESERVED_ERROR:.0%} of what is reserved)"
        )
        return Verdict("tight", headroom, sentence, warnings)
    sentence = f"fits: needs {needs:.1f}, {_what_is_free(room)}, {headroom:.1f} to spare"
    return Verdict("fits", headroom, sentence, warnings)


def margin(estimate: Needs) -> float:
    """GiB by which the memory that a run really takes may lie above the estimate."""
    return max(PEAK_ERROR * estimate.peak_gib, RESERVED_ERROR * estimate.reserved_gib)


def _what_is_free(room: Room) -> str:
    text = f"free {room.free_gib:.1f} of {room.total_gib:.1f} GiB"
    return f"{text}, {_held(room.others)}" if room.others else text


def _held(others: tuple[Holder, ...]) -> str:
    """ "30.0 held by pid 4711", and of many the largest."""
    named = [one for one in others if one.gib >= LEAST_NAMED_GIB][:MOST_NAMED] or list(others[:1])
    texts = [f"{one.gib:.1f} {'held ' if place == 0 else ''}by {one}" for place, one in enumerate(named)]
    rest = others[len(named) :]
    if rest:
        what = "1 other" if len(rest) == 1 else f"{len(rest)} others"
        texts.append(f"{sum(one.gib for one in rest):.1f} by {what}")
    return ", ".join(texts)


def _on_others(room: Room, headroom: float) -> tuple[str, ...]:
    """What others hold may grow: then it fits no longer."""
    held = sum(one.gib for one in room.others)
    if held < LEAST_NAMED_GIB:
        return ()
    alone = len(room.others) == 1
    who = f"{room.others[0]}, which holds" if alone else f"{len(room.others)} other processes, which hold"
    return (f"the margin ({headroom:.1f} GiB) depends on {who} {held:.1f} GiB of this GPU and may take more",)

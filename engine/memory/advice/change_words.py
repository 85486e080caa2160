"""A change in a sentence: what it brings, what it costs, which keys."""

from __future__ import annotations

from collections.abc import Callable

from engine.config import Config
from engine.config.wording import yaml_text
from engine.memory.advice.effects import effects
from engine.memory.advice.levers import differences
from engine.memory.advice.room import Room
from engine.memory.advice.verdict import Needs, judge

Words = Callable[[Config, Config, Needs, Needs, float, Room], str]
"""Config and changed config, needs before and after, speed as a multiple, the GPU -> a sentence."""
AS_QUICK = 0.015
"""Speeds that differ by less count as alike."""


def explain(config: Config, other: Config, before: Needs, after: Needs, speed: float, room: Room) -> str:
    """ "14.1 GiB in place of 17.9, about 9 % slower (computed): layer_slices 4"."""
    text = f"{after.total_gib:.1f} GiB in place of {before.total_gib:.1f}, {_speed(speed)}: {_keys(config, other)}"
    notes = list(effects(config, other).words)
    if judge(after, room).word == "tight":
        notes.append("still tight")
    return f"{text} ({'; '.join(notes)})" if notes else text


def explain_nothing(config: Config, other: Config, before: Needs, after: Needs, speed: float, room: Room) -> str:
    """For the smallest change, where that is too large too."""
    return (
        f"nothing makes it fit: at the least {after.total_gib:.1f} GiB are needed, in place of {before.total_gib:.1f},"
        f" and {room.free_gib:.1f} are free ({_keys(config, other)}); it takes a smaller model or more memory"
    )


def _speed(factor: float) -> str:
    if abs(factor - 1) < AS_QUICK:
        return "as quick (computed)"
    if factor > 1:
        return f"about {factor - 1:.0%} quicker (computed)" if factor < 2 else f"{factor:.1f} times as quick (computed)"
    return f"about {1 - factor:.0%} slower (computed)"


def _keys(config: Config, other: Config) -> str:
    """Names without their sections, which no two keys share here."""
    found = differences(config, other)
    return ", ".join(f"{key.partition('.')[2]} {yaml_text(value)}" for key, value in found.items())

"""An incident in words, as the alerts and the report have it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pgs_tui.format import seconds, value

if TYPE_CHECKING:
    from engine.incidents import Incident

METRICS = {"loss": "loss ", "hidden_norm": "hidden grad ", "grad_norm": "grad norm ", "moved": "moved ", "dt": "dt "}
TIMES = ("dt", "silence")
"""What is measured in seconds."""
FROM_BEFORE = (
    "LOSS_ABOVE_START",
    "LOSS_RISES",
    "LOSS_TOO_LOW",
    "LEVEL_SHIFT",
    "GRAD_NORM_CLIMB",
    "GRAD_NORM_GROWS",
    "EVAL_RISES",
    "MEMORY_GROWS",
    "HOST_MEMORY_GROWS",
)
"""Codes whose baseline is an earlier value, and not what is usual."""


def measured(one: Incident) -> str:
    """What was measured at the first step that it touched, and what would be usual: `dt 6.82 s, usually 576 ms`."""
    if one.value is None:
        return ""
    shown = seconds if one.metric in TIMES else value
    word = "before" if one.code in FROM_BEFORE else "usually"
    beside = f", {word} {shown(one.baseline)}" if one.baseline is not None else ""
    return f"{METRICS.get(one.metric or '', '')}{shown(one.value)}{beside}"


def meaning(one: Incident) -> str:
    """What it means. Where it touched several steps that speaks of the newest, so the step is said."""
    is_later = one.last_step is not None and one.last_step != one.step
    return f"at step {one.last_step}: {one.meaning}" if is_later else one.meaning

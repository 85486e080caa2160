"""One table of all alerts: the entries stand with the detectors that raise them."""

from __future__ import annotations

from collections.abc import Mapping

from engine.health import (
    above_start,
    climb,
    clipped_norm,
    dead,
    endings,
    eval_rising,
    flat,
    found_at_start,
    growing,
    growing_memory,
    logged,
    machine,
    mask,
    near_limit,
    nonfinite,
    rising,
    silence,
    skipped,
    slow_steps,
    spike_share,
    spikes,
    stale,
    throttled,
    throughput,
    too_low,
)
from engine.health.symptom import Symptom

SYMPTOMS: Mapping[str, Symptom] = {
    **nonfinite.SYMPTOMS,
    **spikes.SYMPTOMS,
    **spike_share.SYMPTOMS,
    **skipped.SYMPTOMS,
    **flat.SYMPTOMS,
    **above_start.SYMPTOMS,
    **rising.SYMPTOMS,
    **too_low.SYMPTOMS,
    **climb.SYMPTOMS,
    **growing.SYMPTOMS,
    **stale.SYMPTOMS,
    **eval_rising.SYMPTOMS,
    **mask.SYMPTOMS,
    **slow_steps.SYMPTOMS,
    **throughput.SYMPTOMS,
    **throttled.SYMPTOMS,
    **near_limit.SYMPTOMS,
    **growing_memory.SYMPTOMS,
    **found_at_start.SYMPTOMS,
    **endings.SYMPTOMS,
    **machine.SYMPTOMS,
    **silence.SYMPTOMS,
    **dead.SYMPTOMS,
    **logged.SYMPTOMS,
    **clipped_norm.SYMPTOMS,
}

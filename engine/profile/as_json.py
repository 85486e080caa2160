"""A profile in the shape of docs/json.md."""

from __future__ import annotations

from typing import Any

from engine.memory.advice.room import Room
from engine.profile.comparison import measured_document
from engine.profile.document import Profile


def profile_as_json(profile: Profile) -> dict[str, Any]:
    """One JSON object; memory in GiB."""
    estimate, verdict, work, measured = profile.estimate, profile.verdict, profile.work, profile.measured
    return {
        "model": profile.model,
        "config": profile.config,
        "gpu": None if profile.room is None else room_as_json(profile.room),
        "peak_gib": estimate.peak_gib,
        "reserved_gib": estimate.reserved_gib,
        "total_gib": estimate.total_gib,
        "decides": estimate.decides,
        "phases": [
            {"name": phase.name, "peak_gib": phase.peak_gib, "parts": dict(phase.parts)} for phase in estimate.phases
        ],
        "components": dict(estimate.components),
        "trained": estimate.trained,
        "parameters": estimate.parameters,
        "verdict": {
            "word": verdict.word,
            "headroom_gib": verdict.headroom_gib,
            "sentence": verdict.sentence,
            "warnings": list(verdict.warnings),
        },
        "changes": [
            {
                "keys": dict(change.keys),
                "peak_gib": change.peak_gib,
                "saves_gib": change.saves_gib,
                "speed": change.speed,
                "sentence": change.sentence,
            }
            for change in profile.changes
        ],
        "sizes": [{"name": size.name, "memory_gib": size.memory_gib, "word": size.word} for size in profile.sizes],
        "assumptions": list(estimate.assumptions),
        "work": {
            "tokens_per_step": work.tokens_per_step,
            "flops_per_step": work.flops_per_step,
            "steps_per_epoch": work.steps_per_epoch,
            "total_steps": work.total_steps,
            "tok_s": work.tok_s,
            "seconds_per_step": work.seconds_per_step,
            "seconds": work.seconds,
            "dollars": work.dollars,
            "assumptions": list(work.assumptions),
        },
        "measured": None if measured is None else measured_document(measured.estimate, measured.measurement),
    }


def room_as_json(room: Room) -> dict[str, Any]:
    """A GPU, what is free on it, and who holds the rest."""
    return {
        "name": room.name,
        "total_gib": room.total_gib,
        "free_gib": room.free_gib,
        "others": [{"pid": other.pid, "name": other.name, "gib": other.gib} for other in room.others],
        "note": room.note,
    }

"""The figures of a run, from its events: speed, memory, where the time went, and whether it reached its aim."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from tests.bench.training.recipes import Aim, Recipe
from tests.bench.training.runner import Ran


def figures(recipe: Recipe, ran: Ran) -> dict[str, Any]:
    """What the run says; without settled steps only how it ended."""
    steps, start = ran.of("step"), ran.of("start")
    found: dict[str, Any] = {
        "name": recipe.name,
        "title": recipe.title,
        "rows": recipe.rows,
        "length": recipe.length,
        "settings": recipe.settings,
        "environment": dict(recipe.environment),
        "card_gib": recipe.card,
        "aim": asdict(recipe.aim),
        "ended": ran.ended,
        "printed": ran.printed,
        "steps": len(steps),
        "model": start[-1]["model"] if start else None,
    }
    settled = [step for step in steps if step["step"] > ran.warm_up]
    if len(settled) < 2:
        return found
    return found | {
        **speed(settled),
        "time": medians([step["time"] for step in settled]),
        **memory(steps),
        "first_step_s": steps[0]["dt"],
        "recompiles": recompiles(settled),
        "losses": [steps[0]["loss"], steps[-1]["loss"]],
        "skipped": sum(step["skipped"] for step in steps),
    }


def speed(settled: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Medians, their spread, and the speed over the whole window by the moments at which the steps were told."""
    seconds = settled[-1]["t"] - settled[0]["t"]
    lengths = [step["dt"] for step in settled]
    return {
        "settled_steps": len(settled),
        "tok_s": statistics.median(step["tok_s"] for step in settled),
        "tok_s_over_all": sum(step["tokens"] for step in settled[1:]) / seconds,
        "dt": statistics.median(lengths),
        "dt_range": [min(lengths), max(lengths)],
    }


def memory(steps: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The highest peak of any step, the warm-up's too, and its parts; all None without a GPU."""
    highest = max(steps, key=lambda step: step["mem"]["peak"] or 0.0)["mem"]
    reserved = [step["mem"]["reserved"] for step in steps if step["mem"]["reserved"] is not None]
    return {"peak": highest["peak"], "reserved": max(reserved, default=None), "mem": highest}


def medians(parts: Sequence[dict[str, float | None]]) -> dict[str, float | None]:
    """The median of each part over the steps that have it."""
    names = {name: [one[name] for one in parts if one.get(name) is not None] for name in parts[0]}
    return {name: statistics.median(found) if found else None for name, found in names.items()}  # type: ignore[type-var]


def recompiles(settled: Sequence[dict[str, Any]]) -> int | None:
    """Graphs compiled after the warm-up; None for runs that do not compile."""
    counts = [step["recompiles"] for step in settled if step.get("recompiles") is not None]
    return sum(counts) if counts else None


def reached(found: dict[str, Any], aim: Aim) -> dict[str, bool]:
    """Of each number aimed at, whether the run has it; one that was not measured is not there."""
    limits = {"peak": aim.peak, "reserved": aim.reserved}
    answers = {
        name: found[name] <= limit
        for name, limit in limits.items()
        if limit is not None and found.get(name) is not None
    }
    if aim.tok_s is not None and found.get("tok_s") is not None:
        answers["tok_s"] = found["tok_s"] >= aim.tok_s
    return answers

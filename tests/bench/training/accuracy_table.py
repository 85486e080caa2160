"""Estimated and measured memory of each configuration as a table of a page."""

from __future__ import annotations

from typing import Any

from tests.bench.training.table import ABSENT, NOTHING, machine_line, markdown, number

PEAK_LIMIT, RESERVED_LIMIT = 0.03, 0.08
"""Shares by which estimates may be off."""


def accuracy_table(results: dict[str, Any] | None) -> str:
    """Every configuration, the phase that decides, and what was estimated and measured; then how good that is."""
    if results is None or not results["rows"]:
        return NOTHING
    header = [
        "configuration",
        "trains",
        "decides",
        "peak: estimate",
        "measured",
        "off",
        "reserved: estimate",
        "measured",
        "off",
    ]
    return "\n\n".join([markdown(header, [_cells(row) for row in results["rows"]]), _summary(results)])


def off_by(row: dict[str, Any], name: str) -> float | None:
    """By which share of what was measured the estimate is too high (above 0) or too low."""
    found = (row.get("measured") or {}).get(name)
    return row["estimate"][name] / found - 1 if found else None


def _cells(row: dict[str, Any]) -> list[str]:
    measured = row.get("measured") or {}
    cells = [f"{row['model'].rpartition('/')[2]}, {_keys(row)}", _trains(row), row["estimate"]["decides"]]
    for name, limit in (("peak", PEAK_LIMIT), ("reserved", RESERVED_LIMIT)):
        off = off_by(row, name)
        shown = ABSENT if off is None else f"{off:+.1%}"
        cells += [
            number(row["estimate"][name], ".2f"),
            number(measured.get(name), ".2f"),
            f"**{shown}**" if off is not None and abs(off) > limit else shown,
        ]
    return cells


def _summary(results: dict[str, Any]) -> str:
    rows = results["rows"]
    failed = [f"{row['name']}: {row['ended']}" for row in rows if off_by(row, "peak") is None]
    sentences = []
    for name, limit in (("peak", PEAK_LIMIT), ("reserved", RESERVED_LIMIT)):
        found = [abs(off) for row in rows if (off := off_by(row, name)) is not None]
        if found:
            within = sum(off <= limit for off in found)
            sentences.append(
                f"{name}: {within} of {len(found)} within {limit:.0%}, the worst off by {max(found):.1%}, "
                f"on average by {sum(found) / len(found):.1%}"
            )
    told = f"GiB. {'; '.join(sentences) or 'Nothing was measured'}. {machine_line(results)}"
    return "\n\n".join([told, *([f"Without figures: {'; '.join(failed)}."] if failed else [])])


def _trains(row: dict[str, Any]) -> str:
    return f"{row['trained'] / 1e9:.2f} of {row['parameters'] / 1e9:.2f} billion"


def _keys(row: dict[str, Any]) -> str:
    """What the row's settings are, in the words of the config's keys."""
    keys = row["settings"]
    words = [
        f"{row['lines']}x{row['length']}",
        keys["train.optimizer"],
        f"checkpointing {keys['train.gradient_checkpointing']}",
        "compiled" if keys["model.compile"] else "eager",
        "release" if keys["memory.gradient_release"] else "",
        "tiled head" if keys.get("memory.tiled_head") else "",
        f"{keys['memory.layer_slices']} slices" if keys.get("memory.layer_slices", 1) > 1 else "",
        "offload" if keys.get("memory.offload_activations") else "",
        "FP8" if keys.get("memory.float8_training") else "",
        f"accumulation {keys['train.gradient_accumulation_steps']}"
        if keys.get("train.gradient_accumulation_steps", 1) > 1
        else "",
        "" if keys.get("memory.chunked_loss", True) else "whole logits",
        "expandable segments" if row["environment"] else "",
    ]
    return ", ".join(word for word in words if word)

"""Results as tables of a page."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from tests.bench.training.recipes import FP8_GAIN
from tests.bench.training.results import measured

NOTHING = "not measured yet"
ABSENT = "-"
BF16, FP8 = "all_4x4096_free", "all_4x4096_free_fp8"
OURS_ALL_WEIGHTS = (
    "all_2x2048_tiled",
    "all_4x4096_full",
    "all_4x4096_full_offload",
    "all_4x4096_full_offload_fp8",
    "all_4x4096_free",
)
"""Recipes that do the same job as TRL's runs of the same size."""


def recipe_table(results: dict[str, Any]) -> str:
    """Speed and memory of every recipe, beside what it aims at."""
    header = ["recipe", "peak GiB", "reserved GiB", "tok/s", "step ms", "MFU", "HFU", "recompiles"]
    rows = [
        [
            title(row),
            with_aim(row, "peak", "<=", ".2f"),
            with_aim(row, "reserved", "<=", ".2f"),
            with_aim(row, "tok_s", ">=", ",.0f"),
            number(row["dt"] * 1000, ".0f"),
            shares(row.get("mfu")),
            shares(row.get("hfu")),
            str(row["recompiles"]) if row.get("recompiles") is not None else ABSENT,
        ]
        for row in measured(results["rows"])
    ]
    return "\n\n".join([markdown(header, rows), *float8_gain(results)])


def float8_gain(results: dict[str, Any]) -> list[str]:
    """How much faster the matrix products in float8 make the recipe without a care for memory."""
    by_name = {row["name"]: row for row in measured(results["rows"]) if not row.get("label")}
    if BF16 not in by_name or FP8 not in by_name:
        return []
    gain = by_name[FP8]["tok_s"] / by_name[BF16]["tok_s"]
    return [f"FP8 is {gain:.2f} times as fast as bf16 there (aim: {FP8_GAIN})."]


def settings_table(results: dict[str, Any]) -> str:
    """What each row of the table trained, and with what."""
    header = [
        "recipe",
        "trains",
        "checkpointing",
        "slices",
        "compile",
        "offload",
        "tiled head",
        "FP8",
        "loss chunk",
        "besides",
    ]
    rows = []
    for row in measured(results["rows"]):
        keys = row["settings"]
        rows.append(
            [
                title(row),
                "mixers" if keys.get("train.freeze_non_attention") else "all",
                str(keys.get("train.gradient_checkpointing", "none")),
                str(keys.get("memory.layer_slices", 1)),
                *(
                    yes(keys.get(key))
                    for key in (
                        "model.compile",
                        "memory.offload_activations",
                        "memory.tiled_head",
                        "memory.float8_training",
                    )
                ),
                str(keys.get("memory.loss_chunk_tokens", ABSENT)),
                "; ".join(besides(row)) or ABSENT,
            ]
        )
    return markdown(header, rows)


def comparison_table(results: dict[str, Any]) -> str:
    """Each of TRL's runs, and what ours of the same size take in memory and give in speed, as multiples of it."""
    ours = [row for row in measured(results["rows"]) if row["name"] in OURS_ALL_WEIGHTS and not row.get("label")]
    header = ["TRL", "peak GiB", "reserved GiB", "tok/s", "ours: memory, speed as multiples"]
    rows = []
    for row in measured(results["trl"]):
        same = [one for one in ours if (one["rows"], one["length"]) == (row["rows"], row["length"])]
        rows.append(
            [
                trl_title(row),
                number(row["peak"], ".2f"),
                number(row["reserved"], ".2f"),
                number(row["tok_s"], ",.0f"),
                "; ".join(
                    f"{one['name']} {ratio(one['peak'], row['peak'])}, {ratio(one['tok_s'], row['tok_s'])}"
                    for one in same
                )
                or ABSENT,
            ]
        )
    failed = [f"{row['name']}: {row['ended']}" for row in results["trl"] if row.get("tok_s") is None]
    note = [f"Without figures: {'; '.join(failed)}."] if failed else []
    return "\n\n".join([markdown(header, rows), *note])


def timeline_table(results: dict[str, Any]) -> str:
    """Of each recipe with a time line: where the milliseconds of a step and the memory of its parts go."""
    parts = [one_timeline(row) for row in results["rows"] if row.get("timeline")]
    return "\n\n".join(parts) or NOTHING


def one_timeline(row: dict[str, Any]) -> str:
    found = row["timeline"]
    line = found["timeline"]
    idle = ", ".join(f"{why} {length:.1f}" for why, length in line["idle_ms"].items())
    phases = line["phases"]
    kinds = [
        [name, *(cell(phases[phase], name) for phase in phases), cell(line["categories"], name)]
        for name in line["categories"]
    ]
    memory = [
        f"{part} {sizes['peak']:.2f} (begins with {sizes['at the beginning']:.2f})"
        for part, sizes in (found.get("memory_gib") or {}).items()
    ]
    return "\n\n".join(
        [
            f"**{title(row)}**: {found['unprofiled_step_ms']:.1f} ms a step, under the profiler {line['step_ms']:.1f}: "
            f"busy {line['busy_ms']:.1f}, idle: {idle}; {line['kernels']:.0f} kernels and copies.",
            markdown(["ms a step", *phases, "all"], kinds),
            f"Peak GiB of each part: {', '.join(memory)}.",
        ]
    )


def machine_line(results: dict[str, Any]) -> str:
    """What it was measured on."""
    machine, rates = results.get("machine"), results.get("rates") or {}
    if machine is None:
        return NOTHING
    versions = ", ".join(f"{name} {version}" for name, version in machine["versions"].items())
    rate, copied = rates.get("bf16_measured"), rates.get("copy_bytes_per_s")
    speed = (
        f" A product of 8192x8192 bfloat16 matrices of random numbers ran at {rate / 1e12:.0f} TFLOP/s in the same run"
        f" (datasheet: {rates['bf16_datasheet'] / 1e12:.0f}), a copy on the device at {copied / 1e12:.2f} TB/s."
        if rate and copied
        else ""
    )
    driver = f"driver {machine['driver']}, " if machine["driver"] else ""
    return f"{machine['gpu'] or 'CPU'}, {driver}Python {machine['python']}, {versions}.{speed}"


def title(row: dict[str, Any]) -> str:
    return f"{row['title']}, {row['label']}" if row.get("label") else str(row["title"])


def trl_title(row: dict[str, Any]) -> str:
    extras = [name for name in ("liger", "compile") if row[name]]
    return ", ".join([f"{row['rows']}x{row['length']}", row["optim"], row["checkpointing"], *extras])


def besides(row: dict[str, Any]) -> list[str]:
    card = [f"at most {row['card_gib']} GiB of the card"] if row.get("card_gib") else []
    packs = ["packed"] if row["settings"].get("data.packing") else []
    return [*card, *packs, *(f"`{name}={value}`" for name, value in row["environment"].items())]


def with_aim(row: dict[str, Any], name: str, sign: str, style: str) -> str:
    """A number with its aim in brackets, bold where it is what was aimed at."""
    value, aim = row.get(name), row["aim"].get(name)
    if value is None:
        return ABSENT
    shown = f"**{value:{style}}**" if row.get("reached", {}).get(name) else f"{value:{style}}"
    return shown if aim is None else f"{shown} ({sign} {aim:,g})"


def shares(of_peaks: dict[str, float | None] | None) -> str:
    """Of the datasheet's rate, and of the measured one."""
    if not of_peaks or of_peaks.get("measured") is None:
        return ABSENT
    return f"{of_peaks['datasheet']:.1%}, {of_peaks['measured']:.1%}"


def cell(categories: dict[str, dict[str, float]], name: str) -> str:
    return f"{categories[name]['ms']:.1f}" if name in categories else ""


def ratio(ours: float | None, theirs: float | None) -> str:
    return f"{ours / theirs:.2f}" if ours and theirs else ABSENT


def number(value: float | None, style: str) -> str:
    return ABSENT if value is None else format(value, style)


def yes(value: object) -> str:
    return "yes" if value else "no"


def markdown(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [f"| {' | '.join(row)} |" for row in rows]
    if not lines:
        return NOTHING
    return "\n".join([f"| {' | '.join(header)} |", f"|{'---|' * len(header)}", *lines])


def dashboard_table(found: dict[str, Any] | None) -> str:
    """What the attached dashboard costs the run."""
    if found is None:
        return NOTHING
    low, high = found["share_95"]
    shown = [
        ["tok/s without", number(found["tok_s_off"], ",.0f")],
        ["tok/s with", number(found["tok_s_on"], ",.0f")],
        ["with / without", f"{found['share']:.4f} (95 %: {low:.4f} to {high:.4f})"],
        ["windows", f"{found['pairs']} pairs of {found['window_steps']} steps each"],
        ["the dashboard's CPU", f"{found['dashboard_cpu_share']:.1%} of one core"],
    ]
    return markdown([f"{found['recipe']}, {found['device']}", ""], shown)


def ways_table(results: dict[str, Any] | None) -> str:
    """Several ways to compute one part of a step, as its own bench measured them."""
    if results is None:
        return NOTHING
    rows = results["rows"]
    names = list(dict.fromkeys(name for row in rows for name in row if any(one.get(name) is not None for one in rows)))
    return markdown(
        [name.replace("_", " ") for name in names], [[figure(row.get(name)) for name in names] for row in rows]
    )


def figure(value: object) -> str:
    """A number with three digits that count, a text as it is."""
    if isinstance(value, float):
        return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"
    return ABSENT if value is None else str(value)

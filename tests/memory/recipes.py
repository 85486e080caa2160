"""The configs that come with the program, their estimates, and what their heads say of these.

    python -m tests.memory.recipes       # writes both anew, after a change of the estimate that is meant

Writes `estimates.json` beside this file and the memory in the heads of `configs/qwen35_4b/*.yaml`.
"""

from __future__ import annotations

import json
import re
import textwrap
from pathlib import Path
from typing import Any

from engine.config import Config, load_config
from engine.memory.estimate import Estimate, estimate_memory
from engine.memory.estimate.model_shape import model_shape

CONFIGS = Path(__file__).parents[2] / "configs"
RECIPES = sorted((CONFIGS / "qwen35_4b").glob("*.yaml"))
SHIPPED = sorted([*CONFIGS.glob("*.yaml"), *CONFIGS.glob("*/*.yaml")])
SNAPSHOT = Path(__file__).with_name("estimates.json")
_WHERE = {
    "forward": "in the forward pass",
    "loss": "while the loss is made",
    "backward": "in the backward pass",
    "embedding": "at the embedding",
    "optimizer": "while the optimizer moves the weights",
}
_HEAD = re.compile(r"# Memory, .*? = [\d.]+\.\n", re.DOTALL)
_FROZEN = re.compile(r"(freeze_non_attention: true +# .*, in about )\d+( GiB more)")
_OFFLOAD = re.compile(r"(# offload_activations: true +# .*: )[\d.]+( GiB less on the card)")


def config_of(path: Path, *flags: str) -> Config:
    return load_config(path, flags).config


def estimate_of(path: Path, *flags: str) -> Estimate:
    config = config_of(path, *flags)
    return estimate_memory(config, model_shape(config))


def snapshot(estimate: Estimate) -> dict[str, Any]:
    """What is kept of an estimate, GiB with three decimals."""
    return {
        "peak": round(estimate.peak_gib, 3),
        "reserved": round(estimate.reserved_gib, 3),
        "decides": estimate.decides,
        "phases": {phase.name: round(phase.peak_gib, 3) for phase in estimate.phases},
        "components": {name: round(gib, 3) for name, gib in estimate.components.items() if gib >= 0.0005},
    }


def head_of(estimate: Estimate) -> str:
    """The lines of a recipe's head about its memory."""
    sum_of_parts = " + ".join(f"{name} {gib:.2f}" for name, gib in estimate.components.items() if gib >= 0.005)
    text = (
        f"Memory, as `pgs profile` estimates it, in GiB at the peak ({_WHERE[estimate.decides]}): {sum_of_parts} ="
        f" {estimate.peak_gib:.1f}."
    )
    return "\n".join(textwrap.wrap(text, 116, initial_indent="# ", subsequent_indent="#   ")) + "\n"


def offload_saves(path: Path) -> float:
    """GiB that offloading the layers' inputs takes off a recipe's peak."""
    return _saves(path, "memory.offload_activations")


def frozen_saves(path: Path) -> float:
    """GiB that training the mixers alone takes off it."""
    return _saves(path, "train.freeze_non_attention")


def with_memory_told(path: Path) -> str:
    """The text of a recipe with the memory in it as it is estimated now."""
    text = _HEAD.sub(lambda _: head_of(estimate_of(path)), path.read_text(encoding="utf-8"), count=1)
    text = _OFFLOAD.sub(lambda found: f"{found[1]}{offload_saves(path):.1f}{found[2]}", text, count=1)
    return _FROZEN.sub(lambda found: f"{found[1]}{frozen_saves(path):.0f}{found[2]}", text, count=1)


def _saves(path: Path, key: str) -> float:
    without, with_it = (estimate_of(path, f"--{key}={value}").peak_gib for value in ("false", "true"))
    return without - with_it


def main() -> None:
    for path in RECIPES:
        path.write_text(with_memory_told(path), encoding="utf-8")
    estimates = {path.relative_to(CONFIGS).as_posix(): snapshot(estimate_of(path)) for path in SHIPPED}
    SNAPSHOT.write_text(json.dumps(estimates, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()

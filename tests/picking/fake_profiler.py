"""A profiler that knows the answers: `FILE.json` maps names of configs to fields of the answer, or to an error text.

fake_profiler.py ANSWERS.json [--log FILE] [--die-after N] [--die-on NAME] [--slow METHOD SECONDS] [--no-gpu]
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from tests.fake_server import GivingUpError, serve, server_options

GPU = {"name": "A100-SXM4-40GB", "total_gib": 39.4, "free_gib": 38.6, "others": [], "note": ""}
GPUS = [{"name": "A100-SXM4-40GB", "memory_gib": 39.4, "here": True}, {"name": "RTX 4090", "memory_gib": 23.6}]


def answer(total: float, gpu: dict[str, Any] | None, **more: Any) -> dict[str, Any]:
    """An estimate with this sum."""
    room = gpu["free_gib"] - total if gpu else None
    word = "unknown" if room is None else "does not fit" if room < 0 else "tight" if room < 2 else "fits"
    headroom = "no GPU is known" if room is None else f"{abs(room):.1f} GiB {'too much' if room < 0 else 'stay free'}"
    return {
        "model": "m",
        "gpu": gpu,
        "peak_gib": total - 1.0,
        "reserved_gib": total - 0.6,
        "total_gib": total,
        "decides": "backward",
        "phases": [{"name": "backward", "peak_gib": total - 1.0, "parts": {"weights": total - 1.0}}],
        "components": {"weights": 8.0, "kept activations": total - 9.0},
        "trained": 4_200_000_000,
        "parameters": 4_200_000_000,
        "verdict": {"word": word, "headroom_gib": room, "sentence": f"{word}: {headroom}", "warnings": []},
        "changes": [],
        "assumptions": [],
        "work": {"tokens_per_step": 4096, "tok_s": 8000.0, "seconds_per_step": 0.512},
        **more,
    }


def main() -> int:
    parser = server_options()
    parser.add_argument("answers", type=Path)
    parser.add_argument("--log", type=Path)
    parser.add_argument("--die-on", default="")
    parser.add_argument("--no-gpu", action="store_true")
    options = parser.parse_args()
    known = json.loads(options.answers.read_text())

    def answered(method: str, params: dict[str, Any]) -> Any:
        if method == "gpus":
            return GPUS
        name = Path(params["config"]).stem
        if options.log:
            with options.log.open("a") as log:
                log.write(f"{name}\n")
        if name == options.die_on:
            raise GivingUpError
        found = known.get(name, {"total": 16.0})
        if isinstance(found, str):
            raise ValueError(found)
        named = next((gpu for gpu in GPUS if gpu["name"] == params["gpu"]), None)
        size = {"total_gib": named["memory_gib"], "free_gib": named["memory_gib"]} if named else {}
        gpu = {**GPU, **size, "name": named["name"]} if named else None if options.no_gpu else GPU
        return answer(gpu=gpu, **found)

    serve(answered, options, uncounted=("gpus",))
    print("pgs: out of patience", file=sys.stderr, flush=True)
    return 9


if __name__ == "__main__":
    sys.exit(main())

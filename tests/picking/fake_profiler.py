"""A profiler that knows the answers: `FILE.json` maps names of configs to fields of the answer, or to an error text.

fake_profiler.py ANSWERS.json [--log FILE] [--die-after N] [--die-on NAME] [--slow SECONDS] [--no-gpu]
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path
from typing import Any

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
    parser = argparse.ArgumentParser()
    parser.add_argument("answers", type=Path)
    parser.add_argument("--log", type=Path)
    parser.add_argument("--die-after", type=int, default=-1)
    parser.add_argument("--slow", type=float, default=0.0)
    parser.add_argument("--die-on", default="")
    parser.add_argument("--no-gpu", action="store_true")
    options = parser.parse_args()
    known = json.loads(options.answers.read_text())
    answered = 0
    while answered != options.die_after and (text := sys.stdin.readline()):
        request = json.loads(text)
        if request["method"] == "gpus":
            print(json.dumps({"id": request["id"], "result": GPUS}), flush=True)
            continue
        name = Path(request["params"]["config"]).stem
        if options.log:
            with options.log.open("a") as log:
                log.write(f"{name}\n")
        time.sleep(options.slow)
        if name == options.die_on:
            break
        found = known.get(name, {"total": 16.0})
        if isinstance(found, str):
            told: dict[str, Any] = {"error": {"message": found}}
        else:
            named = next((gpu for gpu in GPUS if gpu["name"] == request["params"]["gpu"]), None)
            size = {"total_gib": named["memory_gib"], "free_gib": named["memory_gib"]} if named else {}
            gpu = {**GPU, **size, "name": named["name"]} if named else None if options.no_gpu else GPU
            told = {"result": answer(gpu=gpu, **found)}
        print(json.dumps({"id": request["id"], **told}), flush=True)
        answered += 1
    print("pgs: out of patience", file=sys.stderr, flush=True)
    return 9


if __name__ == "__main__":
    sys.exit(main())

"""A profiler that answers as docs/json.md says, with a simple sum in place of a model, slowly or not at all if told so.

    python fake_profiler.py [--card NAME TOTAL FREE] [--slow METHOD SECONDS] [--die-after N] [--say TEXT] [--exit N]
                            [--measures STATE] [--drift GIB]

A config takes 12 GiB and what its batch and length add; float8 without compile is an invalid combination. With each
estimate others take `--drift` GiB more of the card.
"""

from __future__ import annotations

import sys
from typing import Any

from tests.fake_server import serve, server_options

TABLE = {"RTX 4090": 23.5, "A100 40GB": 39.4, "H200": 139.8}
PHASES = ("start of step", "forward", "loss", "backward", "optimizer")
SHARES = (0.55, 0.8, 0.9, 1.0, 0.6)


class Fake:
    def __init__(self, card: tuple[str, float, float] | None, measures: str, drift: float) -> None:
        self.card = card
        self.drift = drift
        self.measures = measures
        self.asked = 0
        self.state = "idle"

    def gpus(self) -> list[dict[str, Any]]:
        own = [{"name": self.card[0], "memory_gib": self.card[1], "here": True}] if self.card else []
        return [*own, *({"name": name, "memory_gib": size} for name, size in TABLE.items())]

    def estimate(
        self, config: str, overrides: dict[str, Any], gpu: str | None, gpu_memory_gb: float | None, changes: bool = True
    ) -> dict[str, Any]:
        of = {key: int(value) if str(value).isdigit() else value for key, value in overrides.items()}
        if of.get("memory.float8_training") and not of.get("model.compile", True):
            raise ValueError("memory.float8_training: pays with model.compile alone\n      set model.compile: true")
        batch, length = int(of.get("train.per_device_batch_size", 2)), int(of.get("data.max_seq_length", 2048))
        kept = batch * length / 4096
        gradients = 0.2 if of.get("memory.gradient_release", True) else 7.8
        components = {
            "weights": 7.83,
            "optimizer state": 3.95,
            "gradients": gradients,
            "layer inputs": 0.6 * kept,
            "kept activations": 0.0 if of.get("train.gradient_checkpointing") == "full" else 2.1 * kept,
            "layer at work": 0.4 * kept,
            "loss and logits": 0.31,
            "buffers": 0.02,
        }
        peak = sum(components.values())
        reserved, total = peak * 1.04, peak * 1.04 + 0.55
        room = self.room(gpu, gpu_memory_gb)
        offered = [self.change(components, 4, 0.09), self.change(components, 2, 0.05)] if changes and room else []
        sizes = [] if room else [{"name": name, "memory_gib": size} for name, size in TABLE.items()]
        return {
            "model": "Qwen/Qwen3.5-4B",
            "config": config,
            "gpu": room,
            "peak_gib": peak,
            "reserved_gib": reserved,
            "total_gib": total,
            "decides": "backward",
            "phases": [
                {"name": name, "peak_gib": peak * share, "parts": {key: one * share for key, one in components.items()}}
                for name, share in zip(PHASES, SHARES, strict=True)
            ],
            "components": components,
            "trained": 4_205_751_296,
            "parameters": 4_205_751_296,
            "verdict": self.verdict(total, room),
            "changes": offered,
            "sizes": [{**one, "word": self.verdict(total, self.room(one["name"], None))["word"]} for one in sizes],
            "assumptions": ["compiled layers keep 0.58 of what eager ones keep, measured on an H200"],
            "work": {
                "tokens_per_step": batch * length * int(of.get("train.gradient_accumulation_steps", 1)),
                "flops_per_step": 1.3e14,
                "steps_per_epoch": None,
                "total_steps": 200,
                "tok_s": 6180.0,
                "seconds_per_step": batch * length / 6180,
                "seconds": 200 * batch * length / 6180,
                "dollars": None,
                "assumptions": ["the data is not known, so that steps an epoch are not either"],
            },
            "measured": None,
        }

    def room(self, gpu: str | None, memory: float | None) -> dict[str, Any] | None:
        if memory is not None:
            return {"name": f"{memory:g} GiB", "total_gib": memory, "free_gib": memory, "others": [], "note": ""}
        if gpu in TABLE:
            return {"name": gpu, "total_gib": TABLE[gpu], "free_gib": TABLE[gpu], "others": [], "note": ""}
        if self.card is None:
            return None
        name, total, free = self.card
        self.card = (name, total, free - self.drift)
        held = total - free
        others = [{"pid": 4711, "name": "python", "gib": held}] if held > 0.1 else []
        return {"name": name, "total_gib": total, "free_gib": free, "others": others, "note": ""}

    def verdict(self, total: float, room: dict[str, Any] | None) -> dict[str, Any]:
        if room is None:
            return {"word": "unknown", "headroom_gib": None, "sentence": f"needs {total:.1f} GiB", "warnings": []}
        free = room["free_gib"]
        word = "fits" if total < 0.92 * free else "tight" if total < free else "does not fit"
        held = f", {room['total_gib'] - free:.1f} held by pid 4711" if room["others"] else ""
        sentence = f"{word}: needs {total:.1f}, free {free:.1f} of {room['total_gib']:.1f} GiB{held}"
        warnings = ["the margin depends on pid 4711"] if held and word != "does not fit" else []
        return {"word": word, "headroom_gib": free - total, "sentence": sentence, "warnings": warnings}

    def change(self, components: dict[str, float], slices: int, cost: float) -> dict[str, Any]:
        peak = sum(components.values())
        saved = components["layer at work"] * (1 - 1 / slices)
        return {
            "keys": {"memory.layer_slices": slices},
            "peak_gib": peak - saved,
            "saves_gib": saved,
            "speed": 1 - cost,
            "sentence": f"{peak - saved:.1f} GiB in place of {peak:.1f}, {cost:.0%} slower: layer_slices {slices}",
        }

    def measure(self, config: str, overrides: dict[str, Any]) -> dict[str, Any]:
        if self.card is None:
            raise ValueError("--measure needs a GPU; there is none")
        self.state, self.asked = "running", 0
        return self.measuring()

    def measuring(self) -> dict[str, Any]:
        self.asked += 1
        if self.state == "running" and self.asked > 3:
            self.state = self.measures
        return {
            "state": self.state,
            "what": "step 1",
            "done": self.asked,
            "total": 4,
            "result": self.result() if self.state == "done" else None,
            "error": "out of memory in step 1" if self.state == "failed" else None,
        }

    def result(self) -> dict[str, Any]:
        return {"peak_gib": 15.1, "reserved_gib": 15.9, "components": {"weights": 7.83, "optimizer state": 3.9}}

    def stop_measuring(self) -> dict[str, Any]:
        self.state = "idle"
        return self.measuring()


def main() -> int:
    parser = server_options()
    parser.add_argument("--card", nargs=3, default=None)
    parser.add_argument("--measures", default="done")
    parser.add_argument("--drift", type=float, default=0.0)
    options = parser.parse_args()
    card = (options.card[0], float(options.card[1]), float(options.card[2])) if options.card else None
    fake = Fake(card, options.measures, options.drift)
    return serve(lambda method, params: getattr(fake, method)(**params), options)


if __name__ == "__main__":
    sys.exit(main())

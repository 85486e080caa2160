"""How long `pgs profile` takes cold, and its server for one changed key after the other.

    PYTHONPATH=. python tests/bench/profile_server.py [CONFIG] [--gpu 4090]

Prints seconds of wall clock and of CPU for the command, and milliseconds for each key that the what-if screen changes:
the first time, when a layer may have to be traced in a new way, and again with another batch.
"""

from __future__ import annotations

import argparse
import json
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

PROJECT = Path(__file__).parents[2]
COMMAND = (sys.executable, "-m", "engine", "profile")
KEYS: tuple[dict[str, Any], ...] = (
    {"train.per_device_batch_size": 3},
    {"data.max_seq_length": 1024},
    {"train.optimizer": "adamw8bit"},
    {"train.gradient_checkpointing": "none"},
    {"train.gradient_checkpointing": "mixers"},
    {"train.gradient_checkpointing": "selective"},
    {"train.freeze_non_attention": True, "memory.tiled_head": False},
    {"memory.gradient_release": False, "memory.tiled_head": False, "train.gradient_accumulation_steps": 4},
    {"memory.float8_training": True},
    {"model.compile": False},
    {"memory.offload_activations": True},
    {"memory.layer_slices": 2},
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("config", nargs="?", type=Path, default=PROJECT / "configs" / "qwen35_4b" / "card_16gb.yaml")
    parser.add_argument("--gpu", default="4090")
    parser.add_argument("--foresight", action="store_true", help="ask for changes first, as the screen does")
    parser.add_argument("--idle", type=float, default=0.0, help="seconds before the keys")
    options = parser.parse_args()
    for _ in range(3):
        print("cold: {:.1f} s, {:.1f} s of CPU".format(*cold(options.config, options.gpu)))
    with served() as process:
        first = asked(process, options, {}, changes=options.foresight)
        time.sleep(options.idle)
        again = [asked(process, options, {"train.per_device_batch_size": batch}) for batch in range(3, 13)]
        print(f"server: first answer {first:.0f} ms; other batches {statistics.median(again):.0f} ms, median of ten")
        for keys in KEYS:
            times = [asked(process, options, keys | more) for more in ({}, {"train.per_device_batch_size": 5})]
            print(f"{times[0]:>6.0f}{times[1]:>6.0f} ms  {', '.join(f'{key} {value}' for key, value in keys.items())}")
        print(f"with changes: {asked(process, options, {}, changes=True):.0f} ms, then ", end="")
        print(f"{asked(process, options, {'train.per_device_batch_size': 6}, changes=True):.0f} ms")


def cold(config: Path, gpu: str) -> tuple[float, float]:
    """Seconds of the whole command: by the clock, and of CPU."""
    before, begin = _cpu(), time.monotonic()
    subprocess.run([*COMMAND, "--config", config, "--gpu", gpu, "--json"], stdout=subprocess.DEVNULL, check=False)
    return time.monotonic() - begin, _cpu() - before


def _cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


@contextmanager
def served() -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen([*COMMAND, "--serve"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        yield process
    finally:
        process.communicate()


def asked(
    process: subprocess.Popen[str], options: argparse.Namespace, keys: dict[str, Any], *, changes: bool = False
) -> float:
    """Milliseconds until the answer is there."""
    params = {"config": str(options.config), "overrides": keys, "gpu": options.gpu, "changes": changes}
    assert process.stdin is not None and process.stdout is not None
    begin = time.monotonic()
    process.stdin.write(json.dumps({"id": 1, "method": "estimate", "params": params}) + "\n")
    process.stdin.flush()
    reply = json.loads(process.stdout.readline())
    assert "result" in reply, reply
    return 1000 * (time.monotonic() - begin)


if __name__ == "__main__":
    main()

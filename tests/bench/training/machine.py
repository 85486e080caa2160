"""What the numbers were measured on: the GPU, its driver, the versions of the libraries, and how fast it multiplies.

    PYTHONPATH=. python -m tests.bench.training.machine

prints the measured rates as JSON (null without a GPU).
"""

from __future__ import annotations

import importlib.metadata
import json
import platform
import statistics
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.bench.training.utilisation import BF16_DATASHEET
from tests.bench.training.workload import PROJECT

PACKAGES = (
    "torch",
    "triton",
    "transformers",
    "flash-linear-attention",
    "tilelang",
    "torchao",
    "liger-kernel",
    "bitsandbytes",
    "trl",
    "accelerate",
)
SIZE = 8192
"""Of the square matrices multiplied to find the rate."""
COPIED_BYTES = 4 * 1024**3


def describe_machine() -> dict[str, Any]:
    """GPU, driver and versions; imports no torch, so that it holds nothing of the card."""
    return {
        "gpu": _nvidia_smi("name"),
        "driver": _nvidia_smi("driver_version"),
        "python": platform.python_version(),
        "revision": _revision(),
        "versions": {name: found for name in PACKAGES if (found := _version(name)) is not None},
    }


def measure_rates() -> dict[str, float | None]:
    """Dense bf16 operations a second and bytes a second, measured in a process of its own; None without a GPU."""
    command = [sys.executable, "-m", "tests.bench.training.machine"]
    answer = subprocess.run(command, cwd=PROJECT, capture_output=True, text=True, check=True)
    rates: dict[str, float | None] = json.loads(answer.stdout.splitlines()[-1])
    return rates | {"bf16_datasheet": BF16_DATASHEET}


def _measured() -> dict[str, float | None]:
    import torch

    if not torch.cuda.is_available():
        return {"bf16_measured": None, "copy_bytes_per_s": None}
    left, right = (torch.randn(SIZE, SIZE, device="cuda", dtype=torch.bfloat16) for _ in range(2))
    product = torch.empty_like(left)
    seconds = _median_seconds(lambda: torch.mm(left, right, out=product))
    source = torch.randint(0, 255, (COPIED_BYTES,), device="cuda", dtype=torch.uint8)
    target = torch.empty_like(source)
    copied = _median_seconds(lambda: target.copy_(source))
    return {"bf16_measured": 2 * SIZE**3 / seconds, "copy_bytes_per_s": 2 * COPIED_BYTES / copied}


def _median_seconds(work: Callable[[], object], repeats: int = 20) -> float:
    import torch

    for _ in range(5):
        work()
    lengths: list[float] = []
    for _ in range(repeats):
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))  # type: ignore[no-untyped-call]
        begin.record()
        work()
        end.record()
        torch.cuda.synchronize()
        lengths.append(begin.elapsed_time(end) / 1000)
    return statistics.median(lengths)


def _nvidia_smi(field: str) -> str | None:
    command = ["nvidia-smi", f"--query-gpu={field}", "--format=csv,noheader", "--id=0"]
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True, timeout=30).stdout.strip()
    except (OSError, subprocess.SubprocessError):
        return None


def _version(package: str) -> str | None:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def _revision() -> str | None:
    command = ["git", "-C", str(Path(__file__).parent), "rev-parse", "--short", "HEAD"]
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True, timeout=30).stdout.strip()
    except (OSError, subprocess.SubprocessError):
        return None


if __name__ == "__main__":
    print(json.dumps(_measured()))

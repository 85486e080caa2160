"""The kernels of the loss give what torch's operations give, here in Triton's interpreter (tests/gpu: on a GPU)."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

CASES = Path(__file__).with_name("kernel_cases.py")


@pytest.mark.skipif(sys.platform != "linux", reason="Triton has no build for this platform")
def test_the_kernels_equal_torch_in_every_case() -> None:
    """In a process of its own: whether Triton interprets is decided when it is imported."""
    done = subprocess.run(
        [sys.executable, CASES],
        env={**os.environ, "TRITON_INTERPRET": "1", "PYTHONPATH": str(CASES.parents[2])},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("equal") == 7

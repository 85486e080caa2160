"""Where the tests of this folder run: on the GPU, or on the CPU to try the tests themselves."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
import torch

ON_CPU = "PGS_GPU_TESTS_ON_CPU"
"""Set to 1, the tests that need no kernel of a GPU run on a machine without one."""
HAS_GPU = torch.cuda.is_available()
DEVICE = torch.device("cuda" if HAS_GPU else "cpu")
DTYPE = torch.bfloat16 if HAS_GPU else torch.float32
"""The type of weights that runs have there."""
WHY_SKIPPED = f"no NVIDIA GPU that torch can use ({ON_CPU}=1 tries on the CPU what can run there)"

PROJECT = Path(__file__).parents[2]
ENVIRONMENT = {
    "PYTHONPATH": os.pathsep.join(filter(None, [str(PROJECT), os.environ.get("PYTHONPATH")])),
    "OMP_NUM_THREADS": "1",
    "CUBLAS_WORKSPACE_CONFIG": ":4096:8",
    "TRITON_CACHE_AUTOTUNING": "1",
}
"""Of processes that a test starts. With the last entry a process takes the kernels that an earlier one chose."""

on_gpu_alone = pytest.mark.skipif(not HAS_GPU, reason="tests a kernel that runs on a GPU alone")


def is_left_out() -> bool:
    """Whether the whole folder is skipped here."""
    return not HAS_GPU and os.environ.get(ON_CPU) != "1"

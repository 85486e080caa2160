"""Where the tests of this folder run: on the GPU, or on the CPU to try the tests themselves."""

from __future__ import annotations

import os

import pytest
import torch

ON_CPU = "PGS_GPU_TESTS_ON_CPU"
"""Set to 1, the tests that need no kernel of a GPU run on a machine without one."""
HAS_GPU = torch.cuda.is_available()
DEVICE = torch.device("cuda" if HAS_GPU else "cpu")
DTYPE = torch.bfloat16 if HAS_GPU else torch.float32
"""The type of weights that runs have there."""
WHY_SKIPPED = f"no NVIDIA GPU that torch can use ({ON_CPU}=1 tries on the CPU what can run there)"

on_gpu_alone = pytest.mark.skipif(not HAS_GPU, reason="tests a kernel that runs on a GPU alone")


def is_left_out() -> bool:
    """Whether the whole folder is skipped here."""
    return not HAS_GPU and os.environ.get(ON_CPU) != "1"

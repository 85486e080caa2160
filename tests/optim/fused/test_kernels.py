"""The Triton kernels on a CPU: what they compute, in a process where Triton interprets them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from engine.optim.fused.codebook import follows_the_lines
from engine.optim.rules.blockwise import bitsandbytes_rule
from engine.triton_on import triton_on

HERE = Path(__file__).parent
ROOT = HERE.parents[2]


@pytest.mark.skipif(sys.platform != "linux", reason="the package triton has no build for this machine")
def test_the_kernels_pass_their_tests_in_tritons_interpreter() -> None:
    command = [sys.executable, "-m", "pytest", "-q", "-n", "0", "-p", "no:cacheprovider", "-W", "ignore"]
    done = subprocess.run(
        [*command, str(HERE / "interpreted.py")],
        cwd=ROOT,
        env=os.environ | {"TRITON_INTERPRET": "1", "CUDA_VISIBLE_DEVICES": ""},
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]
    assert " passed" in done.stdout and " skipped" not in done.stdout, done.stdout


def test_the_map_of_the_installed_bitsandbytes_is_the_one_that_the_kernels_know() -> None:
    code = bitsandbytes_rule("lion8bit").signed_map(torch.device("cpu"))
    assert follows_the_lines(code)
    assert not follows_the_lines(torch.linspace(-1, 1, 256))


def test_kernels_run_on_gpus_alone() -> None:
    assert not triton_on(torch.device("cpu"))

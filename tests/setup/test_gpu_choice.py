"""Which GPU run.sh takes, read from recorded answers of nvidia-smi."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.setup.conftest import REPOSITORY

AddTool = Callable[[str, str], None]

ONE = "0, GPU-1a0f4c2e-0001, NVIDIA A100-SXM4-40GB, 40960, 513"
FOUR = """\
0, GPU-aaaa, NVIDIA H100 80GB HBM3, 81559, 71680
1, GPU-bbbb, NVIDIA H100 80GB HBM3, 81559, 1024
2, GPU-cccc, NVIDIA H100 80GB HBM3, 81559, 20480
3, GPU-dddd, NVIDIA H100 80GB HBM3, 81559, 5120"""
SLICED = "0, GPU-1a0f4c2e-0001, NVIDIA A100-SXM4-40GB, [Insufficient Permissions], [N/A]"
SLICED_AND_WHOLE = SLICED + "\n1, GPU-bbbb, NVIDIA A100-SXM4-40GB, 40960, 4096"
BROKEN_DRIVER = """\
NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.
Make sure that the latest NVIDIA driver is installed and running.
"""


def choose(tools: Path, **environment: str) -> tuple[str, str]:
    """The sentence about the GPU, and the CUDA_VISIBLE_DEVICES that the training would get ("unset" if none)."""
    script = f'set -euo pipefail; . "{REPOSITORY}/.ci/gpu.sh"; choose_gpu; '
    script += 'echo "$GPU_LINE"; echo "${CUDA_VISIBLE_DEVICES-unset}"'
    done = subprocess.run(
        ["bash", "-c", script], env={"PATH": str(tools), **environment}, capture_output=True, text=True, check=True
    )
    sentence, devices = done.stdout.splitlines()
    return sentence, devices


def answer(text: str, status: int = 0) -> str:
    return f"#!/usr/bin/env bash\ncat <<'END'\n{text}\nEND\nexit {status}\n"


def test_one_gpu_is_named_and_left_to_cuda(tools: Path, add_tool: AddTool) -> None:
    add_tool("nvidia-smi", answer(ONE))
    assert choose(tools) == ("GPU 0, NVIDIA A100-SXM4-40GB, 39.4 of 40.0 GiB free", "unset")


def test_the_freest_of_several_is_taken_by_uuid(tools: Path, add_tool: AddTool) -> None:
    add_tool("nvidia-smi", answer(FOUR))
    sentence, devices = choose(tools)
    assert devices == "GPU-bbbb"
    assert sentence.startswith("GPU 1, NVIDIA H100 80GB HBM3, 78.6 of 79.6 GiB free, the freest of 4")
    assert "to choose: CUDA_VISIBLE_DEVICES=" in sentence


def test_the_users_choice_stands(tools: Path, add_tool: AddTool) -> None:
    add_tool("nvidia-smi", answer(FOUR))
    sentence, devices = choose(tools, CUDA_VISIBLE_DEVICES="3,1")
    assert devices == "3,1"
    assert "CUDA_VISIBLE_DEVICES=3,1" in sentence


@pytest.mark.parametrize("value", ["", "-1"])
def test_hidden_gpus_mean_the_cpu(tools: Path, add_tool: AddTool, value: str) -> None:
    add_tool("nvidia-smi", answer(ONE))
    sentence, devices = choose(tools, CUDA_VISIBLE_DEVICES=value)
    assert devices == value
    assert sentence.endswith("training on the CPU")


def test_memory_that_may_not_be_read_is_said(tools: Path, add_tool: AddTool) -> None:
    add_tool("nvidia-smi", answer(SLICED))
    assert choose(tools) == ("GPU 0, NVIDIA A100-SXM4-40GB, memory not readable", "unset")


def test_a_readable_card_goes_before_an_unreadable_one(tools: Path, add_tool: AddTool) -> None:
    add_tool("nvidia-smi", answer(SLICED_AND_WHOLE))
    sentence, devices = choose(tools)
    assert devices == "GPU-bbbb"
    assert sentence.startswith("GPU 1, NVIDIA A100-SXM4-40GB, 36.0 of 40.0 GiB free, the freest of 2")


def test_several_unreadable_cards_are_left_to_cuda(tools: Path, add_tool: AddTool) -> None:
    add_tool("nvidia-smi", answer(SLICED + "\n" + SLICED.replace("0, ", "1, ", 1)))
    sentence, devices = choose(tools)
    assert devices == "unset"
    assert sentence.startswith("2 GPUs whose memory cannot be read; taking the first")


@pytest.mark.parametrize(
    ("text", "status", "said"),
    [(BROKEN_DRIVER, 9, "NVIDIA-SMI has failed"), ("No devices were found", 6, "No devices were found")],
)
def test_a_driver_without_gpus_means_the_cpu(tools: Path, add_tool: AddTool, text: str, status: int, said: str) -> None:
    add_tool("nvidia-smi", answer(text, status))
    sentence, devices = choose(tools)
    assert devices == "unset"
    assert said in sentence
    assert sentence.endswith("training on the CPU")


def test_no_nvidia_smi_means_the_cpu(tools: Path) -> None:
    assert choose(tools) == ("no NVIDIA GPU found; training on the CPU", "unset")

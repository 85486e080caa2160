"""Main memory that offloading takes is held against what the machine, or its container, still has: case E-11."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine.config import Config, load_config
from engine.memory.advice.levers import with_values
from engine.memory.estimate import Estimate, Phase
from engine.monitor import MachineMemory, machine_memory
from engine.profile.main_memory import main_memory_warnings
from tests.engine.recorded_nvml import GIB, MIB

CONFIG = load_config(Path(__file__).parents[2] / "configs/qwen35_4b/card_16gb.yaml", check_files=False).config
OFFLOADING = with_values(CONFIG, {"memory.offload_activations": True})


def estimate(config: Config) -> Estimate:
    """A run whose layer inputs are 4.2 GiB, of which offloading leaves 0.2 on the GPU."""
    inputs = 0.2 if config.memory.offload_activations else 4.2
    phases = (Phase("forward", 10 + inputs, {"weights": 10, "layer inputs": inputs}), Phase("optimizer", 10, {}))
    return Estimate(10 + inputs, 15, 16, 1, phases, "forward", phases[0].parts, 1, 1, ())


@pytest.fixture
def container(tmp_path: Path) -> Path:
    """A limit of 24000 MiB, of which 21500 are in use, as the kernel shows it."""
    (tmp_path / "proc/self").mkdir(parents=True)
    (tmp_path / "proc/self/cgroup").write_text("0::/\n")
    (tmp_path / "sys/fs/cgroup").mkdir(parents=True)
    (tmp_path / "sys/fs/cgroup/memory.max").write_text(f"{24000 * MIB}\n")
    (tmp_path / "sys/fs/cgroup/memory.current").write_text(f"{21500 * MIB}\n")
    return tmp_path


def test_the_containers_limit_counts_and_not_the_hosts_memory(container: Path) -> None:
    host = MachineMemory(available=200 * GIB, total=256 * GIB)
    (warning,) = main_memory_warnings(
        OFFLOADING, estimate(OFFLOADING), estimate, lambda: machine_memory(container, host)
    )
    assert "does not fit: needs 4.0 GiB of main memory, of which 2.4 are available" in warning
    assert main_memory_warnings(OFFLOADING, estimate(OFFLOADING), estimate, lambda: host) == ()


def test_without_offloading_nothing_is_asked() -> None:
    def machine() -> MachineMemory:
        raise AssertionError("nobody wants to know")

    assert main_memory_warnings(CONFIG, estimate(CONFIG), estimate, machine) == ()

"""Tests that need an NVIDIA GPU: `python -m pytest tests/gpu -m gpu`. Without one they are skipped as a whole."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

from tests.train.conftest import state_home, train  # noqa: F401  fixtures

from .machine import WHY_SKIPPED, is_left_out
from .small import write_config

CUBLAS = "CUBLAS_WORKSPACE_CONFIG"
FAILURES_AT_ONCE = "PGS_GPU_FAILURES_AT_ONCE"
"""With this in the environment a failure is told when it happens, for a machine that is ours for minutes."""


def pytest_configure(config: pytest.Config) -> None:
    os.environ.setdefault(CUBLAS, ":4096:8")  # before the first product: torch wants it for deterministic ones


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    if is_left_out():
        for item in items:
            if Path(__file__).parent in item.path.parents:
                item.add_marker(pytest.mark.skip(reason=WHY_SKIPPED))


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    if report.failed and os.environ.get(FAILURES_AT_ONCE) and "PYTEST_XDIST_WORKER" not in os.environ:
        told = [report.longreprtext[-3000:], *(f"{name}\n{text[-3000:]}" for name, text in report.sections)]
        print(f"\n{report.nodeid} FAILED ({report.when})", *told, sep="\n", file=sys.__stderr__, flush=True)


@pytest.fixture
def config_file(tmp_path: Path) -> Path:
    """A config that trains a small hybrid model, with heads as wide as the kernels take, for six steps."""
    return write_config(tmp_path)


@pytest.fixture
def deterministic() -> Iterator[None]:
    """Within, torch takes kernels that add up in a fixed order, and refuses operations that have none."""
    before = torch.utils.deterministic.fill_uninitialized_memory
    torch.utils.deterministic.fill_uninitialized_memory = False
    torch.use_deterministic_algorithms(True)
    yield
    torch.use_deterministic_algorithms(False)
    torch.utils.deterministic.fill_uninitialized_memory = before

"""What importing a light room brings along, seen in a fresh process."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

HEAVY = {"torch", "transformers", "tokenizers", "datasets", "bitsandbytes", "accelerate", "numpy"}
INTERFACE = {"textual", "plotext", "rich", "pgs_tui", "screens"}

_SCRIPT = """
import json, sys
before = set(sys.modules)
__import__(sys.argv[1])
loaded = {name.partition(".")[0] for name in set(sys.modules) - before}
print(json.dumps([sorted(loaded), sorted(sys.stdlib_module_names)]))
"""


def _brought_along(module: str) -> tuple[set[str], set[str]]:
    """Top-level names that importing `module` loads, and those of them outside the standard library."""
    done = subprocess.run([sys.executable, "-c", _SCRIPT, module], capture_output=True, text=True, check=True)
    loaded, standard = map(set, json.loads(done.stdout))
    return loaded, loaded - standard


@pytest.mark.parametrize("module", ["engine.events", "engine.rundir"])
def test_events_and_rundir_need_the_standard_library_only(module: str) -> None:
    _, foreign = _brought_along(module)
    assert foreign == {"engine"}


@pytest.mark.parametrize("module", ["engine.health", "engine.config", "engine.monitor", "engine.cli"])
def test_light_rooms_of_the_engine_bring_neither_torch_nor_the_interface(module: str) -> None:
    loaded, _ = _brought_along(module)
    assert not loaded & (HEAVY | INTERFACE)


@pytest.mark.parametrize("module", ["pgs_tui.cli", "pgs_tui.apps.dashboard"])
def test_the_interface_brings_no_heavy_library(module: str) -> None:
    loaded, _ = _brought_along(module)
    assert not loaded & HEAVY


def test_the_command_line_of_the_interface_starts_light() -> None:
    loaded, _ = _brought_along("pgs_tui.cli")
    assert not loaded & {"textual", "plotext", "pydantic"}, "light commands start in milliseconds"


def test_what_trains_brings_no_kernels_before_a_run_asks_for_them() -> None:
    loaded, _ = _brought_along("engine.train.assemble")
    assert not loaded & {"triton", "fla", "tilelang", "torchao", "liger_kernel"}

"""What a run keeps in the machine's own memory, which may be too small for it too: the layers' inputs under offload."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from engine.config import Config
from engine.memory.advice.levers import with_values
from engine.monitor import MachineMemory, machine_memory
from engine.units import GIB

if TYPE_CHECKING:
    from engine.memory.estimate import Estimate

_OFFLOAD = "memory.offload_activations"
_PART = "layer inputs"


def main_memory_warnings(
    config: Config,
    estimate: Estimate,
    estimator: Callable[[Config], Estimate],
    machine: Callable[[], MachineMemory] = machine_memory,
) -> tuple[str, ...]:
    """One sentence where this machine, or the container's limit, has less memory than offloading will take.

    What is offloaded is what the GPU would hold without: `estimator` tells it.
    """
    if not config.memory.offload_activations:
        return ()
    offloaded = _inputs(estimator(with_values(config, {_OFFLOAD: False}))) - _inputs(estimate)
    available = machine().available / GIB
    if offloaded <= available:
        return ()
    return (
        f"{_OFFLOAD} does not fit: needs {offloaded:.1f} GiB of main memory, of which {available:.1f} are available"
        " (a container's limit counts)",
    )


def _inputs(estimate: Estimate) -> float:
    """GiB of the layers' inputs at their most."""
    return max(phase.parts.get(_PART, 0.0) for phase in estimate.phases)

"""Memory that is nearly used up: that of the GPU by a step's peak, that of the machine by all that runs on it."""

from __future__ import annotations

from engine.events.types import Host, Step
from engine.health.finding import Finding
from engine.health.memory_remedies import LESS_MEMORY, SHORTER_ROWS, SMALLER_BATCH
from engine.health.symptom import Remedy, Symptom, to

NEAR = 0.97
"""Share of the room, as the profiler calls less than 3 % of it left over tight."""
OVER_AFTER = 200
"""Steps in a row with more room: wide batches come now and then."""
HOST_LEFT = 0.03
"""Share of the machine's memory that is left ..."""
OF_OURS = 0.25
"""... and that is small against what the run itself holds: a large machine has room in 3 %."""
READINGS = 10
"""In a row, one a second."""

SYMPTOMS = {
    "MEMORY_NEAR_LIMIT": Symptom(
        "warning",
        "a step takes {value} GiB of the GPU's memory at the peak, and there is room for {baseline} GiB: a longer row, "
        "or another process, ends the run",
        LESS_MEMORY,
        ending="there is room again",
        beyond="`pgs profile --config CONFIG` says what each part takes and what makes it fit",
    ),
    "HOST_MEMORY_NEAR_LIMIT": Symptom(
        "warning",
        "{value} GiB of the machine's {baseline} GiB of memory are left: the system may end the run",
        (
            Remedy("memory.offload_activations", to(False), "the inputs of the layers stay on the GPU"),
            Remedy("data.num_workers", to(0), "no batches are prepared ahead"),
            SMALLER_BATCH,
            SHORTER_ROWS,
        ),
        ending="there is room again",
    ),
}


class NearLimitDetector:
    """Watches the peak of each step."""

    def __init__(self) -> None:
        self._found: Finding | None = None
        self._roomy_in_a_row = 0

    def check(self, step: Step, room: float | None) -> Finding | None:
        """Take in a step and the room in GiB there is for it; return what is wrong while it is."""
        peak = step.mem.peak
        if peak is None or room is None or room <= 0:
            return self._found
        if peak >= NEAR * room:
            words = {"value": f"{peak:.1f}", "baseline": f"{room:.1f}"}
            self._found, self._roomy_in_a_row = Finding(peak, room, "mem.peak", words, rows=step.rows), 0
            return self._found
        self._roomy_in_a_row += 1
        if self._roomy_in_a_row >= OVER_AFTER:
            self._found = None
        return self._found


class HostNearLimitDetector:
    """Watches the machine's memory, or the container's, once a second."""

    def __init__(self) -> None:
        self._in_a_row = 0

    def check(self, host: Host) -> Finding | None:
        """Take in a reading; return what is wrong while it is."""
        left, total = host.memory_available, host.memory_total
        is_near = left is not None and total is not None and left < HOST_LEFT * total and left < OF_OURS * host.rss
        self._in_a_row = self._in_a_row + 1 if is_near else 0
        if self._in_a_row < READINGS or left is None or total is None:
            return None
        return Finding(left, total, words={"value": f"{left:.1f}", "baseline": f"{total:.1f}"})

"""What is over when a run has come to its end: what only a run that goes on can suffer from."""

from __future__ import annotations

from engine.events.types import End

PACE = ("SILENT", "STEP_SLOW", "STALL", "THROUGHPUT_LOW", "THROTTLED")
SPIKES = ("SPIKE_SKIPPED", "SPIKE_TAKEN", "SPIKE_LOGGED")
WELL = ("finished", "stopped")
THE_RUN_IS_OVER = "the run is over"


def codes_over_with(end: End) -> tuple[str, ...]:
    """The codes of the alerts that this end closes. A run that failed keeps what was open: it may be why."""
    return (*PACE, *SPIKES) if end.status in WELL else ()

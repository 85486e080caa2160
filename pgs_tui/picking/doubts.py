"""What speaks against starting a config on this machine, before minutes are spent on finding it out."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pgs_tui.picking.collection import Entry

_GIB = 1024**3


def why_not_to_start(entry: Entry) -> str:
    """One sentence; empty where nothing is known that speaks against it."""
    estimate = entry.estimate
    if estimate is None:
        return ""
    if estimate.gpu is not None:
        return estimate.verdict.sentence if entry.verdict == "does not fit" else ""
    there = main_memory_gib()
    if there is None or estimate.total <= there:
        return ""
    return (
        f"there is no GPU here, and training on the CPU takes about {estimate.total:.1f} GiB of main memory too: "
        f"this machine has {there:.1f}"
    )


def main_memory_gib() -> float | None:
    """All that this machine has; None where the system does not tell it."""
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / _GIB
    except (ValueError, OSError, AttributeError):
        return None

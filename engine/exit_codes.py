"""How every command ends: 0 where it is done or was stopped on request, and otherwise one of these."""

from __future__ import annotations

FAILED = 1
"""A check or the run failed."""
USAGE_ERROR = 2
"""A bad config, or bad usage."""
OUT_OF_MEMORY = 3
DISK_FULL = 4
INTERRUPTED = 130

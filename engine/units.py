"""Units of memory."""

GIB = 2**30
"""Bytes in a GiB, the unit of every memory figure in the events."""

MIB = 2**20
"""Bytes in a MiB."""

"""How the C library keeps arrays that grow."""

from __future__ import annotations

import sys

M_MMAP_THRESHOLD = -3
LARGE_BYTES = 128 * 1024


def keep_large_arrays_apart() -> None:
    """Let arrays beyond 128 KiB grow in pages of their own, which can be moved without a copy.

    That is what glibc does at first. But whenever it gets such pages back it puts larger ones among all else, where an
    array that grows leaves a hole behind each time: a fifth more memory for a million steps. Elsewhere nothing changes.
    """
    if not sys.platform.startswith("linux"):
        return
    import ctypes  # takes a while, and nothing else here needs it

    set_option = getattr(ctypes.CDLL(None), "mallopt", None)
    if set_option is not None:
        set_option(M_MMAP_THRESHOLD, LARGE_BYTES)

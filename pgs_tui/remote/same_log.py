"""Whether a log on another machine is still the one that has been fetched."""

from __future__ import annotations

from collections.abc import Iterable

from engine.events.growing import FINGERPRINT_BYTES, Restart
from pgs_tui.remote.facts import FileFacts
from pgs_tui.remote.mirror import Mirror, Original


def change_of(mirror: Mirror, fetched: int, log: FileFacts, pieces: Iterable[tuple[int, bytes]]) -> Restart | None:
    """What became of the log, None where it still holds what was fetched; `pieces` are some of its bytes, by offset.

    `fetched` is up to which byte that was when it was looked at: more may have come since. Another file with the same
    bytes is a copy, such as rsync makes, and counts as the same.
    """
    if fetched == 0:
        return None
    is_other = _is_other_file(mirror, log)
    if log.size is not None and log.size < fetched:
        return "replaced" if is_other else "emptied"
    found = [_agrees(mirror, offset, data) for offset, data in pieces]
    if not found:  # nothing over there can bring bytes from amid a file
        return "replaced" if is_other else None
    return None if all(found) else "replaced" if is_other else "rewritten"


def original_of(log: FileFacts, head: bytes) -> Original | None:
    """How the log will be known again; None where it tells too little."""
    return Original(log.inode, head[:FINGERPRINT_BYTES]) if log.inode is not None and head else None


def _is_other_file(mirror: Mirror, log: FileFacts) -> bool:
    known = mirror.original
    return known is not None and log.inode is not None and log.inode != known.inode


def _agrees(mirror: Mirror, offset: int, data: bytes) -> bool:
    """Whether the mirror has the same bytes there, as far as it has any."""
    end = min(mirror.end_of(offset), offset + len(data))
    return mirror.read(offset, end) == data[: end - offset]

"""What a folder takes of the disk."""

from __future__ import annotations

import os
from pathlib import Path

BLOCK_BYTES = 512
"""The unit of st_blocks, whatever the disk's own is."""


def size_on_disk(folder: Path) -> int:
    """The bytes that all in it takes of the disk; files with several names count once, links are not followed.

    What cannot be looked at takes nothing. It takes time where there are many files.
    """
    total, seen = 0, set[tuple[int, int]]()
    waiting = [str(folder)]
    while waiting:
        try:
            with os.scandir(waiting.pop()) as entries:
                for entry in entries:
                    status = entry.stat(follow_symlinks=False)
                    if status.st_nlink > 1 and not entry.is_dir(follow_symlinks=False):
                        if (status.st_dev, status.st_ino) in seen:
                            continue
                        seen.add((status.st_dev, status.st_ino))
                    total += status.st_blocks * BLOCK_BYTES
                    if entry.is_dir(follow_symlinks=False):
                        waiting.append(entry.path)
        except OSError:  # gone meanwhile, or not for this user
            continue
    return total

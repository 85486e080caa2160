"""Room on the disk for what does not fit well into memory."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import IO, Any


def cache_folder() -> Path:
    """Where this program keeps what it can do without: `${XDG_CACHE_HOME:-~/.cache}/pgs-tui`."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "pgs-tui"


def nameless_file() -> IO[bytes]:
    """A temporary file beside the user's other caches, since /tmp may be a small one in main memory.

    Raises:
        OSError: there is no room for one.
    """
    return tempfile.TemporaryFile(dir=_folder())


def mapped_table(schema: Any, batches: Iterable[Any]) -> Any:
    """The record batches as one `pyarrow.Table` that stays on the disk and is mapped into memory.

    Raises:
        OSError: there is no room for it.
    """
    import pyarrow

    with tempfile.NamedTemporaryFile(dir=_folder(), suffix=".arrow") as file:
        with pyarrow.OSFile(file.name, "wb") as sink, pyarrow.ipc.new_file(sink, schema) as writer:
            for batch in batches:
                writer.write_batch(batch)
        # The mapping outlives the file's name, which goes with the end of this block.
        return pyarrow.ipc.open_file(pyarrow.memory_map(file.name)).read_all()


def _folder() -> Path | None:
    folder = cache_folder()
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:
        return None
    return folder if os.access(folder, os.W_OK) else None

"""Tells of the bytes that a download from the hub has brought, instead of drawing a bar."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

ByteProgress = Callable[[int, int], None]
"""Called with the bytes that have arrived and the bytes known so far."""


def reporting(progress: ByteProgress) -> type[Any]:
    """A progress bar for the hub's client that draws nothing and tells `progress` of the bytes."""
    from tqdm.auto import tqdm

    class Reporter(tqdm):  # type: ignore[misc]
        def __init__(self, *args: Any, **kwargs: Any) -> None:
            self._counts_bytes = kwargs.get("unit") == "B"
            super().__init__(*args, **{**kwargs, "file": _Nowhere()})

        def update(self, n: float | None = 1) -> bool | None:
            moved: bool | None = super().update(n)
            if self._counts_bytes:
                progress(int(self.n), int(self.total or 0))
            return moved

    return Reporter


class _Nowhere:
    """A file that keeps nothing."""

    def write(self, text: str) -> int:
        return len(text)

    def flush(self) -> None:
        """Nothing waits."""

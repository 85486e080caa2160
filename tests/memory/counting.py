"""Counts the memory that torch's operations really hold, on the CPU."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves


class Counting(TorchDispatchMode):
    """Within, `now` and `peak` are the bytes of all storages that were made and are still there."""

    def __init__(self) -> None:
        super().__init__()
        self.now = self.peak = 0
        self._known: dict[int, int] = {}
        self._before: set[int] = set()

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self._before |= {self._place(tensor) for tensor in _tensors((args, kwargs))} - self._known.keys()
        out = func(*args, **(kwargs or {}))
        for tensor in _tensors(out):
            self._note(tensor)
        return out

    def _note(self, tensor: Any) -> None:
        place, storage = self._place(tensor), tensor.untyped_storage()
        if place in self._known or place in self._before:
            return
        self._known[place] = storage.nbytes()
        self.now += storage.nbytes()
        self.peak = max(self.peak, self.now)
        weakref.finalize(storage, self._forget, place)

    def _forget(self, place: int) -> None:
        self.now -= self._known.pop(place)

    @staticmethod
    def _place(tensor: Any) -> int:
        return int(tensor.untyped_storage()._cdata)


def peak_of(work: Callable[[], Any]) -> tuple[int, Any]:
    """The most that is held at once while it works, beside what was there before; and what it returns."""
    with Counting() as counting:
        returned = work()
    return counting.peak, returned


def _tensors(value: Any) -> list[Any]:
    return [leaf for leaf in tree_leaves(value) if hasattr(leaf, "untyped_storage")]

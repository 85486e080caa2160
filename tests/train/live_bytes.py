"""Bytes that live at once, counted from the storages that operations return: exact, and on the CPU too."""

from __future__ import annotations

import weakref
from collections.abc import Iterable, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves


class LiveBytes(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Within, counts the storages that operations make, until each is freed; those of `held` tensors are none of them.

    `peak` is the most bytes at once, `gradient_peak` the most in the `.grad` of `parameters`.
    """

    def __init__(self, held: Iterable[Tensor], parameters: Sequence[Tensor]) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._held = {tensor.untyped_storage()._cdata for tensor in held}
        self._known: set[int] = set()
        self._parameters = parameters
        self.now = self.peak = self.gradient_peak = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        for leaf in tree_leaves(result):
            if isinstance(leaf, Tensor):
                for part in _parts(leaf):
                    self._note(part.untyped_storage())
        self.peak = max(self.peak, self.now)
        held = 0
        for parameter in self._parameters:  # at every operation: most have none
            gradient = parameter.grad
            if gradient is not None:
                held += gradient.nbytes if not gradient.is_sparse else sum(part.nbytes for part in _parts(gradient))
        self.gradient_peak = max(self.gradient_peak, held)
        return result

    def forget_peak(self) -> None:
        self.peak = self.now

    def _note(self, storage: torch.UntypedStorage) -> None:
        key, size = storage._cdata, storage.nbytes()
        if key not in self._known and key not in self._held:
            self._known.add(key)
            self.now += size
            weakref.finalize(storage, self._free, key, size)

    def _free(self, key: int, size: int) -> None:
        self._known.discard(key)
        self.now -= size


def _parts(tensor: Tensor) -> tuple[Tensor, ...]:
    """The tensors that hold a tensor's numbers: those of a sparse one are its indices and values."""
    return (tensor._indices(), tensor._values()) if tensor.is_sparse else (tensor,)

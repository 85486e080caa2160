"""A recording of a layer's forward and backward pass on the meta device: what ran, and which memory was there when.

Nothing is computed there, yet every operation has its outputs' shapes and autograd keeps what it keeps anywhere.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from engine.memory.estimate.layers.operations import is_fusible, is_reduction
from engine.memory.estimate.layers.outputs import Outputs, tensors_in

Imagined = Callable[..., Any]
"""Takes what an operator takes, allocates as its kernels do on a GPU, and returns what it returns."""


@dataclass(slots=True)
class Storage:
    """A stretch of memory that the recorded operations made."""

    nbytes: int
    born: int
    """The number of the operation that made it."""
    died: int | None = None
    """How many operations had run when nothing referred to it any more; None while something does."""
    is_inside: bool = False
    """Whether a kernel's own work space: it dies when the kernel says so, whoever reads it."""


@dataclass(frozen=True, slots=True)
class Operation:
    """One operation, and the numbers of the storages that it read and wrote."""

    name: str
    reads: tuple[int, ...]
    writes: tuple[int, ...]
    is_fusible: bool
    is_reduction: bool


@dataclass(slots=True)
class Recording:
    """What was recorded; storages and operations by number."""

    operations: list[Operation] = field(default_factory=list)
    storages: list[Storage] = field(default_factory=list)
    boundary: int = 0
    """How many operations the forward pass had."""
    input: int = 0
    """The storage of the layer's input."""
    output: int = 0
    """That of its output."""
    incoming: int = 0
    """That of the output's gradient."""
    gradients: tuple[int, ...] = ()
    """Storages of the gradients of weights that were there at the end."""
    vector_gradients: tuple[int, ...] = ()
    """Those among them of weights of one dimension."""

    def form(self) -> tuple[Any, ...]:
        """What has to be the same for two recordings to differ in sizes alone."""
        lives = tuple((one.born, one.died, one.is_inside) for one in self.storages)
        ends = (self.input, self.output, self.incoming, self.gradients, self.vector_gradients)
        return tuple(self.operations), lives, self.boundary, ends


class Tape(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Records what runs while it is entered. Memory that was there before counts nothing.

    `imagined` stand in for operators, by name, whose kernels hold more than their inputs and outputs; `outputs` are
    those of tapes before.
    """

    def __init__(self, imagined: Mapping[str, Imagined], outputs: Outputs | None = None) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.recording = Recording()
        self._imagined = imagined
        self._outputs = outputs or Outputs()
        self._numbers: dict[int, int | None] = {}
        """Of living storages by where torch has them; None for those from before."""
        self._alive: dict[int, weakref.ref[Any]] = {}
        self._depth = 0

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        """Nothing is compiled here, so that torch need not keep its compiler out of every single call."""
        return False

    def number_of(self, tensor: Tensor) -> int | None:
        """The number of a living tensor's storage; None for one from before."""
        return self._numbers.get(int(tensor.untyped_storage()._cdata))

    def ended(self) -> Recording:
        """The recording; what dies from now on was there to its end."""
        self._alive.clear()
        return self.recording

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        reads = [self._read(tensor) for tensor in tensors_in((args, kwargs))]
        name, is_mutable = _known_of(func)
        imagine = self._imagined.get(name)
        if imagine is None:
            out = self._outputs.of(func, args, kwargs)
        else:
            self._depth += 1
            with self:
                out = imagine(*args, **kwargs)
            self._depth -= 1
        read = tuple(dict.fromkeys(number for number in reads if number is not None))
        written = tuple(dict.fromkeys(number for one in tensors_in(out) if (number := self._written(one)) is not None))
        if not is_mutable and set(written) <= set(read) and not self._depth:
            return out  # a view
        fusible = imagine is None and not self._depth and is_fusible(func)
        if not self._depth:
            for number in written:
                self.recording.storages[number].is_inside = False
        self.recording.operations.append(
            Operation(name, () if self._depth else read, written, fusible, fusible and is_reduction(name))
        )
        return out

    def _read(self, tensor: Tensor) -> int | None:
        """The number of an input's storage."""
        storage = tensor.untyped_storage()
        if storage._cdata not in self._numbers:
            self._know(storage, None)
        return self._numbers[storage._cdata]

    def _written(self, tensor: Tensor) -> int | None:
        """The number of an output's storage, a new one unless it is a view or was written in place."""
        storage = tensor.untyped_storage()
        if storage._cdata not in self._numbers:
            born = len(self.recording.operations)
            self.recording.storages.append(Storage(storage.nbytes(), born, is_inside=self._depth > 0))
            self._know(storage, len(self.recording.storages) - 1)
        return self._numbers[storage._cdata]

    def _know(self, storage: torch.UntypedStorage, number: int | None) -> None:
        place = int(storage._cdata)
        self._numbers[place] = number
        self._alive[place] = weakref.ref(storage, lambda _: self._forget(place))

    def _forget(self, place: int) -> None:
        number = self._numbers.pop(place, None)
        self._alive.pop(place, None)
        if number is not None:
            self.recording.storages[number].died = len(self.recording.operations)


@cache
def _known_of(operator: Any) -> tuple[str, bool]:
    """Its name, and whether it writes to an input."""
    return str(operator._schema.name), bool(operator._schema.is_mutable)

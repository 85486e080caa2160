"""Takes the inputs of layers off the device in the forward pass, and brings each back just before it is wanted."""

from __future__ import annotations

import weakref
from collections import deque
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.graph import saved_tensors_hooks

from engine.model.offload.buffers import Buffers
from engine.model.offload.copies import Copies
from engine.units import GIB, MIB

_ON_THEIR_WAY = 2
"""Layers whose inputs may still be on the device while they are copied away: the one before, and the one that computes.
"""


class Parked:
    """A layer's input [B, S, H], or a slice of its lines, which waits in main memory for the backward pass.

    `take` gives it back, as often as it is asked for. While one is taken, the one that was parked before it is fetched,
    as it is wanted next.
    """

    def __init__(self, tensor: Tensor, copies: Copies, buffers: Buffers, before: Parked | None) -> None:
        self._buffer = buffers.take(tensor.nbytes)
        self._buffers = buffers
        self._copies = copies
        self._before: Callable[[], Parked | None] = weakref.ref(before) if before is not None else _nobody
        self._dtype, self._device = tensor.dtype, tensor.device
        self.shape = tensor.shape
        self._here: Tensor | None = tensor
        self._copy = copies.start(tensor, self._parked())

    def __del__(self) -> None:
        if hasattr(self, "_copy"):
            if self._here is not None:  # its memory is used again: not before the copy is over
                self._copies.wait(self._copy)
            self._buffers.give_back(self._buffer)

    def leave(self) -> None:
        """Free the device's memory as soon as the copy is over."""
        self._copies.wait(self._copy)
        self._here = None

    def fetch(self) -> None:
        """Begin to bring it back, unless it is on the device still."""
        if self._here is None:
            self._here = torch.empty(self.shape, dtype=self._dtype, device=self._device)
            self._copy = self._copies.start(self._parked(), self._here)

    def take(self) -> Tensor:
        """The input, on the device."""
        self.fetch()
        tensor = self._here
        assert tensor is not None
        self.leave()
        before = self._before()
        if before is not None:
            before.fetch()
        return tensor

    def _parked(self) -> Tensor:
        """The tensor in main memory."""
        nbytes = self.shape.numel() * self._dtype.itemsize
        return self._buffer[:nbytes].view(self._dtype).view(self.shape)


def _nobody() -> None:
    return None


class LayerInputs:
    """What autograd keeps of the inputs of a model's layers, in main memory. All else stays as it is.

    A tensor is a layer's input, or a slice of it, by its place in the same storage, whoever keeps it: torch's
    checkpoint, or a compiled layer.
    """

    def __init__(self, copies: Copies, layers: int) -> None:
        self.buffers = Buffers(copies.buffers)
        self.parked = 0
        """Layers whose inputs were sent to main memory in the last forward pass."""
        self._copies = copies
        self._layers = layers
        self._leaving: deque[list[weakref.ref[Parked]]] = deque()
        self._newest: weakref.ref[Parked] | None = None
        self._input: Tensor | None = None
        self._parked_now: dict[tuple[int, torch.Size], Parked] = {}
        """What became of that input or of its slices, by place and shape, while its layer computes."""
        self._hooks = (self._pack, self._unpack)

    def sentence(self) -> str:
        """For the console, after a forward and a backward pass."""
        if not self.parked:
            return (
                "memory.offload_activations has no effect: no layer's input of the longest batch is as large as "
                f"{self._copies.least_bytes:,} bytes"
            )
        size = self.buffers.nbytes
        told = f"{size / GIB:.2f} GiB" if size >= GIB / 10 else f"{size / MIB:.2f} MiB"
        who = "the input of 1 layer waits" if self.parked == 1 else f"the inputs of {self.parked} layers wait"
        return f"{who} in main memory, {told} of it"

    def entering(self, number: int, hidden: Tensor) -> saved_tensors_hooks:
        """Within, autograd parks `hidden`, the input of the layer of this number, counted from 0."""
        if number == 0:
            self.parked, self._newest = 0, None
            self._leaving.clear()
        while len(self._leaving) >= _ON_THEIR_WAY:
            for parked in self._leaving.popleft():
                self._let_go(parked)
        is_wanted_at_once = number == self._layers - 1
        self._input = None if is_wanted_at_once or not self._is_worth_it(hidden) else hidden
        return saved_tensors_hooks(*self._hooks)

    def leaving(self) -> None:
        """The layer is done."""
        self._input = None
        self._parked_now.clear()

    def _pack(self, tensor: Tensor) -> Tensor | Parked:
        if self._input is None or not _is_of(tensor, self._input):
            return tensor.detach()  # an output of a layer that held itself would never be freed
        key = (int(tensor.storage_offset()), tensor.shape)
        if key not in self._parked_now:
            self._parked_now[key] = self._park(tensor.detach())
        return self._parked_now[key]

    def _park(self, tensor: Tensor) -> Parked:
        before = self._newest() if self._newest is not None else None
        parked = Parked(tensor, self._copies, self.buffers, before)
        self._newest = weakref.ref(parked)
        if not self._parked_now:
            self._leaving.append([])
            self.parked += 1
        self._leaving[-1].append(self._newest)
        return parked

    def _unpack(self, kept: Tensor | Parked) -> Tensor:
        return kept.take() if isinstance(kept, Parked) else kept

    def _is_worth_it(self, hidden: Tensor) -> bool:
        return hidden.nbytes >= self._copies.least_bytes

    def _let_go(self, parked: weakref.ref[Parked]) -> None:
        one = parked()
        if one is not None:  # else its forward pass was dropped
            one.leave()


class OffloadingForward:
    """A layer's forward pass in training, whose input waits in main memory for the backward pass."""

    def __init__(self, layer: nn.Module, inputs: LayerInputs, number: int) -> None:
        self._layer = layer
        self._forward = layer.forward
        self._inputs = inputs
        self._number = number

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        hidden = args[0] if args else kwargs.get("hidden_states")
        if not (self._layer.training and torch.is_grad_enabled() and isinstance(hidden, Tensor)):
            return self._forward(*args, **kwargs)
        try:
            with self._inputs.entering(self._number, hidden):
                return self._forward(*args, **kwargs)
        finally:
            self._inputs.leaving()


def _is_of(tensor: Tensor, hidden: Tensor) -> bool:
    """Whether the one is all of the other's memory in order, or that of some of its lines."""
    line = hidden[0].numel()
    return (
        tensor.untyped_storage()._cdata == hidden.untyped_storage()._cdata
        and tensor.dtype == hidden.dtype
        and tensor.is_contiguous()
        and hidden.is_contiguous()
        and tensor.numel() % line == 0
        and (tensor.storage_offset() - hidden.storage_offset()) % line == 0
    )

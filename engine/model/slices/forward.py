"""The forward pass of one layer over the lines of a batch in slices."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from itertools import accumulate, pairwise
from typing import Any

import torch
from torch import Tensor, nn

from engine.errors import UserError
from engine.to_device import to_device

KEY = "memory.layer_slices"
_ON_HOST = "cu_seq_lens_cpu"
_BORDERS = ("cu_seq_lens_q", "cu_seq_lens_k", _ON_HOST)
"""Where documents begin in all lines one after another, and the end: vectors on the device or on the host."""
_CUT_BORDERS_KEPT = 32
"""Those of a batch's slices, on the device and on the host."""


class SlicedForward:
    """A layer's forward pass in training over some lines of the batch after others.

    What the layer is told of all lines, it is told of a slice's: tensors whose first of several dimensions is as long
    as the batch has lines, and the borders of documents.
    """

    def __init__(self, layer: nn.Module, slices: int) -> None:
        self._layer = layer
        self._forward: Callable[..., Any] = layer.forward
        self._slices = slices

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """As the layer, of hidden states [B, S, H], which come first or by the name of `hidden_states`."""
        hidden: Tensor = args[0] if args else kwargs["hidden_states"]
        slices = min(self._slices, len(hidden))
        if slices == 1 or not (self._layer.training and torch.is_grad_enabled()):
            return self._forward(*args, **kwargs)
        sizes = even_sizes(len(hidden), slices)
        told = {name: _of_slices(value, sizes) for name, value in kwargs.items() if name not in _BORDERS}
        told |= _borders_of_slices(kwargs, sizes, hidden.shape[1])
        outputs = [
            self._forward(*own, **{name: of_slices[number] for name, of_slices in told.items()})
            for number, own in enumerate(_of_slices(args, sizes))
        ]
        return _together(outputs, sizes)


def even_sizes(lines: int, slices: int) -> list[int]:
    """How many lines each slice has, as many as possible the same; the larger ones come first."""
    size, larger = divmod(lines, slices)
    return [size + 1] * larger + [size] * (slices - larger)


def _of_slices(value: Any, sizes: Sequence[int]) -> Sequence[Any]:
    """What each slice is told of `value`."""
    if isinstance(value, Tensor) and value.dim() > 1 and len(value) == sum(sizes):
        return value.split_with_sizes(list(sizes))
    if isinstance(value, tuple | list) and value:
        return list(zip(*(_of_slices(part, sizes) for part in value), strict=True))
    return [value] * len(sizes)


def _borders_of_slices(kwargs: Mapping[str, Any], sizes: Sequence[int], length: int) -> dict[str, Sequence[Any]]:
    """What each slice is told of where its documents begin, as `kwargs` tell it of the batch."""
    told = {name: kwargs[name] for name in _BORDERS if kwargs.get(name) is not None}
    on_host = told.get(_ON_HOST)
    ends = [lines * length for lines in accumulate(sizes, initial=0)]
    return {
        name: [
            _clamped(borders, begin, end) if on_host is None else _within(on_host, begin, end, borders.device)
            for begin, end in pairwise(ends)
        ]
        for name, borders in told.items()
    }


@lru_cache(maxsize=_CUT_BORDERS_KEPT)
def _within(on_host: Tensor, begin: int, end: int, device: torch.device) -> Tensor:
    """The borders from `begin` to `end`, both of which begin a line and so are among them, on `device`.

    All layers of a pass are told the same tensor, which is its own key.
    """
    return to_device(on_host[(on_host >= begin) & (on_host <= end)] - begin, device)


@lru_cache(maxsize=_CUT_BORDERS_KEPT)
def _clamped(borders: Tensor, begin: int, end: int) -> Tensor:
    """The same for borders on the device alone, without waiting to see how many there are: others' are empty."""
    return borders.clamp(begin, end) - begin


def _together(outputs: Sequence[Any], sizes: Sequence[int]) -> Any:
    """The outputs of all slices as those of one batch; tuples part by part."""
    first = outputs[0]
    if isinstance(first, tuple):
        return tuple(_together(parts, sizes) for parts in zip(*outputs, strict=True))
    if first is None:
        return None
    if isinstance(first, Tensor) and first.dim() > 0 and len(first) == sizes[0]:
        return torch.cat(list(outputs))
    raise UserError(f"{KEY}: a layer returns more than something of each line of a batch; set {KEY}: 1.")

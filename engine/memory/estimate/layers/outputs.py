"""What operators return on the meta device, remembered: working out a shape may take torch a millisecond.

A layer calls the same operators with the same shapes again and again: once more where it is computed again, and in each
way to train it.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode

_KEPT = 50_000
"""Calls that are remembered, of a kilobyte each; a layer has about 300, recorded with four batches."""
_VALUES = (bool, int, float, str, torch.dtype, torch.device, torch.layout, torch.memory_format)


@dataclass(frozen=True, slots=True)
class _New:
    """A tensor in memory of its own, on the meta device."""

    shape: tuple[int, ...]
    stride: tuple[int, ...]
    dtype: torch.dtype

    def made(self) -> Tensor:
        return torch.empty_strided(self.shape, self.stride, dtype=self.dtype, device="meta")


class Outputs:
    """Calls operators. Where one was called with such tensors before, and made new ones, these are made at once."""

    def __init__(self) -> None:
        self._known: dict[Hashable, tuple[_New, ...]] = {}
        """By call; empty for one that has to be made each time."""

    def of(self, operator: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """What the operator returns for these arguments, in the same shapes, strides and types, aliases included."""
        if not _makes_new(operator):
            return operator(*args, **kwargs)
        try:
            key = (operator, torch.get_default_dtype(), *_described(args), *_described(kwargs.items()))
        except _NotDescribedError:
            return operator(*args, **kwargs)
        if new := self._known.get(key):
            return new[0].made() if len(new) == 1 else tuple([one.made() for one in new])
        out = operator(*args, **kwargs)
        if new is None:
            if len(self._known) >= _KEPT:
                self._known.clear()
            self._known[key] = _new(out, tensors_in((args, kwargs)))
        return out


class Remembering(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """While it is entered, what runs is asked of `outputs` first."""

    def __init__(self, outputs: Outputs) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._outputs = outputs

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        """Nothing is compiled here, so that torch need not keep its compiler out of every single call."""
        return False

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return self._outputs.of(func, args, kwargs or {})


@cache
def _makes_new(operator: Any) -> bool:
    """Whether its outputs are no views by its own words, nor written in place."""
    schema = operator._schema
    return not schema.is_mutable and all(one.alias_info is None for one in schema.returns)


def tensors_in(value: Any) -> list[Tensor]:
    """The tensors among what an operator takes or returns."""
    found: list[Tensor] = []
    _collect(value, found)
    return found


def _collect(value: Any, found: list[Tensor]) -> None:
    if isinstance(value, Tensor):
        found.append(value)
    elif isinstance(value, (tuple, list)):
        for one in value:
            _collect(one, found)
    elif isinstance(value, dict):
        for one in value.values():
            _collect(one, found)


class _NotDescribedError(Exception):
    """A call with something in it that is neither a plain tensor of the meta device nor a plain value."""


def _described(values: Iterable[Any]) -> Iterator[Hashable]:
    """All on which the shapes of outputs depend. Raises _NotDescribedError."""
    for value in values:
        if isinstance(value, Tensor):
            if type(value) not in (Tensor, nn.Parameter) or value.device.type != "meta":
                raise _NotDescribedError
            yield Tensor, value.shape, value.stride(), value.dtype
        elif isinstance(value, (tuple, list)):
            yield tuple(_described(value))
        elif value is None or isinstance(value, _VALUES):
            yield type(value), value  # True == 1 == 1.0, but not to an operator
        else:
            raise _NotDescribedError


def _new(out: Any, taken: Sequence[Tensor]) -> tuple[_New, ...]:
    """What it takes to make `out` anew; empty where that is not only tensors of the meta device, each
    in plain memory of its own."""
    outputs = (out,) if isinstance(out, Tensor) else out
    if not isinstance(outputs, tuple) or (len(outputs) == 1) != isinstance(out, Tensor):
        return ()
    places = {one.untyped_storage()._cdata for one in taken}
    found = []
    for one in outputs:
        is_plain = type(one) is Tensor and one.device.type == "meta" and not one.storage_offset()
        if not is_plain or one.untyped_storage()._cdata in places:
            return ()
        new = _New(tuple(one.shape), one.stride(), one.dtype)
        if new.made().untyped_storage().nbytes() != one.untyped_storage().nbytes():
            return ()
        places.add(one.untyped_storage()._cdata)
        found.append(new)
    return tuple(found)

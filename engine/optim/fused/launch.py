"""Launches of one kernel again and again, without Triton's search for it each time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from torch import Tensor


class Launch:
    """A kernel with its grid and its constants of compilation, for arguments of the same types each time.

    Triton looks at every argument of every call to find the kernel compiled for such ones, which takes the host longer
    than the launch itself. Here the first call does that, and those that follow go to what it found.
    """

    __slots__ = ("_constants", "_grid", "_kernel", "_options", "_repeat")

    def __init__(self, kernel: Any, programs: int, constants: dict[str, Any], **options: Any) -> None:
        """`constants` are the last parameters of `kernel`, in order; `options` are Triton's, such as num_warps."""
        assert kernel.arg_names[-len(constants) :] == list(constants), kernel.arg_names
        self._kernel = kernel
        self._grid = (programs, 1, 1)
        self._constants = constants
        self._options = options
        self._repeat: Callable[..., None] | None = None

    def __call__(self, *arguments: Any) -> None:
        if self._repeat is not None:
            self._repeat(*arguments, *self._constants.values())
            return
        compiled = self._kernel[self._grid](*arguments, **self._constants, **self._options)
        if compiled is not None:  # the interpreter compiles nothing
            self._repeat = compiled[self._grid]


class Launches:
    """The launches of one kernel by their kind: all that decides about constants, grid and dtypes of arguments."""

    def __init__(self, new: Callable[..., Launch]) -> None:
        """`new` makes the launch of a kind, whose parts are its arguments."""
        self._new = new
        self._kept: dict[tuple[Any, ...], Launch] = {}

    def of(self, kind: tuple[Any, ...], *tensors: Tensor) -> Launch:
        """The launch for tensors that other calls of this kind may have at other addresses.

        Triton compiles other kernels for addresses that are no multiples of 16 bytes. Such launches are not kept.
        """
        for tensor in tensors:
            if tensor.data_ptr() & 15:
                return self._new(*kind)
        launch = self._kept.get(kind)
        if launch is None:
            launch = self._kept[kind] = self._new(*kind)
        return launch

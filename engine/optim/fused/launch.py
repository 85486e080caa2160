"""Launches of one kernel again and again, without Triton's search for it each time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from torch import Tensor


class Launch:
    """A kernel with its grid and its constants of compilation, for arguments of the same kinds each time.

    Triton looks at every argument of every call to find the kernel compiled for such ones, which takes the host longer
    than the launch itself. Here the first call does that, and those that follow go to what it found. So tensors have to
    have the dtypes of the first call's and, where that matters to the kernel, addresses as round (`are_aligned`);
    numbers that change must not be specialised on.
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


def are_aligned(*tensors: Tensor) -> bool:
    """Whether all addresses are multiples of 16 bytes, as Triton distinguishes them."""
    return not any(tensor.data_ptr() & 15 for tensor in tensors)

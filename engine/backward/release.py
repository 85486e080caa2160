"""Gradient release: each weight takes its step inside the backward pass, and its gradient is freed at once.

At its peak a step then holds the gradient of one tensor instead of those of all. The price: the norm over all gradients
is known only after most weights have moved, so nothing may be clipped by it, and whether the step is taken at all has
to be decided before the backward pass (`engine.backward.cut`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Protocol

from torch import Tensor

from engine.backward.norm import GradientNorms


class MovesOneTensor(Protocol):
    """The part of an optimizer that release needs."""

    def update(self, parameter: Tensor, gradient: Tensor, keep: Tensor | None = None) -> None:
        """One parameter's whole step; where `keep` [] is False, weights and state stay as they are."""


class GradientRelease:
    """Hooks on every trained weight, which move it as soon as its gradient is complete.

    A tensor whose gradient is not finite stays as it is, and so does its state; the norm tells of it.
    """

    def __init__(
        self, optimizer: MovesOneTensor, named_parameters: Sequence[tuple[str, Tensor]], norms: GradientNorms
    ) -> None:
        self._optimizer = optimizer
        self._norms = norms
        self._parameters = [parameter for _, parameter in named_parameters]
        self._only_measures = False
        self._hooks = [
            parameter.register_post_accumulate_grad_hook(self.step)  # type: ignore[no-untyped-call]
            for parameter in self._parameters
        ]

    def remove(self) -> None:
        """Take the hooks off."""
        for hook in self._hooks:
            hook.remove()
        self._hooks.clear()

    def step(self, parameter: Tensor) -> None:
        """Move this weight by its complete gradient, and free that."""
        gradient = parameter.grad
        assert gradient is not None
        self._norms.measure(parameter, gradient)
        if not self._only_measures:
            self._optimizer.update(parameter, gradient, keep=self._norms.is_finite(parameter))
        parameter.grad = None

    def step_all(self, parameters: Iterable[Tensor]) -> None:
        """Move those of these weights that hold a gradient."""
        for parameter in parameters:
            if parameter.grad is not None:
                self.step(parameter)

    def step_rest(self) -> None:
        """After the backward pass: move what holds a gradient still, such as a tied head below a frozen body."""
        self.step_all(self._parameters)

    @contextmanager
    def only_measuring(self) -> Iterator[None]:
        """Within, gradients are measured and freed, and no weight moves."""
        self._only_measures = True
        try:
            yield
        finally:
            self._only_measures = False

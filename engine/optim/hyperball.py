"""Hyperball (arXiv 2606.16899): each weight matrix moves on the sphere of the Frobenius norm R that it began with.

    W <- R * N(W - eta * R * N(u)),    N(x) = x / ||x||_F,    R = ||W0||_F of the pretrained weights

with u the update direction of the base optimizer. It takes the place of weight decay on these matrices.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from engine.optim.rules.rule import BLOCK

CONVOLUTIONS = (nn.Conv1d, nn.Conv2d, nn.Conv3d)
EXCLUDED_PARTS = frozenset({"A_log", "dt_bias", "wte", "wpe", "lm_head"})
EXCLUDED_WORDS = ("embed", "norm", "conv")


@dataclass(frozen=True, slots=True)
class Bucket:
    """The matrices `first` to `last` of a parameter, its elements `begin` (a multiple of BLOCK) to `end`."""

    first: int
    last: int
    begin: int
    end: int


class Hyperball:
    """The matrices on spheres, and how far a step turns them.

    `rate` (eta) is for the peak of the schedule, whose learning rate is `peak`. With 0.0 each matrix is calibrated: its
    eta is the step's learning rate times ||u||_F / ||W0||_F of its first update, then the base optimizer's own.
    """

    def __init__(self, matrices: Collection[Tensor], rate: float, peak: float) -> None:
        self._matrices = {id(matrix) for matrix in matrices}
        self._rate = rate
        self._peak = peak

    @property
    def calibrates(self) -> bool:
        """Whether each matrix finds its own rate at its first update."""
        return self._rate == 0.0

    def rate_of_step(self, learning_rate: float) -> float:
        """Eta of a step with this learning rate; what the calibrated rate of each matrix is multiplied by."""
        return learning_rate if self.calibrates else self._rate * learning_rate / self._peak

    def has(self, parameter: Tensor) -> bool:
        """Whether the parameter is one of the matrices, or a stack of them."""
        return id(parameter) in self._matrices

    def new_state(self, parameter: Tensor, limit: int) -> dict[str, Tensor]:
        """Return R and, to be calibrated at the first update, the rate of each matrix: float32 [matrices].

        Calibrated rates are kept for a learning rate of 1; zero stands for none yet.
        """
        weights = parameter.view(-1)
        norms = [_norms(weights[bucket.begin : bucket.end], bucket, limit) for bucket in self.buckets(parameter, limit)]
        radius = torch.cat(norms).float()
        return {"radius": radius, "calibrated_rate": torch.zeros_like(radius)}

    def buckets(self, parameter: Tensor, limit: int) -> Iterator[Bucket]:
        """Yield the matrices in groups of about `limit` elements, larger ones alone, on borders of blocks."""
        size = math.prod(parameter.shape[-2:])
        count = parameter.numel() // size
        together = BLOCK // math.gcd(size, BLOCK)
        together *= max(1, limit // (size * together))
        for first in range(0, count, together):
            last = min(first + together, count)
            yield Bucket(first, last, first * size, last * size)

    def turn(
        self,
        direction: Tensor,
        weights: Tensor,
        bucket: Bucket,
        state: dict[str, Any],
        learning_rate: float,
        limit: int,
        keep: Tensor | None,
    ) -> None:
        """Replace `direction`, -u of the bucket's matrices (float32, flat), by their new weights.

        `weights` is the whole parameter, flat. A matrix of zeros, or one whose direction is zero, keeps its weights.
        """
        matrices = slice(bucket.first, bucket.last)
        radius = state["radius"][matrices].double()
        length = _norms(direction, bucket, limit)
        rate = torch.full_like(length, self.rate_of_step(learning_rate))
        if self.calibrates:
            rate = self._calibrate(state["calibrated_rate"][matrices], length, radius, keep) * rate
        stretch = torch.where((radius > 0) & (length > 0), rate * radius / length, 0.0).float()
        old = weights[bucket.begin : bucket.end]
        for part, start in zip(_parts(direction, bucket, limit), _parts(old, bucket, limit), strict=True):
            part.mul_(stretch[:, None]).add_(start)
        moved_length = _norms(direction, bucket, limit)
        shrink = torch.where((stretch != 0) & (moved_length > 0), radius / moved_length, 1.0).float()
        for part in _parts(direction, bucket, limit):
            part.mul_(shrink[:, None])

    def _calibrate(self, stored: Tensor, length: Tensor, radius: Tensor, keep: Tensor | None) -> Tensor:
        """Fix the rate of each matrix that has none yet and moves now; return all of them as float64."""
        may = (stored == 0) & (radius > 0) & (length > 0)
        if keep is not None:
            may = may & keep
        stored.copy_(torch.where(may, (length / radius).float(), stored))
        return stored.double()


def hyperball_matrices(model: nn.Module) -> tuple[str, ...]:
    """Return the names of the trainable weights that Hyperball keeps on spheres, in the order of the model.

    Those are all matrices, and stacks of matrices, but embeddings, head, norms, convolutions, A_log and dt_bias.
    """
    excluded = _excluded_by_module(model)
    return tuple(
        name
        for name, parameter in model.named_parameters()
        if parameter.requires_grad
        and parameter.ndim >= 2
        and id(parameter) not in excluded
        and not _is_excluded_by_name(name)
    )


def _excluded_by_module(model: nn.Module) -> set[int]:
    """The parameters of embeddings, convolutions and the head, a tied one and a renamed one among them."""
    modules: list[nn.Module] = [
        module for module in model.modules() if isinstance(module, (nn.Embedding, *CONVOLUTIONS))
    ]
    output = getattr(model, "get_output_embeddings", None)
    head = output() if callable(output) else None
    modules += [head] if isinstance(head, nn.Module) else []
    return {id(parameter) for module in modules for parameter in module.parameters()}


def _is_excluded_by_name(name: str) -> bool:
    parts = name.split(".")
    return any(part in EXCLUDED_PARTS or any(word in part.lower() for word in EXCLUDED_WORDS) for part in parts)


def _norms(values: Tensor, bucket: Bucket, limit: int) -> Tensor:
    """Return the Frobenius norm of each of the bucket's matrices, float64 [matrices]: exact enough for any slicing."""
    squares = [
        torch.linalg.vector_norm(part, dim=1, dtype=torch.float64).square() for part in _parts(values, bucket, limit)
    ]
    return torch.stack(squares).sum(0).sqrt()


def _parts(values: Tensor, bucket: Bucket, limit: int) -> Iterator[Tensor]:
    """Yield views [matrices, n] that cover the bucket's flat `values`, of at most about `limit` elements."""
    count = bucket.last - bucket.first
    return iter(torch.split(values.view(count, -1), max(1, limit // count), dim=1))

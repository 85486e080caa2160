"""The longest batch first: a forward and backward pass before any weight moves.

What would run out of memory hours later does so at once, and a weight that no gradient reaches is found before the run
has cost anything. Nothing is left of it: weights, optimizer state, order of the data and random numbers are as before.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from heapq import nlargest, nsmallest

import torch
from torch import Tensor

from engine.backward.cut import differentiate_head, forward_to_cut
from engine.backward.norm import GradientNorms
from engine.backward.release import GradientRelease
from engine.backward.tiled_head import TiledHead
from engine.data import EpochSampler
from engine.data.feeding.batches import Batch
from engine.data.feeding.packing import Pack
from engine.data.feeding.shares import Share
from engine.model.head import LossHead

PASSES_WITH_ACCUMULATION = 2
"""From the second pass of a step on, the gradients of the first are there besides."""


@dataclass(frozen=True, slots=True)
class Rehearsed:
    """The names of trained weights whose gradient is not as it should be."""

    missing: tuple[str, ...]
    not_finite: tuple[str, ...]
    zero: tuple[str, ...]


def longest_packs(sampler: EpochSampler, count: int) -> list[Pack]:
    """Return the `count` packs (without packing: samples) that make the widest batch, the longest first.

    Packs are those of the current epoch. Samples are those of all epochs, as a share that is a part draws others in
    each; one that an epoch draws several times may stand in a batch as often.
    """
    packs = sampler.order if sampler.pack_length is not None else _all_samples(sampler.shares)
    return nlargest(count, packs, key=lambda pack: sum(sampler.lengths[index] for index in pack))


def shortest_samples(sampler: EpochSampler, count: int) -> list[Pack]:
    """Return the `count` samples that make the narrowest batch; none where all batches have one shape.

    The compiler may write another graph for narrow batches than for wide ones.
    """
    if sampler.pack_length is not None or len(set(sampler.lengths)) == 1:
        return []
    return nsmallest(count, _all_samples(sampler.shares), key=lambda sample: sampler.lengths[sample[0]])


def _all_samples(shares: Sequence[Share]) -> Iterator[Pack]:
    return (
        (index,) for share in shares for index in range(share.start, share.stop) for _ in range(math.ceil(share.weight))
    )


def rehearse(
    head: LossHead,
    batch: Batch,
    norms: GradientNorms,
    release: GradientRelease | None,
    *,
    accumulates: bool,
    tiled_head: TiledHead | None = None,
) -> Rehearsed:
    """Go forward and backward with `batch` and drop the gradients. Waits for the device.

    `release` are the hooks of a run that frees gradients at once, `tiled_head` moves the head of one that wants that;
    `accumulates` says that a step has several passes.
    """
    trained = [(name, parameter) for name, parameter in head.model.named_parameters() if parameter.requires_grad]
    norms.forget()
    devices = [head.device] if head.device.type == "cuda" else []
    with torch.random.fork_rng(devices=devices), release.only_measuring() if release else nullcontext():
        for _ in range(PASSES_WITH_ACCUMULATION if accumulates else 1):
            at_cut = differentiate_head(forward_to_cut(head, batch), batch.loss_tokens)
            at_cut.backward()
        _measure_rest(trained, norms, release)
        if tiled_head is not None and at_cut.unmade is not None:
            tiled_head.step(at_cut.unmade, moves=False)
    head.model.zero_grad(set_to_none=True)
    by_name = norms.by_name()
    norms.forget()
    return Rehearsed(
        missing=tuple(name for name, _ in trained if name not in by_name),
        not_finite=tuple(name for name, norm in by_name.items() if not math.isfinite(norm)),
        zero=tuple(name for name, norm in by_name.items() if norm == 0),
    )


def _measure_rest(trained: Sequence[tuple[str, Tensor]], norms: GradientNorms, release: GradientRelease | None) -> None:
    """Measure the gradients that no hook has measured and freed."""
    if release is not None:
        release.step_rest()
        return
    for _, parameter in trained:
        if parameter.grad is not None:
            norms.measure(parameter, parameter.grad)

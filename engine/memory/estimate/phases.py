"""The moments of a training step at which its memory may be highest, and what is on the GPU at each.

The order is that of docs/architecture.md, "A step". Here are only sums; how large the parts are is in `StepBytes`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Protocol

COMPONENTS = (
    "weights",
    "optimizer state",
    "gradients",
    "layer inputs",
    "kept activations",
    "layer at work",
    "loss and logits",
    "buffers",
)
"""The parts of a moment, in the order in which they are told."""
PHASES = ("start of step", "forward", "loss", "backward", "embedding", "optimizer")
INPUTS_WITH_OFFLOAD = 2
"""Layer inputs on the GPU with offload: of the layer that computes, and one on its way (`engine.model.offload`)."""


class LayerLike(Protocol):
    """What one decoder layer holds, as `engine.memory.estimate.layers` counts it."""

    @property
    def kept(self) -> int: ...
    @property
    def forward(self) -> int: ...
    @property
    def backward(self) -> int: ...
    @property
    def gradients(self) -> int: ...


@dataclass(frozen=True, slots=True)
class Worked:
    """What is held for a while, beside what lasts: work space, and gradients of weights."""

    work: int
    gradients: int = 0


@dataclass(frozen=True, slots=True)
class LossBytes:
    """The pass through the head."""

    moments: tuple[Worked, ...]
    """Its moments, of which the highest counts."""
    left: int
    """What stays until the body has gone backward: the gradient at the last hidden state, a tiled head's tokens."""
    gradients: int
    """Gradients of the head's weights that it leaves."""


@dataclass(frozen=True, slots=True)
class StepBytes:
    """All that a step is made of, in bytes."""

    weights: int
    state: int
    buffers: int
    hidden: int
    """One hidden state [B, S, H]."""
    layers: tuple[LayerLike, ...]
    """From the first one on."""
    kept_by_norm: int
    """What the norm above the layers keeps, the last hidden state among it."""
    loss: LossBytes
    embedding: Worked | None
    """The gradient of the embedding; None where it is frozen or its rows alone have one."""
    tiles: Worked | None
    """A tiled head's gradient, tile by tile."""
    update: int
    """What the optimizer holds while it moves a tensor."""
    gradients: int
    """Gradients of all trained weights."""
    releases: bool
    accumulates: bool
    offloads: bool
    keeps_head_gradient: bool
    """With release: whether the head's gradient waits for the embedding's, as those of tied weights do."""
    moves_after_layer: bool
    """With release: whether a layer's gradients come when all else of it is gone, as a compiled layer's do."""
    trained: int = 0
    parameters: int = 0
    """Weights, not bytes."""


@dataclass(frozen=True, slots=True)
class Moment:
    """What is on the GPU at once, bytes by component."""

    phase: str
    parts: Mapping[str, int]

    @property
    def total(self) -> int:
        return sum(self.parts.values())


def highest_by_phase(found: Iterable[Moment]) -> tuple[Moment, ...]:
    """The highest moment of each phase, in the order of the step."""
    highest: dict[str, Moment] = {}
    for moment in found:
        if moment.phase not in highest or moment.total > highest[moment.phase].total:
            highest[moment.phase] = moment
    return tuple(highest[phase] for phase in PHASES if phase in highest)


def moments(step: StepBytes) -> Iterator[Moment]:
    """All moments of a step that may be its highest. With accumulation those of its last pass, which has most."""
    lasting = {"weights": step.weights, "optimizer state": step.state, "buffers": step.buffers}
    before = step.gradients if step.accumulates else 0
    left_before = step.hidden + step.loss.left if step.accumulates else 0
    yield Moment("start of step", lasting)
    yield from _forward(step, lasting, before, left_before)
    yield from _loss(step, lasting, before, left_before)
    yield from _backward(step, lasting, before)
    yield from _after_layers(step, lasting, before)
    if not step.releases:
        parts = {**lasting, "gradients": step.gradients, "buffers": step.buffers + step.update}
        yield Moment("optimizer", parts)


def _forward(step: StepBytes, lasting: Mapping[str, int], before: int, left_before: int) -> Iterator[Moment]:
    kept = 0
    for number, layer in enumerate(step.layers):
        parts = {
            **lasting,
            "gradients": before,
            **_kept(step.hidden * _inputs(step, number + 1), kept),
            "layer at work": layer.forward,
            "loss and logits": left_before,
        }
        yield Moment("forward", parts)
        kept += layer.kept


def _loss(step: StepBytes, lasting: Mapping[str, int], before: int, left_before: int) -> Iterator[Moment]:
    kept = sum(layer.kept for layer in step.layers) + step.kept_by_norm
    for at in step.loss.moments:
        parts = {
            **lasting,
            "gradients": before + at.gradients,
            **_kept(step.hidden * _inputs(step, len(step.layers)), kept),
            "loss and logits": left_before + at.work,
        }
        yield Moment("loss", parts)


def _backward(step: StepBytes, lasting: Mapping[str, int], before: int) -> Iterator[Moment]:
    """Layer by layer from the last one. A layer's own gradients are counted with its work."""
    made = before or _waiting_head(step)
    kept = sum(layer.kept for layer in step.layers)
    for number, layer in reversed(list(enumerate(step.layers))):
        parts = {
            **lasting,
            "gradients": made,
            **_kept(step.hidden * _inputs(step, number + 1), kept),
            "layer at work": _work_backward(step, layer),
            "loss and logits": _left_by_head(step),
        }
        yield Moment("backward", parts)
        kept -= layer.kept
        if not step.releases and not before:
            made += layer.gradients


def _after_layers(step: StepBytes, lasting: Mapping[str, int], before: int) -> Iterator[Moment]:
    """The embedding's gradient, and a tiled head's: no layer holds anything any more."""
    made = _waiting_head(step) if step.releases else before or step.gradients
    for at in (step.embedding, step.tiles):
        if at is None:
            continue
        parts = {
            **lasting,
            "gradients": made + at.gradients,
            "loss and logits": _left_by_head(step) + at.work,
        }
        yield Moment("embedding", parts)


def _kept(inputs: int, kept: int) -> dict[str, int]:
    """Layers that do not need their input for the backward pass keep less than it."""
    return {"layer inputs": inputs + min(kept, 0), "kept activations": max(kept, 0)}


def _waiting_head(step: StepBytes) -> int:
    """The head's gradient during the body's backward pass."""
    return 0 if step.releases and not step.keeps_head_gradient else step.loss.gradients


def _left_by_head(step: StepBytes) -> int:
    """The last hidden state, and what the loss left."""
    return step.hidden + step.loss.left


def _work_backward(step: StepBytes, layer: LayerLike) -> int:
    if not step.releases:
        return layer.backward
    if step.moves_after_layer:
        return max(layer.backward, layer.gradients + step.update)
    return layer.backward + step.update


def _inputs(step: StepBytes, layers: int) -> int:
    """How many layers' inputs are on the GPU while the last of so many goes forward or backward."""
    return min(layers, INPUTS_WITH_OFFLOAD) if step.offloads else layers

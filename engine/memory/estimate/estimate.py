"""What a config's run will take of a GPU's memory, part by part and phase by phase, without that GPU.

Nothing is loaded and nothing allocated: the sizes of weights and optimizer state follow from shapes, what layers hold
from a trace of one layer of each kind (`engine.memory.estimate.layers`), and the rest from how a step goes
(docs/architecture.md). This module imports no torch until an estimate is asked for.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from engine.config import Config
from engine.memory.estimate.assumptions import assumptions
from engine.memory.estimate.phases import COMPONENTS, Moment, highest_by_phase, moments
from engine.memory.estimate.reserve import CONTEXT_GIB, Allocator, StepUse
from engine.units import GIB

if TYPE_CHECKING:
    from engine.memory.estimate.model_shape import ModelShape


@dataclass(frozen=True, slots=True)
class Phase:
    """The highest moment of a part of the step, GiB; `parts` are by component, and sum up to the peak."""

    name: str
    peak_gib: float
    parts: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Estimate:
    """What a step of the longest batch takes. GiB of the GPU's memory."""

    peak_gib: float
    """The most that is allocated at once: torch's `max_memory_allocated`."""
    reserved_gib: float
    """What the allocator takes from the GPU for that: torch's `max_memory_reserved`."""
    total_gib: float
    """`reserved_gib` and what CUDA itself takes: what other programs see."""
    context_gib: float
    phases: tuple[Phase, ...]
    """In the order of the step."""
    decides: str
    """The name of the phase with the highest peak."""
    components: Mapping[str, float]
    """The parts of that phase, in the order of `COMPONENTS`, without those of no size."""
    trained: int
    """Weights that are trained."""
    parameters: int
    """Weights of the model, those that two layers share counted once."""
    assumptions: tuple[str, ...]
    """What the figures rest on, a sentence each."""


def estimate_memory(config: Config, shape: ModelShape) -> Estimate:
    """The memory of a run of `config` on a GPU. Milliseconds, but for the first one of a model or of a way to train it.

    Raises UserError for a model that the config cannot train.
    """
    from engine.memory.estimate.step_bytes import step_bytes  # torch and transformers

    allocator = Allocator.of_environment()
    step = step_bytes(config, shape, allocator)
    phases = tuple(_phase(moment) for moment in highest_by_phase(moments(step)))
    highest = max(phases, key=lambda phase: phase.peak_gib)
    use = StepUse(
        passing_gib=max(
            phase.parts.get("layer at work", 0.0) + phase.parts.get("loss and logits", 0.0) for phase in phases
        ),
        head_gradient_gib=step.loss.gradients / GIB,
        offloads=step.offloads,
        keeps_some=config.train.gradient_checkpointing == "selective",
    )
    reserved = allocator.reserved_gib(highest.peak_gib, use)
    return Estimate(
        peak_gib=highest.peak_gib,
        reserved_gib=reserved,
        total_gib=reserved + CONTEXT_GIB,
        context_gib=CONTEXT_GIB,
        phases=phases,
        decides=highest.name,
        components=highest.parts,
        trained=step.trained,
        parameters=step.parameters,
        assumptions=assumptions(config, step, allocator.sentence(use)),
    )


def _phase(moment: Moment) -> Phase:
    parts = {name: moment.parts[name] / GIB for name in COMPONENTS if moment.parts.get(name)}
    return Phase(moment.phase, sum(parts.values()), parts)

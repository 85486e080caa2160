"""Estimate and measurement side by side."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from engine.profile.measure import Measurement

if TYPE_CHECKING:
    from engine.memory.estimate import Estimate

WEIGHTS, STATE, GRADIENTS = "weights", "optimizer state", "gradients"
HELD = (WEIGHTS, STATE)
"""What is there all the time, and known to the byte."""
BESIDES = "besides, at the peak"
PEAK, RESERVED, CONTEXT = "peak", "reserved", "CUDA context"


@dataclass(frozen=True, slots=True)
class Compared:
    """One part in GiB, as estimated and as measured."""

    name: str
    estimated: float
    measured: float

    @property
    def difference(self) -> float | None:
        """By which share of the measured amount the estimate is too high (above 0) or too low; None of nothing."""
        return self.estimated / self.measured - 1 if self.measured > 0 else None

    def __str__(self) -> str:
        difference = "" if self.difference is None else f"{self.difference:+8.1%}"
        return f"{self.name:<22}{self.estimated:>10.3f}{self.measured:>10.3f}  {difference}".rstrip()


def compare(estimate: Estimate, measured: Measurement) -> tuple[Compared, ...]:
    """Every part that was measured; none of a run for which the memory did not suffice."""
    pairs: list[tuple[str, float, float | None]] = [
        *((name, estimate.components.get(name, 0.0), measured.components.get(name)) for name in HELD),
        (GRADIENTS, _all_gradients(estimate), measured.components.get(GRADIENTS)),
    ]
    if measured.peak_gib is not None:
        held = sum(measured.components.get(name, 0.0) for name in HELD)
        pairs.append((BESIDES, besides(estimate), measured.peak_gib - held))
    pairs += [
        (PEAK, estimate.peak_gib, measured.peak_gib),
        (RESERVED, estimate.reserved_gib, measured.reserved_gib),
        (CONTEXT, estimate.context_gib, measured.context_gib),
    ]
    return tuple(Compared(name, estimated, found) for name, estimated, found in pairs if found is not None)


def besides(estimate: Estimate) -> float:
    """What the estimated peak has beside that which is there all the time, GiB."""
    return estimate.peak_gib - sum(estimate.components.get(name, 0.0) for name in HELD)


def comparison_lines(compared: tuple[Compared, ...]) -> list[str]:
    """A table for people, at most 60 columns wide."""
    header = f"{'GiB':<22}{'estimate':>10}{'measured':>10}  {'off by':>8}"
    return [header, *(str(one) for one in compared)] if compared else []


def sentence(estimate: Estimate, measured: Measurement) -> str:
    """What came of it, for a line of a screen."""
    if not measured.fits:
        return f"measured: does not fit. {measured.reason}"
    if measured.peak_gib is None:
        return "measured without a GPU: there are no figures but those of weights, gradients and optimizer state"
    off = estimate.peak_gib / measured.peak_gib - 1
    judged = f"{abs(off):.1%} {'more' if off > 0 else 'less'} than that" if abs(off) >= 0.0005 else "the same"
    reserved = f"; {measured.reserved_gib:.2f} GiB reserved" if measured.reserved_gib is not None else ""
    return f"measured: {measured.peak_gib:.2f} GiB at the peak{reserved}; the estimate of the peak was {judged}"


def measured_document(estimate: Estimate, measured: Measurement) -> dict[str, Any]:
    """The measurement for programs (docs/json.md)."""
    return {
        "fits": measured.fits,
        "sentence": sentence(estimate, measured),
        "gpu": measured.gpu,
        "driver": measured.driver,
        "torch": measured.torch,
        "peak_gib": measured.peak_gib,
        "reserved_gib": measured.reserved_gib,
        "context_gib": measured.context_gib,
        "components": dict(measured.components),
        "tok_s": measured.tok_s,
        "seconds_per_step": measured.seconds_per_step,
        "tokens_per_step": measured.tokens_per_step,
        "compared": [
            {
                "name": one.name,
                "estimated_gib": one.estimated,
                "measured_gib": one.measured,
                "difference": one.difference,
            }
            for one in compare(estimate, measured)
        ],
        "notes": list(measured.notes),
    }


def _all_gradients(estimate: Estimate) -> float:
    """Those of all trained weights, which are there when the optimizer begins."""
    return next((phase.parts.get(GRADIENTS, 0.0) for phase in estimate.phases if phase.name == "optimizer"), 0.0)

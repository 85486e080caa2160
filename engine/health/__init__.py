"""Detectors that watch a run: spikes, non-finite numbers, flat losses. Standard library only."""

from engine.health.alerts import IncidentLog
from engine.health.climb import ClimbDetector
from engine.health.flat import FlatDetector
from engine.health.nonfinite import NonFinite, find_non_finite
from engine.health.spikes import SpikeDetector, Verdict
from engine.health.symptoms import SYMPTOMS, Symptom, advise
from engine.health.training import Judgement, TrainingHealth

__all__ = [
    "SYMPTOMS",
    "ClimbDetector",
    "FlatDetector",
    "IncidentLog",
    "Judgement",
    "NonFinite",
    "SpikeDetector",
    "Symptom",
    "TrainingHealth",
    "Verdict",
    "advise",
    "find_non_finite",
]

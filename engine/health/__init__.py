"""Detectors that watch a run, one a file, and the table of their alerts. Standard library only."""

from engine.health.advice import advise, as_text, settings_of
from engine.health.alerts import IncidentLog
from engine.health.climb import ClimbDetector
from engine.health.flat import FlatDetector
from engine.health.nonfinite import NonFinite, find_non_finite
from engine.health.spikes import SpikeDetector, Verdict
from engine.health.symptom import Symptom
from engine.health.symptoms import SYMPTOMS
from engine.health.training import JUDGED, Judgement, TrainingHealth
from engine.health.watch import RunWatch

__all__ = [
    "JUDGED",
    "SYMPTOMS",
    "ClimbDetector",
    "FlatDetector",
    "IncidentLog",
    "Judgement",
    "NonFinite",
    "RunWatch",
    "SpikeDetector",
    "Symptom",
    "TrainingHealth",
    "Verdict",
    "advise",
    "as_text",
    "find_non_finite",
    "settings_of",
]

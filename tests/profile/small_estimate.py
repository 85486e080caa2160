"""An estimate with round numbers."""

from __future__ import annotations

from engine.memory.estimate import Estimate, Phase

FORWARD = Phase("forward", 12.5, {"weights": 8.0, "optimizer state": 4.0, "layer at work": 0.5})
BACKWARD = Phase(
    "backward",
    14.0,
    {"weights": 8.0, "optimizer state": 4.0, "gradients": 0.2, "layer inputs": 0.8, "layer at work": 1.0},
)
OPTIMIZER = Phase("optimizer", 13.0, {"weights": 8.0, "optimizer state": 4.0, "gradients": 1.0})
ESTIMATE = Estimate(
    peak_gib=14.0,
    reserved_gib=15.0,
    total_gib=16.0,
    context_gib=1.0,
    phases=(FORWARD, BACKWARD, OPTIMIZER),
    decides="backward",
    components=BACKWARD.parts,
    trained=4_000_000_000,
    parameters=4_000_000_000,
    assumptions=("lines are full",),
)

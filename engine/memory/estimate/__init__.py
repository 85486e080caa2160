"""What a recipe takes of a GPU's memory, before it runs, and without that GPU.

`estimate` is asked. `model_shape` is the model, from config.json and without weights; `step_bytes` puts a step together
from `layers` (a layer of each kind, traced), `loss_bytes`, `optimizer_bytes` and what lies `around_layers`; `phases`
are the moments of that step, `reserve` is what the allocator takes for them, and `assumptions` what it all rests on.
"""

from __future__ import annotations

from engine.memory.estimate.estimate import Estimate, Phase, estimate_memory

__all__ = ["Estimate", "Phase", "estimate_memory"]

"""By which names files of other tools are found; what they are is seen by what stands in them."""

from __future__ import annotations

EVENT_MARK = "tfevents"
"""Part of the name of every event file of TensorBoard."""
STATE_NAME = "trainer_state.json"
"""In the folder of Hugging Face's Trainer, or in those of its checkpoints."""
CHECKPOINT_PREFIX = "checkpoint-"

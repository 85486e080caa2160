"""Checkpoints: complete or absent on the disk, never a bad one over a good one, and exact to continue from."""

from engine.checkpoint.store import CheckpointStore, NotEnoughSpaceError, find_checkpoint
from engine.checkpoint.weights import first_not_finite, saved_bytes

__all__ = ["CheckpointStore", "NotEnoughSpaceError", "find_checkpoint", "first_not_finite", "saved_bytes"]

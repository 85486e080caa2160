"""Checkpoints: complete or absent on the disk, never a bad one over a good one, and exact to continue from."""

from engine.checkpoint.original import NoOriginal, Original, find_original
from engine.checkpoint.store import CheckpointStore, NotEnoughSpaceError, find_checkpoint
from engine.checkpoint.weights import first_not_finite, saved_bytes

__all__ = [
    "CheckpointStore",
    "NoOriginal",
    "NotEnoughSpaceError",
    "Original",
    "find_checkpoint",
    "find_original",
    "first_not_finite",
    "saved_bytes",
]

"""Optimizers, their learning-rate schedules, gradient clipping and exact state."""

"""Checkpoints: complete or absent on the disk, never a bad one over a good one, and exact to continue from.

The store needs no torch, so that a run's folder is opened before that is loaded.
"""

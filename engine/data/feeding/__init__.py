"""Prepared samples on their way to the model: held out, ordered, packed, batched."""

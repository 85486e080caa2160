"""How much of what a GPU can do a run takes."""

from __future__ import annotations

BF16_DATASHEET = 989e12
"""Dense bf16 operations a second of an H100 or H200 SXM, by the vendor's datasheet."""


def utilisation(flops: float | None, tok_s: float, peak: float | None) -> float | None:
    """The share of `peak` (operations a second) that so many tokens a second take."""
    return None if flops is None or not peak else flops * tok_s / peak

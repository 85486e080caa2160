"""The peak of the GPU's memory in each part of a step."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from unittest.mock import patch

import torch
from torch import nn

from engine.backward.cut import AtCut
from engine.units import GIB


class PeakByPart:
    """The peak of memory in each part of one step, GiB; what the host has asked for in a part counts there."""

    def __init__(self, decoder: nn.Module) -> None:
        self._decoder = decoder
        self.ends: list[tuple[float, str]] = []
        """When each part ended, unix microseconds."""
        self._peaks: dict[str, float] = {}
        self._at_begin: dict[str, float] = {}

    def figures(self) -> dict[str, dict[str, float]]:
        return {part: {"at the beginning": self._at_begin[part], "peak": peak} for part, peak in self._peaks.items()}

    @contextmanager
    def reading(self) -> Iterator[PeakByPart]:
        plain_backward = AtCut.backward

        def backward(at_cut: AtCut) -> None:
            self.part_ends("loss head")
            plain_backward(at_cut)
            self.part_ends("backward")

        hooks = [
            self._decoder.register_forward_pre_hook(lambda *_: self.part_ends("before the forward pass")),
            self._decoder.register_forward_hook(lambda *_: self.part_ends("forward")),
        ]
        self.part_begins()
        try:
            with patch.object(AtCut, "backward", backward):
                yield self
        finally:
            self.part_ends("after the backward pass")
            for hook in hooks:
                hook.remove()

    def part_begins(self) -> None:
        self._held = torch.cuda.memory_allocated() / GIB if torch.cuda.is_available() else 0.0
        if torch.cuda.is_available():
            torch.cuda.reset_peak_memory_stats()

    def part_ends(self, part: str) -> None:
        peak = torch.cuda.max_memory_allocated() / GIB if torch.cuda.is_available() else 0.0
        self.ends.append((time.time() * 1e6, part))
        self._at_begin.setdefault(part, self._held)
        self._peaks[part] = max(peak, self._peaks.get(part, 0.0))
        self.part_begins()

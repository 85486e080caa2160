"""The convolution of one DeltaNet layer, forward and backward: our kernels, those of flash-linear-attention, and torch.

    PYTHONPATH=. python tests/bench/convolution.py --out convolution.json         # the layer of Qwen3.5-4B, on a GPU
    PYTHONPATH=. python tests/bench/convolution.py --lines 1 --length 64 --channels 32 --repeats 2    # anywhere

GB/s are those of the bytes that have to move: forward inputs and outputs once, backward inputs and both gradients once.
Ours gives queries, keys and values (a quarter, a quarter and half of the channels) as three tensors; the others one,
which the rule's kernels would have copied once more.
"""

from __future__ import annotations

import argparse
import importlib
import json
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import torch
from torch import Tensor

from engine.model.delta_rule import convolution
from engine.model.delta_rule.documents import places_by_borders
from engine.model.delta_rule.kernels import Borders, kernel_report, own_convolution, own_kernel_convolves
from tests.bench.training.machine import describe_machine
from tests.bench.training.stopwatch import milliseconds

WIDTH = 4
Passes = tuple[Callable[[], object], Callable[[], object]]
"""Forward and backward."""


@dataclass(frozen=True)
class Row:
    """One way, measured."""

    way: str
    documents: int | None
    forward_ms: float
    backward_ms: float
    forward_gb_s: float
    backward_gb_s: float


@dataclass(frozen=True)
class Layer:
    """What the convolution of a layer is given. With borders its lines are one."""

    inputs: Tensor  # [B, T, D]
    gradient: Tensor
    key_width: int
    weight: Tensor  # [D, W]
    borders: Borders
    places: Tensor | None

    @classmethod
    def draw(cls, lines: int, length: int, channels: int, documents: int | None, device: torch.device) -> Layer:
        dtype = torch.bfloat16 if device.type == "cuda" else torch.float32
        shape = (lines, length, channels) if documents is None else (1, lines * length, channels)
        inputs, gradient = (torch.randn(shape, device=device, dtype=dtype) for _ in range(2))
        weight = torch.randn(channels, WIDTH, device=device, dtype=dtype)
        if documents is None:
            return cls(inputs, gradient, channels // 4, weight, Borders(None, None), None)
        on_host = torch.linspace(0, lines * length, lines * documents + 1).to(torch.int32)
        here = on_host.to(device)
        places = places_by_borders(here, lines * length)
        return cls(inputs, gradient, channels // 4, weight, Borders(here, on_host), places)

    def ways(self) -> dict[str, Passes]:
        """Those that run here."""
        inputs, weight, above = self.inputs, self.weight, self.gradient
        found: dict[str, Passes] = {}
        if own_kernel_convolves(inputs, weight):
            own = own_convolution()
            widths = (self.key_width, self.key_width, inputs.shape[2] - 2 * self.key_width)
            above_each = [one.contiguous() for one in above.split_with_sizes(widths, dim=-1)]
            found["ours"] = (
                lambda: own.forward(inputs, weight, self.key_width, self.places),
                lambda: own.backward(*above_each, inputs, weight, self.places),
            )
        if inputs.device.type == "cuda" and kernel_report(inputs.device).usable:
            given: dict[str, Any] = {
                "x": inputs,
                "weight": weight,
                "bias": None,
                "residual": None,
                "activation": "silu",
            }
            given |= {"activation": "silu", "cu_seqlens": self.borders.here, "cu_seqlens_cpu": self.borders.on_host}
            found["flash-linear-attention"] = (
                lambda: _of_library().causal_conv1d_fwd(**given),
                lambda: _of_library().causal_conv1d_bwd(dy=above, dht=None, **given),
            )
        found["torch"] = (
            lambda: convolution.forward(inputs, weight, self.borders.on_host),
            lambda: convolution.backward(above, inputs, weight, self.borders.on_host),
        )
        return found

    def rows(self, documents: int | None, repeats: int) -> list[Row]:
        bytes_of_one = self.inputs.numel() * self.inputs.element_size()
        rows = []
        for name, (forward, backward) in self.ways().items():
            forward_ms = milliseconds(forward, self.inputs.device, repeats)
            backward_ms = milliseconds(backward, self.inputs.device, repeats)
            speeds = (2 * bytes_of_one / forward_ms / 1e6, 3 * bytes_of_one / backward_ms / 1e6)
            rows.append(Row(name, documents, forward_ms, backward_ms, *speeds))
        return rows


def _of_library() -> ModuleType:
    """flash-linear-attention's convolution, with which ours is compared."""
    return importlib.import_module("fla.modules.causal_conv1d")


def main() -> None:
    arguments = _arguments()
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    torch.manual_seed(0)
    rows: list[Row] = []
    for documents in (None, arguments.documents):
        layer = Layer.draw(arguments.lines, arguments.length, arguments.channels, documents, device)
        rows += layer.rows(documents, arguments.repeats)
    for row in rows:
        packed = "a line one document" if row.documents is None else f"{row.documents} documents a line"
        print(
            f"{row.way:>24}, {packed:>20}: forward {row.forward_ms:7.3f} ms ({row.forward_gb_s:6.0f} GB/s), "
            f"backward {row.backward_ms:7.3f} ms ({row.backward_gb_s:6.0f} GB/s)"
        )
    if arguments.out:
        shape = {name: getattr(arguments, name) for name in ("lines", "length", "channels")}
        done = {"machine": describe_machine(), "shape": shape, "rows": [asdict(row) for row in rows]}
        arguments.out.write_text(json.dumps(done, indent=2) + "\n")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--lines", type=int, default=4)
    parser.add_argument("--length", type=int, default=4096)
    parser.add_argument("--channels", type=int, default=8192)
    parser.add_argument("--documents", type=int, default=4, help="in each line")
    parser.add_argument("--repeats", type=int, default=20)
    parser.add_argument("--out", type=Path)
    return parser.parse_args()


if __name__ == "__main__":
    main()

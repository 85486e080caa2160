"""Attention of one layer, forward and backward, in each kernel that might run it: whole lines, and packs of documents.

    PYTHONPATH=. python tests/bench/attention.py --out attention.json   # the layer of Qwen3.5-4B, on a GPU
    PYTHONPATH=. python tests/bench/attention.py --shapes 1x32 --heads 2 --key-heads 1 --width 8  # anywhere

A way that cannot run here says why.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.attention.flex_attention import create_block_mask, flex_attention

from engine.model.attention.interface import CUDNN_FIRST
from engine.model.attention.operator import document_attention
from tests.bench.training.machine import describe_machine
from tests.bench.training.stopwatch import milliseconds, why_not

Forward = Callable[[Tensor, Tensor, Tensor], Tensor]
"""query [B, HQ, S, E], key and value [B, HK, S, E] -> outputs of any layout."""
KERNELS = {
    "cuDNN": SDPBackend.CUDNN_ATTENTION,
    "flash": SDPBackend.FLASH_ATTENTION,
    "memory-efficient": SDPBackend.EFFICIENT_ATTENTION,
}


@dataclass(frozen=True)
class Row:
    """One way, measured, or why it was not."""

    shape: str
    documents: int | None
    way: str
    milliseconds: float | None
    why_not: str | None


@dataclass(frozen=True)
class Documents:
    """Documents of like length in each line."""

    lines: int
    length: int
    count: int
    device: torch.device

    def cu_seqlens(self) -> Tensor:
        return torch.linspace(0, self.lines * self.length, self.lines * self.count + 1).to(self.device, torch.int32)

    def number_of(self) -> Tensor:
        """int64 [B, S]: the document of each token."""
        tokens = torch.arange(self.lines * self.length, dtype=torch.int32, device=self.device)
        return torch.searchsorted(self.cu_seqlens(), tokens, right=True).view(self.lines, self.length)

    def mask(self) -> Tensor:
        """bool [B, 1, S, S]"""
        number = self.number_of()
        return (number[:, None, :, None] == number[:, None, None, :]).tril()


def whole_lines() -> dict[str, Forward]:
    found: dict[str, Forward] = {}
    for name, kernel in KERNELS.items():
        found[f"{name}, key heads shared"] = by_torch([kernel], shared=True)
        found[f"{name}, key heads repeated"] = by_torch([kernel], shared=False)
    found["torch's own choice"] = by_torch(None, shared=True)
    found["cuDNN first, then what applies"] = by_torch(CUDNN_FIRST, shared=True)
    return found


def packs(documents: Documents) -> dict[str, Forward]:
    mask, borders = documents.mask(), documents.cu_seqlens()
    found: dict[str, Forward] = {
        f"{name} with a mask": by_torch([kernel], shared=False, mask=mask) for name, kernel in KERNELS.items()
    }

    def by_documents(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        joined = (one.transpose(1, 2).flatten(0, 1) for one in (query, key, value))
        outputs: Tensor = document_attention(*joined, borders, documents.length, query.shape[-1] ** -0.5)[0]
        return outputs

    found["by documents"] = by_documents
    if documents.device.type == "cuda":
        found["flex, compiled"] = by_flex(documents)
    return found


def by_torch(kernels: list[SDPBackend] | None, *, shared: bool, mask: Tensor | None = None) -> Forward:
    def forward(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        if not shared:
            key, value = (one.repeat_interleave(query.shape[1] // one.shape[1], dim=1) for one in (key, value))
        options: dict[str, Any] = {"attn_mask": mask, "is_causal": mask is None, "enable_gqa": shared}
        if kernels is None:
            return F.scaled_dot_product_attention(query, key, value, **options)
        with sdpa_kernel(kernels, set_priority=True):
            return F.scaled_dot_product_attention(query, key, value, **options)

    return forward


@cache
def _compiled_flex() -> Any:
    return torch.compile(flex_attention, dynamic=False)


def by_flex(documents: Documents) -> Forward:
    number = documents.number_of()

    def sees(line: Tensor, _head: Tensor, query: Tensor, key: Tensor) -> Tensor:
        return (query >= key) & (number[line, query] == number[line, key])

    blocks = create_block_mask(sees, documents.lines, None, documents.length, documents.length, str(documents.device))

    def forward(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        outputs: Tensor = _compiled_flex()(query, key, value, block_mask=blocks, enable_gqa=True)
        return outputs

    return forward


def main() -> None:
    arguments = _arguments()
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    dtype = torch.bfloat16 if device.type == "cuda" else torch.float32
    torch.manual_seed(0)
    rows: list[Row] = []
    for shape in arguments.shapes:
        lines, length = map(int, shape.split("x"))
        counts = (arguments.heads, arguments.key_heads, arguments.key_heads)
        inputs = [  # in memory as projections make them, [B, S, H, E]
            torch.randn(lines, length, count, arguments.width, device=device, dtype=dtype).transpose(1, 2)
            for count in counts
        ]
        for one in inputs:
            one.requires_grad_()
        for documents in (None, arguments.documents):
            known = None if documents is None else Documents(lines, length, documents, device)
            for way, forward in (whole_lines() if known is None else packs(known)).items():
                rows.append(_measured(Row(shape, documents, way, None, None), forward, inputs, arguments.repeats))
                _tell(rows[-1])
    if arguments.out:
        done = {"machine": describe_machine(), "rows": [asdict(row) for row in rows]}
        arguments.out.write_text(json.dumps(done, indent=2) + "\n")


def _measured(row: Row, forward: Forward, inputs: list[Tensor], repeats: int) -> Row:
    def step() -> Any:
        outputs = forward(*inputs)
        return torch.autograd.grad(outputs, inputs, torch.ones_like(outputs))

    reason = why_not(step)
    if reason is not None:
        return Row(row.shape, row.documents, row.way, None, reason)
    return Row(row.shape, row.documents, row.way, milliseconds(step, inputs[0].device, repeats), None)


def _tell(row: Row) -> None:
    packed = "a line one document" if row.documents is None else f"{row.documents} documents a line"
    found = f"not here: {row.why_not}" if row.milliseconds is None else f"{row.milliseconds:8.3f} ms"
    print(f"{row.shape:>8}, {packed:>20}, {row.way:>36}: {found}")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--shapes", nargs="+", default=["4x4096", "2x2048"], help="lines x tokens in each")
    parser.add_argument("--heads", type=int, default=16)
    parser.add_argument("--key-heads", type=int, default=4)
    parser.add_argument("--width", type=int, default=256)
    parser.add_argument("--documents", type=int, default=4, help="in each line")
    parser.add_argument("--repeats", type=int, default=20)
    parser.add_argument("--out", type=Path)
    return parser.parse_args()


if __name__ == "__main__":
    main()

"""Time, memory and error of the ways to the loss of a head and its gradients, forward and backward, on random inputs.

    PYTHONPATH=. python tests/bench/loss_paths.py --out loss.json                     # the head of Qwen3.5-4B, on a GPU
    PYTHONPATH=. python tests/bench/loss_paths.py --tokens 64 --width 32 --vocabulary 999 --chunks 16   # anywhere

Ways: ours with torch's operations or with the kernel, the weight's gradient by tiles or by a float32 sum; ours with a
frozen head; ours as a tiled head makes it (each tile's gradient is dropped, as after its update); Liger's fused loss;
`F.linear_cross_entropy` of torch 2.13. Peak is what is allocated above the inputs, results included. Errors are norms
of differences divided by norms, against float64, for up to 4,096 tokens.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from unittest.mock import patch

import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor

from engine.loss import chunked, chunked_cross_entropy, cross_entropy_and_tokens, softmax_torch
from tests.bench.training.machine import describe_machine

GIB = 1024**3
MOST_TOKENS_IN_FLOAT64 = 4096
Gradients = tuple[Tensor, Tensor | None, Tensor | None]
"""Loss, gradient of the hidden states, gradient of the weight."""
Way = Callable[[Tensor, Tensor, Tensor], Gradients]


@dataclass(frozen=True)
class Row:
    """One way, measured."""

    way: str
    tokens: int
    chunk: int | None
    milliseconds: float
    peak_gib: float | None
    loss_error: float | None = None
    hidden_error: float | None = None
    weight_error: float | None = None


def ours(chunk: int, *, adds_up: bool, trains_head: bool = True) -> Way:
    """Our chunked loss, with the weight's gradient added up over chunks or made by tiles."""

    def way(hidden: Tensor, weight: Tensor, labels: Tensor) -> Gradients:
        with patch.object(chunked, "_adds_up", lambda *_: adds_up):
            used = weight if trains_head else weight.detach()
            loss = chunked_cross_entropy(hidden, used, labels, chunk)
            wanted = (hidden, weight) if trains_head else (hidden,)
            by_hidden, *by_weight = torch.autograd.grad(loss / len(labels), wanted)
        return loss.detach(), by_hidden, by_weight[0] if by_weight else None

    return way


def tiled(chunk: int, *, keeps: bool = False) -> Way:
    """The passes of a tiled head; `keeps` puts its tiles together, for their error."""

    def way(hidden: Tensor, weight: Tensor, labels: Tensor) -> Gradients:
        loss, tokens = cross_entropy_and_tokens(hidden, weight, labels, chunk)
        [by_hidden] = torch.autograd.grad(loss / len(labels), (hidden,))
        factor, tiles = torch.ones_like(loss) / len(labels), []
        with torch.no_grad():
            for begin, end in tokens.tiles():
                tile = tokens.weight_gradient(begin, end, factor)
                if keeps:
                    tiles.append(tile)
                del tile
        return loss.detach(), by_hidden, torch.cat(tiles) if keeps else None

    return way


def liger(accumulates_in: torch.dtype | None) -> Way:
    """Liger's fused loss, which chooses its own chunks."""
    fused = import_module("liger_kernel.transformers.functional").liger_fused_linear_cross_entropy

    def way(hidden: Tensor, weight: Tensor, labels: Tensor) -> Gradients:
        targets = labels.to(hidden.device)
        loss = fused(hidden, weight, targets, reduction="sum", accum_dtype=accumulates_in)
        by_hidden, by_weight = torch.autograd.grad(loss / len(labels), (hidden, weight))
        return loss.detach(), by_hidden, by_weight

    return way


def torchs(**options: Any) -> Way:
    """torch's own chunked loss."""
    chosen = torch.nn.LinearCrossEntropyOptions(**options)

    def way(hidden: Tensor, weight: Tensor, labels: Tensor) -> Gradients:
        targets = labels.to(hidden.device)
        loss = F.linear_cross_entropy(hidden, weight, targets, reduction="sum", options=chosen)
        by_hidden, by_weight = torch.autograd.grad(loss / len(labels), (hidden, weight))
        return loss.detach(), by_hidden, by_weight

    return way


@contextmanager
def without_kernel() -> Iterator[None]:
    """Within, softmax is torch's on every device."""
    with patch("engine.loss.passes.softmax_for", lambda tensor: softmax_torch):
        yield


def ways(chunks: list[int], device: torch.device) -> Iterator[tuple[str, int | None, Way]]:
    """All that can be run here: name, tokens in a chunk, and the way."""
    has_kernel = device.type == "cuda" and find_spec("triton") is not None
    for chunk in chunks:
        yield "ours, torch, tiles", chunk, _without_kernel(ours(chunk, adds_up=False))
        if has_kernel:
            yield "ours, kernel, tiles", chunk, ours(chunk, adds_up=False)
            yield "ours, kernel, sum", chunk, ours(chunk, adds_up=True)
            yield "ours, kernel, frozen head", chunk, ours(chunk, adds_up=False, trains_head=False)
        else:
            yield "ours, torch, sum", chunk, ours(chunk, adds_up=True)
        yield "ours, tiled head", chunk, tiled(chunk)
    yield "ours, tiled head, tiles kept", chunks[-1], tiled(chunks[-1], keeps=True)
    if device.type == "cuda" and find_spec("liger_kernel") is not None:
        yield "Liger", None, liger(None)
        yield "Liger, float32 sum", None, liger(torch.float32)
    if hasattr(F, "linear_cross_entropy"):
        yield "torch linear_cross_entropy", None, torchs()
        yield "torch linear_cross_entropy, float32 sum", None, torchs(acc_policy="accurate", acc_dtype=torch.float32)


def _without_kernel(way: Way) -> Way:
    def plain(*inputs: Tensor) -> Gradients:
        with without_kernel():
            return way(*inputs)

    return plain


def in_float64(hidden: Tensor, weight: Tensor, labels: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """What is true, from full logits of 256 tokens at a time."""
    states, exact = (one.detach().double().requires_grad_() for one in (hidden, weight))
    targets, loss = labels.to(hidden.device), hidden.new_zeros((), dtype=torch.float64)
    for some, theirs in zip(torch.split(states, 256), torch.split(targets, 256), strict=True):
        part = F.cross_entropy(some @ exact.T, theirs, reduction="sum")
        torch.autograd.backward(part / len(labels))
        loss += part.detach()
    assert states.grad is not None and exact.grad is not None
    return loss, states.grad, exact.grad


def measure(way: Way, inputs: tuple[Tensor, Tensor, Tensor], repeats: int) -> tuple[float, float | None, Gradients]:
    """The median of milliseconds, the peak in GiB above the inputs, and the gradients."""
    on_gpu = inputs[0].is_cuda
    found = way(*inputs)
    peak = None
    if on_gpu:
        del found
        torch.cuda.synchronize()
        before = torch.cuda.memory_allocated()
        torch.cuda.reset_peak_memory_stats()
        found = way(*inputs)
        peak = (torch.cuda.max_memory_allocated() - before) / GIB
    lengths = []
    for _ in range(repeats):
        if on_gpu:
            torch.cuda.synchronize()
        begin = time.perf_counter()
        way(*inputs)
        if on_gpu:
            torch.cuda.synchronize()
        lengths.append(1000 * (time.perf_counter() - begin))
    return statistics.median(lengths), peak, found


def errors(found: Gradients, exact: Gradients | None) -> dict[str, float]:
    if exact is None:
        return {}
    names = ("loss_error", "hidden_error", "weight_error")
    return {
        name: float((ours.double() - true).norm() / true.norm())
        for name, ours, true in zip(names, found, exact, strict=True)
        if ours is not None and true is not None
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tokens", type=int, nargs="+", default=[4096, 16384])
    parser.add_argument("--chunks", type=int, nargs="+", default=[256, 512, 1024, 2048, 4096])
    parser.add_argument("--width", type=int, default=2560)
    parser.add_argument("--vocabulary", type=int, default=248_320)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--only", default="", help="of the ways whose name has this in it")
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    rows: list[Row] = []
    for tokens in options.tokens:
        generator = torch.Generator(device).manual_seed(0)
        shapes = ((tokens, options.width), (options.vocabulary, options.width))
        hidden, weight = (torch.randn(shape, generator=generator, device=device) for shape in shapes)
        weight.mul_(options.width**-0.5)
        hidden, weight = (one.bfloat16().requires_grad_() for one in (hidden, weight))
        inputs = (hidden, weight, torch.randint(options.vocabulary, (tokens,)))
        exact = in_float64(*inputs) if tokens <= MOST_TOKENS_IN_FLOAT64 else None
        for name, chunk, way in ways(options.chunks, device):
            if options.only not in name:
                continue
            try:
                milliseconds, peak, found = measure(way, inputs, options.repeats)
                rows.append(Row(name, tokens, chunk, milliseconds, peak, **errors(found, exact)))
                del found
            except torch.OutOfMemoryError:
                print(f"{name}, {tokens} tokens, chunks of {chunk}: out of memory")
                continue
            print(_line(rows[-1]), flush=True)
            if options.out is not None:
                told = {"machine": describe_machine(), "options": vars(options) | {"out": None}}
                options.out.write_text(json.dumps(told | {"rows": [asdict(row) for row in rows]}, indent=1))


def _line(row: Row) -> str:
    numbers = [f"{row.milliseconds:9.2f} ms", "" if row.peak_gib is None else f"{row.peak_gib:6.3f} GiB"]
    numbers += [
        f"{name} {getattr(row, name):.1e}"
        for name in ("loss_error", "hidden_error", "weight_error")
        if getattr(row, name) is not None
    ]
    return f"{row.way:38} T={row.tokens:<6} chunk={row.chunk or '-':<5} " + "  ".join(numbers)


if __name__ == "__main__":
    main()

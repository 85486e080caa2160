"""Time, bytes a second, launches and exactness of one step of Lion over bfloat16 weights, by several ways.

    PYTHONPATH=. python tests/bench/optimizer_kernel.py --out optimizer.json      # matrices of Qwen3.5-4B, on a GPU
    PYTHONPATH=. python tests/bench/optimizer_kernel.py --numel 8192 --tensors 2  # anywhere, interpreted

Ways: ours with the Triton kernel, with the gradient's norm before it (as under gradient release), with Hyperball, and
with torch and bitsandbytes slice by slice; bitsandbytes' own Lion8bit, which rounds to the nearest number; FlashLion
of flashoptim where it is installed. Bytes are the fewest that 8-bit Lion can move: gradient and weight of 2 bytes,
state of 1 and its scales read, weight, state and scales written. Before that both of our ways take the same steps, and
the share of weights, state and scales that differ is told: on a GPU it should be 0.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import asdict, dataclass
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from unittest.mock import patch

import torch
from torch import Tensor

from engine.backward.norm import GradientNorms
from engine.config.schema import Train
from engine.optim.build import build_optimizer
from engine.optim.tensor_optimizer import TensorOptimizer
from tests.bench.training.machine import describe_machine

RATE, DECAY = 1e-5, 0.1
BYTES = 2 + 2 + 2 + 2 * (1 + 4 / 256)
"""Moved for each weight, at the least."""
PARITY_STEPS = 10
Step = Callable[[], None]


@dataclass(frozen=True)
class Row:
    """One way, measured over all tensors."""

    way: str
    milliseconds: float
    seconds_for_1e9_weights: float
    gb_a_second: float
    launches_a_tensor: float | None = None


@dataclass(frozen=True)
class Parity:
    """Shares that differ between the kernel and torch after some steps from the same start."""

    case: str
    weights: float
    state: float
    scales: float


def main() -> None:
    arguments = read_arguments()
    on_gpu = torch.cuda.is_available()
    if not on_gpu:
        os.environ["TRITON_INTERPRET"] = "1"  # before Triton is imported
        torch.set_num_threads(1)
    device = torch.device("cuda" if on_gpu else "cpu")
    with nullcontext() if on_gpu else kernels_everywhere():
        parities = [parity(on_sphere, arguments.numel, device) for on_sphere in (False, True)]
        for found in parities:
            print(f"{found.case}: differing weights {found.weights:.2e}, state {found.state:.2e}, ", end="")
            print(f"scales {found.scales:.2e}")
        rows = []
        for name, make in (ways() | (sweep() if arguments.sweep else {})).items():
            named = tensors(arguments.numel, arguments.tensors, device)
            row = measured(name, make(named), named, arguments.rounds, on_gpu)
            rows.append(row)
            print(
                f"{row.way:48} {row.milliseconds:9.3f} ms  {1e3 * row.seconds_for_1e9_weights:8.2f} ms / 1e9 weights  ",
                end="",
            )
            print(f"{row.gb_a_second:7.0f} GB/s  {row.launches_a_tensor} launches a tensor")
    if arguments.out is not None:
        content = {"machine": describe_machine(), "numel": arguments.numel, "tensors": arguments.tensors}
        content |= {"parity": [asdict(one) for one in parities], "rows": [asdict(one) for one in rows]}
        arguments.out.write_text(json.dumps(content, indent=2) + "\n")


def read_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--numel", type=int, default=9216 * 2560, help="weights of a tensor, a multiple of 64")
    parser.add_argument("--tensors", type=int, default=16, help="so many that no cache holds them")
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--sweep", action="store_true", help="the kernel with other tiles and numbers of warps too")
    parser.add_argument("--out", type=Path)
    return parser.parse_args()


@contextmanager
def kernels_everywhere() -> Iterator[None]:
    with (
        patch("engine.optim.tensor_optimizer.triton_on", lambda device: True),
        patch("engine.backward.norm.triton_on", lambda device: True),
    ):
        yield


def tensors(numel: int, count: int, device: torch.device) -> list[tuple[str, Tensor]]:
    """Parameters [numel / 64, 64] with a gradient each."""
    named: list[tuple[str, Tensor]] = []
    for number in range(count):
        parameter = torch.nn.Parameter(torch.randn(numel // 64, 64, device=device).mul_(0.02).bfloat16())
        parameter.grad = torch.randn_like(parameter).mul_(1e-3)
        named.append((f"layers.{number}.proj.weight", parameter))
    return named


def optimizer_of(named: list[tuple[str, Tensor]], *, by_kernel: bool, on_sphere: bool = False) -> TensorOptimizer:
    train = Train(
        optimizer="lion8bit", learning_rate=RATE, weight_decay=DECAY, stochastic_rounding=True, hyperball=on_sphere
    )
    optimizer = build_optimizer(named, train, [name for name, _ in named] if on_sphere else [])
    if not by_kernel:
        optimizer._fused = None
    optimizer.allocate_state()
    return optimizer


def ours(*, by_kernel: bool, on_sphere: bool = False, measures: bool = False) -> Callable[..., Step]:
    def make(named: list[tuple[str, Tensor]]) -> Step:
        optimizer, norms = optimizer_of(named, by_kernel=by_kernel, on_sphere=on_sphere), GradientNorms(named)

        def step() -> None:
            optimizer.begin_step(1, RATE)
            norms.forget()
            for _, parameter in named:
                keep = None
                if measures:
                    assert parameter.grad is not None
                    norms.measure(parameter, parameter.grad)
                    keep = norms.is_finite(parameter)
                assert parameter.grad is not None
                optimizer.update(parameter, parameter.grad, keep)
            optimizer.movement()

        return step

    return make


def library(module: str, name: str) -> Callable[..., Step]:
    """An optimizer of another library, at the same settings."""

    def make(named: list[tuple[str, Tensor]]) -> Step:
        kind: Any = getattr(import_module(module), name)
        optimizer = kind([parameter for _, parameter in named], lr=RATE, weight_decay=DECAY)
        return lambda: optimizer.step()

    return make


def ways() -> dict[str, Callable[..., Step]]:
    found = {
        "kernel": ours(by_kernel=True),
        "kernel, norm before": ours(by_kernel=True, measures=True),
        "kernel, Hyperball": ours(by_kernel=True, on_sphere=True),
        "torch and bitsandbytes, slice by slice": ours(by_kernel=False),
        "bitsandbytes Lion8bit (to the nearest number)": library("bitsandbytes.optim", "Lion8bit"),
    }
    if find_spec("flashoptim") is not None:
        found["flashoptim FlashLion"] = library("flashoptim", "FlashLion")
    return found


def sweep() -> dict[str, Callable[..., Step]]:
    """The kernel with other constants of compilation than those that it has in runs."""

    def with_constants(tile: int, warps: int) -> Callable[..., Step]:
        def make(named: list[tuple[str, Tensor]]) -> Step:
            step = ours(by_kernel=True)(named)

            def patched() -> None:
                with patch.multiple("engine.optim.fused.fused_lion", TILE=tile, WARPS=warps):
                    step()

            return patched

        return make

    sizes = [(1024, 4), (2048, 4), (4096, 4), (4096, 16), (8192, 8), (8192, 16), (16384, 16)]
    return {f"kernel, tiles of {tile}, {warps} warps": with_constants(tile, warps) for tile, warps in sizes}


def measured(way: str, step: Step, named: list[tuple[str, Tensor]], rounds: int, on_gpu: bool) -> Row:
    weights = sum(parameter.numel() for _, parameter in named)
    for _ in range(2):
        step()
    seconds = []
    for _ in range(rounds):
        begin = moment(on_gpu)
        step()
        seconds.append(moment(on_gpu) - begin)
    each = statistics.median(seconds)
    launches = launches_of(step) / len(named) if on_gpu else None
    return Row(way, 1e3 * each, each * 1e9 / weights, BYTES * weights / each / 1e9, launches)


def moment(on_gpu: bool) -> float:
    if on_gpu:
        torch.cuda.synchronize()
    return time.perf_counter()


def launches_of(step: Step) -> int:
    """Kernels and other operations on the GPU in one step."""
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as profile:
        step()
        torch.cuda.synchronize()
    return sum(str(event.device_type) == "DeviceType.CUDA" for event in profile.events() or ())


def parity(on_sphere: bool, numel: int, device: torch.device) -> Parity:
    """Both ways from the same start, step by step with the same gradients."""
    torch.manual_seed(0)
    named = tensors(min(numel, 9216 * 256), 1, device)
    twins: list[tuple[str, Tensor]] = [(name, torch.nn.Parameter(one.detach().clone())) for name, one in named]
    both = [
        optimizer_of(named, by_kernel=True, on_sphere=on_sphere),
        optimizer_of(twins, by_kernel=False, on_sphere=on_sphere),
    ]
    keep = torch.tensor(True, device=device)
    for step in range(1, PARITY_STEPS + 1):
        gradient = torch.randn_like(named[0][1]) * 10.0**-step
        gradient.view(-1)[: 256 * step] = 0
        for optimizer, (_, parameter) in zip(both, (*named, *twins), strict=True):
            optimizer.begin_step(step, RATE)
            optimizer.update(parameter, gradient, keep if step % 2 else None)
    pairs = [(named[0][1], twins[0][1])]
    pairs += [(both[0].state[named[0][1]][key], both[1].state[twins[0][1]][key]) for key in ("state1", "absmax1")]
    shares = [float((one != other).float().mean()) for one, other in pairs]
    return Parity("Hyperball" if on_sphere else "Lion", *shares)


if __name__ == "__main__":
    main()

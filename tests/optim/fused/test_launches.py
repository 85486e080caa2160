"""Launches that go straight to a kernel go to the one that Triton would have found, whatever changes between steps.

Triton's own search runs here for every launch, for an H100 or H200 that is not there; nothing is compiled or launched.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

import pytest
import torch
from torch import Tensor

from engine.backward.norm import GradientNorms
from engine.config.schema import Train
from engine.optim.build import build_optimizer
from engine.optim.fused.launch import Launch

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the package triton has no build for this machine")
DEVICE = 1000
"""The number of the GPU that is not there."""
SHAPES = ((1,), (7,), (16,), (4096,), (5001,), (64, 64), (48, 100), (300, 4096), (301, 4097))
RATES = (1e-3, 0.0, 1.0, 3e-5, 1e-3)


class NoKernel:
    """What Triton gets in place of a compiled kernel; it says that it cannot be launched by itself."""

    def launch_metadata(self, *_: Any) -> None: ...

    function = packed_metadata = None
    run = staticmethod(lambda *_: None)

    def __getitem__(self, grid: tuple[int, ...]) -> None:
        return None


Found = dict[int, set[str]]
"""For each launch, by its id, the kernels that Triton wanted."""


@pytest.fixture
def found(monkeypatch: pytest.MonkeyPatch) -> Iterator[Found]:
    from triton.backends.compiler import GPUTarget
    from triton.runtime import driver
    from triton.runtime.jit import JITFunction

    from engine.backward.norm_kernels import norm_kernel
    from engine.optim.fused.hyperball_kernels import direction_kernel, turn_kernel
    from engine.optim.fused.lion_kernel import lion_kernel

    gpu = SimpleNamespace(
        get_current_target=lambda: GPUTarget("cuda", 90, 32),
        get_current_device=lambda: DEVICE,
        get_current_stream=lambda device: 0,
    )
    kernels: Found = defaultdict(set)
    launched: list[Launch] = []

    def compile_nothing(kernel: Any, key: str, *_: Any, **__: Any) -> NoKernel:
        kernels[id(launched[-1])].add(f"{kernel.__name__} {key}")
        return NoKernel()

    real_call = Launch.__call__

    def call(launch: Launch, *arguments: Any) -> None:
        launched.append(launch)  # kept, so that no other gets its id
        real_call(launch, *arguments)

    for place in ("engine.optim.tensor_optimizer", "engine.backward.norm"):
        monkeypatch.setattr(f"{place}.triton_on", lambda device: True)
    monkeypatch.setattr(JITFunction, "_do_compile", compile_nothing)
    monkeypatch.setattr(Launch, "__call__", call)
    with patch.object(type(driver), "active", gpu):
        yield kernels
    for jitted in (norm_kernel, lion_kernel, direction_kernel, turn_kernel):
        jitted.device_caches.pop(DEVICE, None)


def weights(*shapes: tuple[int, ...]) -> list[tuple[str, Tensor]]:
    tensors = [torch.nn.Parameter(torch.ones(shape, dtype=torch.bfloat16)) for shape in shapes]
    return [(f"{place}.proj.weight", tensor) for place, tensor in enumerate(tensors)]


@pytest.mark.parametrize("on_spheres", [False, True])
def test_each_launch_needs_one_kernel_for_all_of_a_run(found: Found, on_spheres: bool) -> None:
    named = weights(*SHAPES, *SHAPES)
    train = Train(optimizer="lion8bit", learning_rate=1e-3, stochastic_rounding=True, hyperball=on_spheres)
    optimizer = build_optimizer(named, train, [name for name, one in named if on_spheres and one.ndim == 2])
    norms, of_first_step = GradientNorms(named), 0
    for step, rate in enumerate(RATES, start=1):
        optimizer.begin_step(step, rate)
        norms.forget()
        for _, parameter in named:
            norms.measure(parameter, parameter.detach())
            optimizer.update(parameter, parameter.detach(), norms.is_finite(parameter))
        assert {len(kernels) for kernels in found.values()} == {1}
        of_first_step = of_first_step or len(found)
    assert len(found) == of_first_step > 0


def test_parts_of_one_size_need_one_kernel_wherever_they_begin(found: Found) -> None:
    ((name, head),) = weights((1000, 768))
    optimizer = build_optimizer([(name, head)], Train(optimizer="lion8bit", learning_rate=1e-3), [])
    norms = GradientNorms([(name, head)])
    optimizer.begin_step(1, 1e-3)
    for begin in range(0, 1000, 50):
        part = head.detach()[begin : begin + 50]
        norms.measure_part(head, part)
        optimizer.update(head, part, norms.is_finite(head), begin=begin * 768)
    assert [len(kernels) for kernels in found.values()] == [1, 1]


def test_a_gradient_at_an_odd_address_gets_a_kernel_of_its_own_each_time(found: Found) -> None:
    ((name, weight),) = weights((64, 64))
    optimizer = build_optimizer([(name, weight)], Train(optimizer="lion8bit", learning_rate=1e-3), [])
    room = torch.ones(64 * 64 + 8).bfloat16()
    aligned, odd = room[:4096].view(64, 64), room[1:4097].view(64, 64)
    optimizer.begin_step(1, 1e-3)
    for gradient in (aligned, odd, aligned, odd):
        optimizer.update(weight, gradient)
    assert {len(kernels) for kernels in found.values()} == {1}
    assert len(found) == 3 and len(set.union(*found.values())) == 2

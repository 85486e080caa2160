"""The fused kernel of Lion against bitsandbytes and our rounding in torch: the same bits, few launches, no waiting."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import torch
from torch import Tensor

from engine.backward.norm import GradientNorms
from engine.backward.release import GradientRelease
from engine.config.schema import Train
from engine.optim.build import build_optimizer
from engine.optim.tensor_optimizer import TensorOptimizer

from .lion_by_torch import LionByTorch, state_of
from .machine import DEVICE, HAS_GPU, on_gpu_alone

pytestmark = pytest.mark.gpu
STEPS, RATE = 20, 1e-3
LAUNCHES = 2
"""Of kernels for each tensor and step, the norm of its gradient among them."""
LAUNCHES_OF_THE_TURN = 2
"""Besides, for a matrix on a sphere: sums over all of it, and what follows from them."""
HUGE = 2**31 + 4096 + 100
"""Elements whose places no signed number of 32 bits holds."""


def optimizer_of(parameter: Tensor, *, on_sphere: bool = False, **train: Any) -> TensorOptimizer:
    settings = {"optimizer": "lion8bit", "learning_rate": RATE, "stochastic_rounding": True} | train
    matrices = ["proj.weight"] if on_sphere else []
    return build_optimizer([("proj.weight", parameter)], Train(**settings), matrices)  # type: ignore[arg-type]


def random(shape: tuple[int, ...], dtype: torch.dtype, seed: int, scale: float = 0.02) -> Tensor:
    drawn = torch.randn(shape, generator=torch.Generator().manual_seed(seed))
    return drawn.mul_(scale).to(DEVICE, dtype)


def flag(value: bool) -> Tensor:
    return torch.tensor(value, device=DEVICE)


def same_bits(one: Tensor, other: Tensor) -> bool:
    as_bytes = [tensor.detach().contiguous().view(-1).view(torch.uint8) for tensor in (one, other)]
    return one.dtype == other.dtype and torch.equal(*as_bytes)


def assert_same(optimizer: TensorOptimizer, parameter: Tensor, wanted: LionByTorch) -> None:
    differing = float((parameter.detach() != wanted.weights).float().mean())
    assert same_bits(parameter, wanted.weights), f"{differing:.2e} of the weights differ"
    for name, tensor in state_of(optimizer, parameter).items():
        differing = float((tensor != wanted.state[name]).float().mean())
        assert same_bits(tensor, wanted.state[name]), f"{differing:.2e} of {name} differ"


@pytest.mark.parametrize(
    "shape", [(64, 64), (1000,), (37, 131), (300, 100), (16, 5), (1_000_003,), (768, 4099)], ids=str
)
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float32], ids=str)
@pytest.mark.parametrize(("decay", "at_random"), [(0.0, True), (0.1, True), (0.1, False)])
def test_weights_and_state_are_those_of_the_torch_path(
    shape: tuple[int, ...], dtype: torch.dtype, decay: float, at_random: bool
) -> None:
    parameter = torch.nn.Parameter(random(shape, dtype, seed=0))
    optimizer = optimizer_of(parameter, weight_decay=decay, stochastic_rounding=at_random)
    decays = optimizer.param_groups[0]["weight_decay"]
    wanted = LionByTorch(parameter.detach(), decays, at_random)
    for step in range(1, STEPS + 1):
        keep = None if step % 3 else flag(step % 2 == 0)
        gradient = random(shape, dtype, seed=step, scale=10.0 ** (step % 5 - 3))
        rate = RATE / step
        optimizer.begin_step(step, rate)
        optimizer.update(parameter, gradient, keep)
        wanted.update(gradient, step, rate, keep=keep is None or bool(keep))
        assert optimizer.movement().tolist() == pytest.approx(wanted.movement, rel=1e-4, abs=1e-12)
    assert_same(optimizer, parameter, wanted)


@pytest.mark.parametrize("gradient_dtype", [torch.bfloat16, torch.float32], ids=str)
def test_a_gradient_with_zeros_and_large_values_of_either_type(gradient_dtype: torch.dtype) -> None:
    parameter = torch.nn.Parameter(random((300, 100), torch.bfloat16, seed=0))
    optimizer, wanted = optimizer_of(parameter), LionByTorch(parameter.detach())
    for step in range(1, STEPS + 1):
        gradient = random((300, 100), gradient_dtype, seed=step)
        gradient.view(-1)[:1024] = 0  # whole blocks without any gradient
        gradient.view(-1)[5000::997] *= 1e6
        optimizer.begin_step(step, RATE)
        optimizer.update(parameter, gradient)
        wanted.update(gradient, step, RATE)
    assert_same(optimizer, parameter, wanted)


def test_what_is_not_kept_changes_no_bit_even_where_the_gradient_is_not_finite() -> None:
    parameter = torch.nn.Parameter(random((100, 100), torch.bfloat16, seed=0))
    optimizer = optimizer_of(parameter, weight_decay=0.1)
    optimizer.begin_step(1, RATE)
    optimizer.update(parameter, random((100, 100), torch.bfloat16, seed=1))
    before = parameter.detach().clone(), {name: one.clone() for name, one in state_of(optimizer, parameter).items()}
    gradient = torch.full((100, 100), torch.nan, dtype=torch.bfloat16, device=DEVICE)
    optimizer.begin_step(2, RATE)
    optimizer.update(parameter, gradient, flag(False))
    assert same_bits(parameter, before[0])
    assert all(same_bits(one, before[1][name]) for name, one in state_of(optimizer, parameter).items())
    assert optimizer.movement().tolist() == [0.0, 0.0]


def test_parts_of_a_tensor_one_after_the_other_are_the_whole() -> None:
    whole, parts = (torch.nn.Parameter(random((96, 256), torch.bfloat16, seed=0)) for _ in range(2))
    optimizers = optimizer_of(whole), optimizer_of(parts)
    for step in range(1, 4):
        gradient = random((96, 256), torch.bfloat16, seed=step)
        for optimizer in optimizers:
            optimizer.begin_step(step, RATE)
        optimizers[0].update(whole, gradient, flag(True))
        for begin in range(0, gradient.numel(), 40 * 256):
            part = gradient.view(-1)[begin : begin + 40 * 256]
            optimizers[1].update(parts, part, flag(True), begin=begin)
    assert same_bits(whole, parts)
    one, other = state_of(optimizers[0], whole), state_of(optimizers[1], parts)
    assert all(same_bits(one[name], other[name]) for name in one)
    assert optimizers[1].movement().tolist() == pytest.approx(optimizers[0].movement().tolist(), rel=1e-9)


@on_gpu_alone
def test_a_tensor_of_more_than_2_to_the_31_elements() -> None:
    if torch.cuda.mem_get_info()[0] < 24 * 2**30:
        pytest.skip("needs 24 GiB of free memory on the GPU")
    torch.manual_seed(0)
    parameter = torch.nn.Parameter(torch.empty(HUGE, dtype=torch.bfloat16, device=DEVICE).normal_(0, 0.02))
    gradient = torch.empty_like(parameter, requires_grad=False).normal_()
    begin = 2**31 - 8192
    last = slice(begin, None)
    wanted = LionByTorch(parameter.detach()[last], begin=begin)
    optimizer = optimizer_of(parameter)
    for step in (1, 2):
        optimizer.begin_step(step, RATE)
        optimizer.update(parameter, gradient)
        wanted.update(gradient[last], step, RATE)
    assert same_bits(parameter.detach()[last], wanted.weights)
    assert same_bits(optimizer.state[parameter]["state1"].view(-1)[last], wanted.state["state1"])


@pytest.mark.parametrize("rate", [0.01, 0.0], ids=["given", "calibrated"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
def test_on_the_sphere_weights_are_those_of_the_formula(dtype: torch.dtype, rate: float) -> None:
    """In float64; a stored weight is at most one step of bfloat16 away, of float32 as many as there are roundings."""
    parameter = torch.nn.Parameter(random((384, 520), dtype, seed=0))
    optimizer = optimizer_of(parameter, on_sphere=True, hyperball=True, hyperball_lr=rate, weight_decay=0.1)
    wanted, radius = LionByTorch(parameter.detach()), parameter.detach().double().norm()
    angle = rate
    for step in range(1, 6):
        gradient, before = random((384, 520), dtype, seed=step), parameter.detach().double()
        keep = step != 3
        optimizer.begin_step(step, RATE)
        optimizer.update(parameter, gradient, flag(keep))
        if not keep:
            assert torch.equal(parameter.detach().double(), before)
            continue
        direction = wanted.directions(gradient).double()
        if step == 1 and rate == 0.0:
            angle = float(RATE * direction.norm() / radius)
        turned = before - angle * radius * direction / direction.norm()
        exact = turned * (radius / turned.norm())
        allowed = exact.abs() * torch.finfo(dtype).eps * (4 if dtype == torch.float32 else 1.01) + 1e-9
        assert bool(((parameter.detach().double() - exact).abs() <= allowed).all())
        assert same_bits(state_of(optimizer, parameter)["state1"], wanted.state["state1"])
        assert same_bits(state_of(optimizer, parameter)["absmax1"], wanted.state["absmax1"])


@on_gpu_alone
@pytest.mark.parametrize(("numel", "on_sphere"), [(500, False), (300_000, False), (300_000, True)])
def test_few_launches_and_no_waiting_in_a_step_of_one_tensor(numel: int, on_sphere: bool) -> None:
    parameter = torch.nn.Parameter(random((numel // 100, 100), torch.bfloat16, seed=0))
    optimizer = optimizer_of(parameter, on_sphere=on_sphere, hyperball=on_sphere)
    assert "Triton" in optimizer.describe()
    named = [("proj.weight", parameter)]
    norms = GradientNorms(named)
    release = GradientRelease(optimizer, named, norms)

    def be_ready(step: int) -> None:
        norms.forget()
        optimizer.begin_step(step, RATE)
        parameter.grad = random((numel // 100, 100), torch.bfloat16, seed=step)
        torch.cuda.synchronize()

    for number in (1, 2):
        be_ready(number)
        release.step(parameter)
    be_ready(3)
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as profile:
        with waiting_for_nothing():
            release.step(parameter)
        torch.cuda.synchronize()
    launched = [event.name for event in profile.events() if event.device_type == torch.autograd.DeviceType.CUDA]
    assert 0 < len(launched) <= LAUNCHES + (LAUNCHES_OF_THE_TURN if on_sphere else 0), launched
    release.remove()


@contextmanager
def waiting_for_nothing() -> Iterator[None]:
    if not HAS_GPU:
        yield
        return
    torch.cuda.set_sync_debug_mode("error")
    try:
        yield
    finally:
        torch.cuda.set_sync_debug_mode("default")

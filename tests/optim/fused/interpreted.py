"""The kernels in Triton's interpreter, against the same arithmetic in torch. Run by test_kernels.py, in a process whose
Triton interprets everything."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch
import triton
import triton.language as tl
from torch import Tensor

from engine.backward.norm import GradientNorms, norm_of
from engine.backward.release import GradientRelease
from engine.config.schema import Train
from engine.optim.build import build_optimizer
from engine.optim.fused.arithmetic import to_bytes
from engine.optim.fused.codebook import borders
from engine.optim.fused.fused_lion import FusedLion
from engine.optim.hyperball import Hyperball
from engine.optim.random_bits import BitStream
from engine.optim.rules.blockwise import bitsandbytes_rule
from engine.optim.rules.rule import Settings
from engine.optim.tensor_optimizer import TensorOptimizer
from tests.optim.fused.oracle import Oracle
from tests.optim.fused.oracle import to_bytes as search

RATE, DECAY = 1e-3, 0.1
STEPS = 4


@pytest.fixture(autouse=True)
def _kernels_on_the_cpu(monkeypatch: pytest.MonkeyPatch) -> None:
    for place in ("engine.optim.tensor_optimizer", "engine.backward.norm"):
        monkeypatch.setattr(f"{place}.triton_on", lambda device: True)


def optimizer_of(parameter: Tensor, *, on_sphere: bool = False, **train: Any) -> TensorOptimizer:
    settings = {"optimizer": "lion8bit", "learning_rate": RATE, "weight_decay": DECAY, "betas": (0.9, 0.99)} | train
    matrices = ["proj.weight"] if on_sphere else []
    optimizer = build_optimizer([("proj.weight", parameter)], Train(**settings), matrices)
    assert "Triton" in optimizer.describe() and "slice" not in optimizer.describe()
    return optimizer


def random(size: tuple[int, ...], seed: int, scale: float = 0.02, dtype: torch.dtype = torch.bfloat16) -> Tensor:
    return torch.randn(size, generator=torch.Generator().manual_seed(seed)).mul_(scale).to(dtype)


def gradient_of(step: int, size: tuple[int, ...], dtype: torch.dtype) -> Tensor:
    """Of another size each step, with blocks of zeros and a few values that dwarf the others."""
    gradient = random(size, step, 10.0**-step, dtype)
    gradient.view(-1)[:300] = 0
    gradient.view(-1)[400::997] *= 1e6
    return gradient


def oracle_of(optimizer: TensorOptimizer, parameter: torch.nn.Parameter) -> Oracle:
    optimizer.allocate_state()
    state, flat = optimizer.state[parameter], parameter.detach().clone().view(-1)
    if "absmax1" not in state:
        return Oracle(flat, state["state1"].clone().view(-1))
    assert optimizer._fused is not None
    return Oracle(flat, state["state1"].clone().view(-1), state["absmax1"].clone(), optimizer._fused._code)


@pytest.mark.parametrize("size", [(64, 64), (50, 101), (20, 35)], ids=str)  # whole tiles, a rest, float32 state
@pytest.mark.parametrize(
    ("weights", "gradients", "at_random"),
    [
        (torch.bfloat16, torch.bfloat16, True),
        (torch.bfloat16, torch.float32, False),
        (torch.float32, torch.bfloat16, True),
    ],
    ids=str,
)
def test_weights_and_state_are_bit_for_bit_those_of_the_arithmetic_in_torch(
    size: tuple[int, ...], weights: torch.dtype, gradients: torch.dtype, at_random: bool
) -> None:
    parameter = torch.nn.Parameter(random(size, 0, dtype=weights))
    optimizer = optimizer_of(parameter, stochastic_rounding=at_random)
    oracle = oracle_of(optimizer, parameter)
    for step in range(1, STEPS + 1):
        gradient = gradient_of(step, size, gradients)
        optimizer.begin_step(step, RATE)
        optimizer.update(parameter, gradient, torch.tensor(True) if step % 2 else None)
        stream = BitStream.of(0, step, 0) if at_random and weights == torch.bfloat16 else None
        before = oracle.weights.double()
        oracle.update(gradient.view(-1), RATE, DECAY, stream)
        assert torch.equal(parameter.view(-1), oracle.weights)
        assert torch.equal(optimizer.state[parameter]["state1"].view(-1), oracle.state)
        if oracle.scales is not None:
            assert torch.equal(optimizer.state[parameter]["absmax1"], oracle.scales)
        assert optimizer.movement().tolist() == pytest.approx(movement(before, oracle), rel=1e-12)


def movement(before: Tensor, oracle: Oracle, stride: int | None = None) -> list[float]:
    assert oracle.asked is not None
    stride = stride or math.ceil(len(before) / 4096)
    real, intended = (oracle.weights.double() - before)[::stride], (oracle.asked.double() - before)[::stride]
    return [float(real @ intended), float(intended @ intended)]


def test_watched_weights_that_are_far_apart_are_the_same_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("engine.optim.fused.fused_lion.stride_of", lambda size: 700)
    parameter = torch.nn.Parameter(random((100, 101), 0))
    optimizer = optimizer_of(parameter, stochastic_rounding=True)
    oracle, gradient = oracle_of(optimizer, parameter), gradient_of(1, (100, 101), torch.bfloat16)
    before = oracle.weights.double()
    optimizer.begin_step(1, RATE)
    optimizer.update(parameter, gradient)
    oracle.update(gradient.view(-1), RATE, DECAY, BitStream.of(0, 1, 0))
    assert optimizer.movement().tolist() == pytest.approx(movement(before, oracle, 700), rel=1e-12)


@pytest.mark.parametrize("on_sphere", [False, True])
def test_a_refused_update_leaves_every_bit(on_sphere: bool) -> None:
    parameter = torch.nn.Parameter(random((50, 101), 0))
    optimizer = optimizer_of(parameter, on_sphere=on_sphere, hyperball=on_sphere)
    gradient = gradient_of(1, (50, 101), torch.bfloat16)
    for step in (1, 2):
        optimizer.begin_step(step, RATE)
        optimizer.update(parameter, gradient)
        assert optimizer.movement()[1] > 0
    before = {name: value.clone() for name, value in optimizer.state[parameter].items()}
    weights = parameter.detach().clone()
    gradient[3, 5:8] = torch.tensor([math.nan, math.inf, -math.inf])
    optimizer.begin_step(3, RATE)
    optimizer.update(parameter, gradient, torch.tensor(False))
    assert torch.equal(parameter, weights) and optimizer.movement().tolist() == [0.0, 0.0]
    assert all(torch.equal(value, before[name]) for name, value in optimizer.state[parameter].items())
    optimizer.begin_step(4, RATE)
    assert optimizer.movement().tolist() == [0.0, 0.0]  # of a step in which nothing was updated


def test_parts_of_a_tensor_one_after_the_other_are_the_whole() -> None:
    whole, parts = (torch.nn.Parameter(random((96, 128), 0)) for _ in range(2))
    optimizers = optimizer_of(whole, stochastic_rounding=True), optimizer_of(parts, stochastic_rounding=True)
    for step in (1, 2):
        gradient = gradient_of(step, (96, 128), torch.bfloat16)
        for optimizer in optimizers:
            optimizer.begin_step(step, RATE)
        optimizers[0].update(whole, gradient)
        for begin in range(0, gradient.numel(), 40 * 128):
            optimizers[1].update(parts, gradient.view(-1)[begin : begin + 40 * 128], torch.tensor(True), begin=begin)
    assert torch.equal(whole, parts)
    one, other = optimizers[0].state[whole], optimizers[1].state[parts]
    assert all(torch.equal(one[name], other[name]) for name in ("state1", "absmax1"))
    assert torch.equal(optimizers[0].movement(), optimizers[1].movement())


@pytest.mark.parametrize("rate", [0.01, 0.0], ids=["given", "calibrated"])
@pytest.mark.parametrize("size", [(50, 101), (20, 35)], ids=str)
def test_on_a_sphere_the_turn_is_hyperballs(rate: float, size: tuple[int, int]) -> None:
    parameter = torch.nn.Parameter(random(size, 0))
    optimizer = optimizer_of(parameter, on_sphere=True, hyperball=True, hyperball_lr=rate, stochastic_rounding=True)
    oracle = oracle_of(optimizer, parameter)
    hyperball = Hyperball([parameter], rate, RATE)
    (bucket,) = hyperball.buckets(parameter, parameter.numel())
    with torch.no_grad():
        state = hyperball.new_state(parameter, parameter.numel())
    for step in range(1, STEPS + 1):
        gradient = gradient_of(step, size, torch.bfloat16)
        optimizer.begin_step(step, RATE / step)
        optimizer.update(parameter, gradient, torch.tensor(True))
        with torch.no_grad():
            turned = -torch.sign(oracle.blend(gradient.view(-1).float()))
            hyperball.turn(turned, oracle.weights, bucket, state, RATE / step, parameter.numel(), None)
        oracle.asked = turned
        oracle.store(BitStream.of(0, step, 0))
        differing = (parameter.view(-1) != oracle.weights).sum()
        assert differing <= 2  # the last factor may differ in its last bit, which moves few roundings
        assert torch.equal(optimizer.state[parameter]["state1"].view(-1), oracle.state)
        assert optimizer.state[parameter]["calibrated_rate"] == pytest.approx(state["calibrated_rate"], rel=1e-6)
        oracle.weights = parameter.detach().clone().view(-1)


@triton.jit
def bytes_kernel(values, borders, bytes, SIZE: tl.constexpr) -> None:  # noqa: N803
    place = tl.arange(0, SIZE)
    tl.store(bytes + place, to_bytes(tl.load(values + place), tl.full([SIZE], 1.0, tl.float32), borders, False))


def test_a_byte_is_that_of_bitsandbytes_search_for_every_number_around_every_border() -> None:
    code = bitsandbytes_rule("lion8bit").signed_map(torch.device("cpu")).clone()
    middles = (code[:-1] + code[1:]) * 0.5
    near = [torch.nextafter(middles, torch.full_like(middles, to)) for to in (-2.0, 2.0)]
    generator = torch.Generator().manual_seed(0)
    grid = 10.0 ** (torch.rand(60_000, generator=generator) * -9)
    values = torch.cat([middles, *near, code, grid, -grid, torch.tensor([0.0, -0.0, 1.0, -1.0, 1e-45, -1e-45])])
    padded = torch.nn.functional.pad(values, (0, 2 ** math.ceil(math.log2(len(values))) - len(values)))
    found = torch.zeros(len(padded), dtype=torch.uint8)
    bytes_kernel[(1,)](padded, borders(code), found, SIZE=len(padded))
    assert torch.equal(found, search(padded, padded, code))
    assert found.unique().numel() == 256


def test_one_step_is_that_of_bitsandbytes_on_the_cpu_but_for_bytes_that_ours_rounds_nearer() -> None:
    """Its search on a CPU is not always right; on a GPU, where it is the one above, all has to be the same."""
    rule, size = bitsandbytes_rule("lion8bit"), 2**16
    parameter = torch.nn.Parameter(random((size,), 0, dtype=torch.float32))
    state = rule.new_state(parameter)
    state["state1"].random_(1, 256, generator=torch.Generator().manual_seed(1))
    state["absmax1"].uniform_(1e-5, 1e-3, generator=torch.Generator().manual_seed(2))
    fused, theirs = FusedLion(rule, [parameter]), {name: value.clone() for name, value in state.items()}
    oracle = Oracle(parameter.detach(), state["state1"].clone(), state["absmax1"].clone(), fused._code)
    gradient, settings = random((size,), 3, 1e-3, torch.float32), Settings(RATE, (0.9, 0.99), 0.0, DECAY, 1)
    share = oracle.moment() * 0.99 + gradient * 0.01
    share = (share.view(-1, 256) / share.view(-1, 256).abs().amax(1, keepdim=True)).view(-1)
    moved = parameter.detach().clone()
    with torch.no_grad():
        fused.update(parameter, gradient, state, settings, None, None)
    rule.move(moved, gradient, theirs, settings)
    assert torch.equal(parameter, moved)
    assert torch.allclose(state["absmax1"], theirs["absmax1"], rtol=1e-6)
    differing = state["state1"] != theirs["state1"]
    assert differing.float().mean() < 0.01
    distances = [(fused._code[one["state1"].long()] - share).abs()[differing] for one in (state, theirs)]
    assert (distances[0] <= distances[1] + 1e-6).all()


@pytest.mark.parametrize("size", [1, 4096, 5000, 300_001])
def test_a_norm_is_that_of_float64_and_the_same_each_time(size: int) -> None:
    gradient = random((size,), 1, 1e-3)
    weight = torch.nn.Parameter(torch.zeros_like(gradient))
    found = []
    for _ in range(2):
        norms = GradientNorms([("other", torch.nn.Parameter(torch.zeros(3))), ("weight", weight)])
        found.append(float(norms.measure(weight, gradient)))
        assert norms.is_finite(weight) and float(norms.total()) == found[0]
    assert found == [pytest.approx(float(gradient.double().norm()), rel=1e-6)] * 2 and found[0] == found[1]


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, 2e19])
def test_a_norm_that_is_not_finite_shows_as_without_the_kernel(value: float) -> None:
    gradient = torch.ones(5000)
    gradient[4500] = value
    weight = torch.nn.Parameter(torch.zeros(5000))
    norms = GradientNorms([("weight", weight)])
    norm = float(norms.measure(weight, gradient))
    assert not norms.is_finite(weight) and norms.first_not_finite() == "weight"
    assert math.isnan(norm) == math.isnan(value) and math.isnan(float(norm_of(gradient))) == math.isnan(value)


def test_the_norm_of_parts_is_that_of_the_whole() -> None:
    gradient = random((400, 100), 2, dtype=torch.float32)
    weight = torch.nn.Parameter(torch.zeros_like(gradient))
    norms = GradientNorms([("head", weight)])
    for _ in range(2):
        norms.forget()
        parts = [float(norms.measure_part(weight, tile)) for tile in gradient.split(128)]
        assert parts == pytest.approx([float(tile.norm()) for tile in gradient.split(128)], rel=1e-6)
        assert float(norms.total()) == pytest.approx(float(gradient.norm()), rel=1e-6)


def test_release_moves_what_is_finite_and_leaves_the_rest() -> None:
    weights = [(name, torch.nn.Parameter(random((64, 80), seed))) for seed, name in enumerate(("well", "broken"))]
    optimizer = build_optimizer(weights, Train(optimizer="lion8bit", learning_rate=RATE))
    norms = GradientNorms(weights)
    release = GradientRelease(optimizer, weights, norms)
    before = [parameter.detach().clone() for _, parameter in weights]
    optimizer.begin_step(1, RATE)
    for name, parameter in weights:
        (parameter * (math.nan if name == "broken" else 1.0)).sum().backward()
    assert all(parameter.grad is None for _, parameter in weights)
    assert [torch.equal(parameter, start) for (_, parameter), start in zip(weights, before, strict=True)] == [
        False,
        True,
    ]
    release.remove()

"""Hyperball: weight matrices stay on their spheres and turn by what was asked."""

from __future__ import annotations

import io
import math
from typing import Any

import pytest
import torch
from torch import nn
from transformers import LlamaConfig, LlamaForCausalLM

from engine.config.schema import Train
from engine.optim.build import build_optimizer
from engine.optim.hyperball import hyperball_matrices
from engine.optim.state import load_optimizer_state

SHAPE = (64, 96)


def pretrained(dtype: torch.dtype = torch.float32, shape: tuple[int, ...] = SHAPE) -> torch.Tensor:
    return (torch.randn(shape, generator=torch.Generator().manual_seed(8)) * 0.02).to(dtype)


def norms(weights: torch.Tensor) -> torch.Tensor:
    return torch.linalg.matrix_norm(weights.detach().double())


@pytest.mark.parametrize("name", ["lion8bit", "adamw8bit", "lion", "adamw"])
@pytest.mark.parametrize("rate", [0.0, 0.01])
def test_the_norm_stays_to_float32_accuracy(name: str, rate: float, make: Any, gradient_of: Any) -> None:
    start = pretrained(shape=(2, *SHAPE))
    ours, optimizer = make(start, optimizer=name, on_sphere=True, hyperball_lr=rate, weight_decay=0.1)
    for step in range(1, 51):
        optimizer.begin_step(step, 1e-3)
        optimizer.update(ours, gradient_of(step, start.shape))
    assert not torch.equal(ours, start)
    torch.testing.assert_close(norms(ours), norms(start), rtol=3e-7, atol=0)


def test_in_bfloat16_the_norm_stays_within_the_noise_of_rounding(make: Any, gradient_of: Any) -> None:
    start = pretrained(torch.bfloat16)
    ours, optimizer = make(start, optimizer="lion8bit", on_sphere=True)
    for step in range(1, 501):
        optimizer.begin_step(step, 1e-5)
        optimizer.update(ours, gradient_of(step, SHAPE))
    # one rounding of each weight: at most 2^-7 of it, independent of the others, hence 2^-7 / sqrt(n) of the norm
    torch.testing.assert_close(norms(ours), norms(start), rtol=4 * 2**-7 / math.sqrt(start.numel()), atol=0)
    assert torch.equal(optimizer.state[ours]["radius"], norms(start).float().reshape(1))


def test_a_direction_across_turns_the_matrix_by_the_angle_asked_for(make: Any) -> None:
    start, gradient = pretrained(), torch.ones(SHAPE)
    start[:, ::2] = -start[:, 1::2]  # orthogonal to the signs of the gradient
    for share in (1.0, 0.5):  # of the schedule's peak
        ours, optimizer = make(start, optimizer="lion", on_sphere=True, hyperball_lr=0.05, learning_rate=1e-3)
        optimizer.begin_step(1, share * 1e-3)
        optimizer.update(ours, gradient)
        cosine = float((ours.detach().double() * start.double()).sum() / norms(start) ** 2)
        assert math.acos(cosine) == pytest.approx(math.atan(0.05 * share), rel=1e-4)


@pytest.mark.parametrize("name", ["lion8bit", "adamw8bit", "lion", "adamw"])
def test_calibrated_it_begins_with_the_base_optimizers_step(name: str, make: Any, gradient_of: Any) -> None:
    start = pretrained()
    results = []
    for on_sphere in (True, False):
        ours, optimizer = make(start, optimizer=name, on_sphere=on_sphere)
        optimizer.begin_step(1, 1e-4)
        optimizer.update(ours, gradient_of(1, SHAPE))
        results.append(ours.detach().double())
    on_sphere, base = results
    torch.testing.assert_close(on_sphere, base * norms(start) / norms(base), rtol=2e-5, atol=1e-9)


def test_the_calibrated_rate_is_fixed_at_the_first_update_and_follows_the_schedule(make: Any, gradient_of: Any) -> None:
    start = pretrained()
    ours, optimizer = make(start, optimizer="lion", on_sphere=True)
    optimizer.begin_step(1, 1e-4)
    optimizer.update(ours, gradient_of(1, SHAPE))
    rate = optimizer.state[ours]["calibrated_rate"].clone()
    assert float(rate) == pytest.approx(math.sqrt(start.numel()) / float(norms(start)), rel=1e-6)
    before = ours.detach().clone()
    optimizer.begin_step(2, 0.0)
    optimizer.update(ours, gradient_of(2, SHAPE))
    assert torch.equal(optimizer.state[ours]["calibrated_rate"], rate)
    torch.testing.assert_close(ours.detach(), before, rtol=3e-7, atol=0)


def test_small_corrections_of_the_norm_are_not_lost(make: Any) -> None:
    """Weights that stand 0.2 % outside their sphere, less than half a bfloat16 step, come back onto it."""
    start = pretrained(torch.bfloat16, (512, 512))
    ours, optimizer = make(start, optimizer="lion", on_sphere=True, hyperball_lr=1e-12)
    optimizer.allocate_state()
    optimizer.state[ours]["radius"] *= 1 - 0.002
    optimizer.begin_step(1, 1e-5)
    optimizer.update(ours, torch.ones_like(start))
    assert float((ours.detach().double() * start.double()).sum() / (start.double() ** 2).sum()) == pytest.approx(
        0.998, abs=1e-4
    )


def test_zeros_stay_and_make_no_nan(make: Any) -> None:
    stack = torch.stack([torch.zeros(32, 32), pretrained(shape=(32, 32)), pretrained(shape=(32, 32))])
    gradient = torch.ones_like(stack)
    gradient[2] = 0
    ours, optimizer = make(stack, optimizer="lion", on_sphere=True)
    for step in (1, 2):
        optimizer.begin_step(step, 1e-3)
        optimizer.update(ours, gradient)
    assert torch.equal(ours[0], stack[0]) and torch.equal(ours[2], stack[2]) and not torch.equal(ours[1], stack[1])
    assert ours.isfinite().all()

    before = ours.detach().clone()
    optimizer.begin_step(3, 1e-3)
    optimizer.update(ours, torch.ones_like(stack))
    assert not torch.equal(ours[2], before[2])  # calibrated by its first real update


def test_radius_and_rates_come_back_with_a_checkpoint(make: Any, gradient_of: Any) -> None:
    def go_on(ours: nn.Parameter, optimizer: Any, first: int, last: int) -> None:
        for step in range(first, last + 1):
            optimizer.begin_step(step, 1e-4)
            optimizer.update(ours, gradient_of(step, SHAPE))

    unbroken = make(pretrained(torch.bfloat16), optimizer="lion8bit", on_sphere=True)
    go_on(*unbroken, 1, 5)
    file = io.BytesIO()
    torch.save({"weights": unbroken[0].detach(), "optimizer": unbroken[1].state_dict()}, file)
    go_on(*unbroken, 6, 10)
    saved = torch.load(io.BytesIO(file.getvalue()), weights_only=True)
    resumed = make(saved["weights"], optimizer="lion8bit", on_sphere=True)
    resumed[1].allocate_state()
    load_optimizer_state(resumed[1], saved["optimizer"])
    go_on(*resumed, 6, 10)

    assert torch.equal(resumed[0], unbroken[0])
    for key, value in unbroken[1].state[unbroken[0]].items():
        assert torch.equal(resumed[1].state[resumed[0]][key], value), key


class Mixer(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.in_proj = nn.Linear(16, 32)
        self.conv1d = nn.Conv1d(32, 32, 4, groups=32)
        self.shift = nn.Conv1d(32, 32, 4)
        self.A_log = nn.Parameter(torch.zeros(4, 4))
        self.dt_bias = nn.Parameter(torch.zeros(4, 4))
        self.norm = nn.LayerNorm((4, 4))
        self.experts = nn.Parameter(torch.zeros(4, 16, 16))


def test_only_matrices_of_layers_are_on_spheres() -> None:
    assert hyperball_matrices(Mixer()) == ("experts", "in_proj.weight")

    config = LlamaConfig(
        vocab_size=64, hidden_size=16, intermediate_size=32, num_hidden_layers=1, num_attention_heads=2
    )
    names = hyperball_matrices(LlamaForCausalLM(config))
    assert [name.rsplit(".", 2)[1] for name in names] == [
        *("q_proj", "k_proj", "v_proj", "o_proj"),
        *("gate_proj", "up_proj", "down_proj"),
    ]


def test_the_order_of_the_parameters_does_not_matter_and_a_hook_may_do_it() -> None:
    def train(in_hook: bool) -> list[torch.Tensor]:
        torch.manual_seed(5)
        model = nn.Sequential(nn.Linear(32, 64), nn.Tanh(), nn.Linear(64, 8)).bfloat16()
        train = Train(optimizer="lion8bit", stochastic_rounding=True)
        optimizer = build_optimizer(model.named_parameters(), train, hyperball_matrices(model))

        def release(parameter: torch.Tensor) -> None:
            assert parameter.grad is not None
            optimizer.update(parameter, parameter.grad)
            parameter.grad = None

        if in_hook:
            for parameter in model.parameters():
                parameter.register_post_accumulate_grad_hook(release)
        for step in range(1, 6):
            optimizer.begin_step(step, 1e-3)
            model(
                torch.randn(4, 32, generator=torch.Generator().manual_seed(step)).bfloat16()
            ).square().sum().backward()
            optimizer.step()
            optimizer.zero_grad()
        return [parameter.detach() for parameter in model.parameters()]

    for ours, expected in zip(train(True), train(False), strict=True):
        assert torch.equal(ours, expected)

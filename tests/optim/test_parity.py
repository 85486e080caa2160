"""Each rule is its library's own, whatever the slices and types."""

from __future__ import annotations

from typing import Any

import bitsandbytes.optim as theirs
import pytest
import torch

BETAS = {"lion8bit": (0.9, 0.99), "lion": (0.9, 0.99), "adamw8bit": (0.9, 0.95), "adamw": (0.9, 0.95)}
SHAPES = [(97, 131), (64, 256), (33,)]
BF16_STEP = 2.0**-7


def reference(name: str, parameter: torch.nn.Parameter) -> torch.optim.Optimizer:
    options: dict[str, Any] = {"lr": 1e-3, "betas": BETAS[name], "weight_decay": 0.1}
    if name == "adamw":
        return torch.optim.AdamW([parameter], fused=True, **options)
    kinds = {"lion8bit": theirs.Lion8bit, "lion": theirs.Lion, "adamw8bit": theirs.AdamW8bit}
    optimizer: torch.optim.Optimizer = kinds[name]([parameter], **options)
    return optimizer


@pytest.mark.parametrize("name", BETAS)
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("gradients", [torch.float32, torch.bfloat16], ids=str)
def test_state_and_float32_weights_equal_the_library_bit_for_bit(
    name: str, shape: tuple[int, ...], gradients: torch.dtype, make: Any, gradient_of: Any
) -> None:
    torch.manual_seed(1)
    start = torch.randn(shape) * 0.02
    ours, optimizer = make(start, optimizer=name, betas=BETAS[name], weight_decay=0.1, slice_size=512)
    optimizer.param_groups[0]["weight_decay"] = 0.1  # a vector has none by itself
    expected = torch.nn.Parameter(start.clone())
    library = reference(name, expected)
    for step in range(1, 31):
        gradient = gradient_of(step, shape, gradients)
        optimizer.begin_step(step, 1e-3)
        optimizer.update(ours, gradient)
        expected.grad = gradient.float()
        library.step()

    assert torch.equal(ours, expected)
    for key in {"state1", "state2", "absmax1", "absmax2", "exp_avg", "exp_avg_sq"} & library.state[expected].keys():
        assert torch.equal(optimizer.state[ours][key], library.state[expected][key]), key


@pytest.mark.parametrize("name", ["lion8bit", "adamw8bit"])
def test_bfloat16_weights_have_the_librarys_state_and_its_weights_within_a_rounding(
    name: str, make: Any, gradient_of: Any
) -> None:
    torch.manual_seed(1)
    start = (torch.randn(97, 131) * 0.02).bfloat16()
    ours, optimizer = make(start, optimizer=name, betas=BETAS[name], weight_decay=0.1, slice_size=512)
    wide = torch.nn.Parameter(start.float())
    library = reference(name, wide)
    for step in range(1, 31):
        wide.data = ours.detach().float()
        gradient = gradient_of(step, (97, 131), torch.bfloat16)
        optimizer.begin_step(step, 1e-3)
        optimizer.update(ours, gradient)
        wide.grad = gradient.float()
        library.step()
        assert ((ours.float() - wide).abs() <= BF16_STEP * wide.abs() + 1e-30).all()

    for key in {"state1", "state2", "absmax1", "absmax2"} & library.state[wide].keys():
        assert torch.equal(optimizer.state[ours][key], library.state[wide][key]), key


@pytest.mark.parametrize("name", BETAS)
@pytest.mark.parametrize("on_sphere", [False, True])
def test_slices_change_nothing(name: str, on_sphere: bool, make: Any, gradient_of: Any) -> None:
    start = (torch.randn(3, 40, 24, generator=torch.Generator().manual_seed(2)) * 0.02).bfloat16()
    results = []
    for slice_size in (256, 1024, 2**22):
        ours, optimizer = make(start, optimizer=name, on_sphere=on_sphere, slice_size=slice_size)
        for step in range(1, 11):
            optimizer.begin_step(step, 1e-4)
            optimizer.update(ours, gradient_of(step, start.shape))
        results.append((ours, optimizer))
    for ours, optimizer in results[1:]:
        assert torch.equal(ours, results[0][0])
        for key, value in results[0][1].state[results[0][0]].items():
            assert torch.equal(torch.as_tensor(optimizer.state[ours][key]), torch.as_tensor(value)), key

"""What the optimizer keeps and holds: counted with the optimizer itself, on a small model."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import AutoConfig, AutoModelForCausalLM

from engine.config import Config, load_config
from engine.memory.estimate.model_shape import model_shape
from engine.memory.estimate.optimizer_bytes import notes_bytes, state_bytes, update_bytes
from engine.model.freeze import freeze_non_attention
from engine.optim.build import build_optimizer
from engine.optim.hyperball import hyperball_matrices
from engine.optim.state import state_tensors
from engine.units import GIB
from tests.memory.counting import peak_of

QUICKSTART = Path(__file__).parents[3] / "configs" / "quickstart.yaml"
OPTIMIZERS = ("adamw", "adamw8bit", "lion", "lion8bit")


def config_with(*flags: str) -> Config:
    return load_config(QUICKSTART, flags).config


def model_and_optimizer(config: Config) -> tuple[Any, Any]:
    shape = AutoConfig.from_pretrained(config.model.name_or_path)
    model = AutoModelForCausalLM.from_config(shape, dtype=torch.bfloat16)
    if config.train.freeze_non_attention:
        freeze_non_attention(model)
    matrices = hyperball_matrices(model) if config.train.hyperball else ()
    return model, build_optimizer(model.named_parameters(), config.train, matrices)


@pytest.mark.parametrize(
    "flags", [(), ("--train.freeze_non_attention", "true"), ("--train.hyperball", "true")], ids=str
)
@pytest.mark.parametrize("name", OPTIMIZERS)
def test_the_state_is_that_of_the_optimizer_itself(name: str, flags: tuple[str, ...]) -> None:
    config = config_with("--train.optimizer", name, "--model.torch_dtype", "bfloat16", *flags)
    _, optimizer = model_and_optimizer(config)
    optimizer.allocate_state()
    said = state_bytes(model_shape(config).model_for(config), config.train)
    assert sum(said) == sum(tensor.nbytes for tensor in state_tensors(optimizer.state))


@pytest.mark.parametrize(("name", "gib"), [("lion8bit", 3.98), ("adamw8bit", 7.96), ("lion", 15.67), ("adamw", 31.33)])
def test_of_4_billion_weights_it_is_what_the_pages_say(name: str, gib: float) -> None:
    flags = ("--model.name_or_path", "Qwen/Qwen3.5-4B", "--model.init", "random", "--train.optimizer", name)
    config = config_with(*flags)
    assert sum(state_bytes(model_shape(config).model_for(config), config.train)) / GIB == pytest.approx(gib, abs=0.01)


@pytest.mark.parametrize("releases", [True, False], ids=["within the backward pass", "after it"])
@pytest.mark.parametrize("name", ["adamw", "adamw8bit"])
def test_while_a_tensor_moves_float32_slices_are_held(name: str, releases: bool) -> None:
    config = config_with("--train.optimizer", name, "--model.torch_dtype", "bfloat16")
    model, optimizer = model_and_optimizer(config)
    optimizer.allocate_state()
    largest = max(model.parameters(), key=lambda parameter: parameter.numel())
    gradient, keep = torch.randn_like(largest), torch.tensor(True)
    optimizer._slice_size = largest.numel()  # as on a GPU, where slices are larger than this tensor
    optimizer.begin_step(1, 1e-5)
    held, _ = peak_of(lambda: optimizer.update(largest, gradient, keep=keep if releases else None))
    said = update_bytes(model_shape(config).model_for(config), config.train, releases=releases)
    assert said == pytest.approx(held, rel=0.1)


def test_lions_kernel_holds_nothing_but_its_notes() -> None:
    config = config_with("--train.optimizer", "lion8bit", "--model.torch_dtype", "bfloat16")
    model = model_shape(config).model_for(config)
    assert update_bytes(model, config.train, releases=True) == 0
    tensors = sum(1 for _ in model.parameters())
    assert notes_bytes(model, config.train) == tensors * 3 * 4096 * 4

"""Each check of the doctor must be able to fail, given what went wrong in other tools.

What moves and keeps weights: rounding, kernel, release, tied head, 8-bit state, saved models.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor

from engine.backward.gate import go_to_gate
from engine.data.feeding.batches import Batch
from engine.doctor.checks import (
    optimizer_kernel,
    optimizer_state,
    release,
    rounding,
    saving,
    tied_head,
)
from engine.doctor.checks.few_steps import CHUNK, TakeStep, Way
from engine.model.head import loss_head
from engine.optim.tensor_optimizer import TensorOptimizer

# --- rounding


def test_rounding_to_nearest_fails() -> None:
    """Lion's step of 1e-5 is far below half the distance of most bfloat16 weights from their neighbours."""
    assert rounding.judge(rounding.moved_share).status == "ok"
    outcome = rounding.judge(lambda at_random: rounding.moved_share(False))
    assert outcome.status == "failed"
    assert (outcome.fix or "").startswith("model.torch_dtype: float32")


@pytest.mark.parametrize("share", [0.98, 1.02, float("nan")])
def test_rounding_with_a_bias_fails(share: float) -> None:
    assert rounding.judge(lambda at_random: share).status == "failed"


# --- the optimizer's kernel


def test_a_kernel_that_moves_other_bits_than_torch_fails() -> None:
    def with_other_random_bits(weights: Tensor, gradients: Any) -> dict[str, Tensor]:
        moved = optimizer_kernel.by_optimizer(weights.clone(), gradients)
        return moved | {"weights": moved["weights"].view(torch.int16).bitwise_xor(1).view(torch.bfloat16)}

    def with_another_scale(weights: Tensor, gradients: Any) -> dict[str, Tensor]:
        moved = optimizer_kernel.by_optimizer(weights, gradients)
        return moved | {"absmax1": torch.nextafter(moved["absmax1"], torch.tensor(1.0))}

    assert optimizer_kernel.judge(optimizer_kernel.by_optimizer).status == "ok"
    assert optimizer_kernel.judge(with_other_random_bits).found.startswith("weights of a tensor [300, 257]")
    outcome = optimizer_kernel.judge(with_another_scale)
    assert (outcome.status, outcome.found.startswith("absmax1")) == ("failed", True)


# --- gradient release


def release_by(step: Callable[[TensorOptimizer, str, Tensor], None]) -> Way:
    """Gradient release with hooks that call `step` with a weight's name."""

    def way(model: Any, optimizer: TensorOptimizer) -> TakeStep:
        names = {id(parameter): name for name, parameter in model.named_parameters()}
        head = loss_head(model, chunked=True, chunk_tokens=CHUNK)

        def hook(parameter: Tensor) -> None:
            step(optimizer, names[id(parameter)], parameter)
            parameter.grad = None

        for parameter in model.parameters():
            parameter.register_post_accumulate_grad_hook(hook)

        def take_step(batch: Batch) -> None:
            rest = go_to_gate(head, [batch], lambda lap: None).rest
            assert rest is not None
            rest.backward()

        return take_step

    return way


def test_an_update_made_twice_or_left_out_fails() -> None:
    def twice(optimizer: TensorOptimizer, name: str, parameter: Tensor) -> None:
        for _ in range(2 if name == "model.norm.weight" else 1):
            optimizer.update(parameter, parameter.grad)

    def left_out(optimizer: TensorOptimizer, name: str, parameter: Tensor) -> None:
        if name != "model.norm.weight":
            optimizer.update(parameter, parameter.grad)

    assert "model.norm.weight is stepped 6 times in 3 steps" in release.judge(release_by(twice)).found
    assert "model.norm.weight is stepped 0 times in 3 steps" in release.judge(release_by(left_out)).found


def test_weights_that_release_moves_elsewhere_fail() -> None:
    def against_the_gradient(optimizer: TensorOptimizer, name: str, parameter: Tensor) -> None:
        optimizer.update(parameter, parameter.grad * (-1 if name == "model.norm.weight" else 1))

    outcome = release.judge(release_by(against_the_gradient))
    assert outcome.status == "failed"
    assert "tensors are others" in outcome.found


# --- tied head


def chunk_by_chunk(model: Any, optimizer: TensorOptimizer) -> TakeStep:
    """One backward pass for each chunk of the loss, and release: embedding and head get many steps."""

    def hook(parameter: Tensor) -> None:
        optimizer.update(parameter, parameter.grad)
        parameter.grad = None

    for parameter in model.parameters():
        parameter.register_post_accumulate_grad_hook(hook)

    def take_step(batch: Batch) -> None:
        hidden = model.model(input_ids=batch.input_ids).last_hidden_state[:, :-1].flatten(0, 1)
        cut = hidden.detach().requires_grad_()
        for rows in torch.arange(len(cut)).split(8):
            logits = cut[rows] @ model.get_output_embeddings().weight.T
            F.cross_entropy(logits, batch.labels[:, 1:].flatten()[rows], reduction="sum").backward()
        hidden.backward(cut.grad)

    return take_step


def test_a_head_stepped_with_every_chunk_fails() -> None:
    outcome = tied_head.judge(chunk_by_chunk, "memory.gradient_release: false")
    assert outcome.status == "failed"
    assert "model.embed_tokens.weight is stepped 21 times in 3 steps" in outcome.found


# --- 8-bit state


def test_state_that_the_usual_loading_casts_fails() -> None:
    """torch's own load_state_dict gives state the type of its weight (torchao issue 3314)."""

    def cast(folder: Path, optimizer: torch.optim.Optimizer) -> None:
        saved = torch.load(folder / "trainer_state" / "optimizer.pt")["state"]
        torch.optim.Optimizer.load_state_dict(optimizer, saved)

    outcome = optimizer_state.judge(cast)
    assert outcome.status == "failed"
    assert "uint8 comes back as float32" in outcome.found


def test_state_that_is_not_restored_at_all_fails() -> None:
    assert optimizer_state.judge(lambda folder, optimizer: None).status == "failed"


# --- saving


def test_a_model_that_loads_back_as_another_one_fails() -> None:
    def untied(model: Any, original: Path, folder: Path) -> None:
        model.config.tie_word_embeddings = False
        model.lm_head.weight = torch.nn.Parameter(model.lm_head.weight.detach().clone())
        model.save_pretrained(folder)

    def slightly_other(model: Any, original: Path, folder: Path) -> None:
        state = {name: tensor.clone() for name, tensor in model.state_dict().items()}
        state["model.norm.weight"] += 1
        model.save_pretrained(folder, state_dict=state)

    def usual(model: Any, original: Path, folder: Path) -> None:
        model.save_pretrained(folder)

    assert saving.judge(saving.save_merged).status == "ok"
    assert "vision tower" in saving.judge(usual).found
    assert "head and embedding" in saving.judge(untied).found
    assert "model.norm.weight" in saving.judge(slightly_other).found

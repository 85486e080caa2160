"""A step with gradient release is the same step, with each weight moved once and no full set of gradients."""

import math
from collections import Counter
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor
from transformers import AutoConfig, AutoModelForCausalLM

from engine.backward.clipping import measure_gradient_norm
from engine.backward.cut import differentiate_head, forward_to_cut
from engine.backward.norm import GradientNorms, norm_of
from engine.backward.release import GradientRelease
from engine.data.feeding.batches import Batch, collate
from engine.data.feeding.samples import Sample
from engine.model.head import LossHead, loss_head

SHAPE: dict[str, Any] = {
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 4,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 8,
    "vocab_size": 97,
    "pad_token_id": 0,
}
HYBRID: dict[str, Any] = {
    "linear_key_head_dim": 8,
    "linear_value_head_dim": 8,
    "linear_num_key_heads": 2,
    "linear_num_value_heads": 4,
}
KINDS = [("llama", True), ("llama", False), ("qwen3_5_text", True)]


def small(family: str, tied: bool) -> Any:
    torch.manual_seed(0)
    more = HYBRID if family == "qwen3_5_text" else {}
    config = AutoConfig.for_model(family, **SHAPE, **more, tie_word_embeddings=tied)
    return AutoModelForCausalLM.from_config(config, dtype=torch.float32).train()


def batch(length: int = 12) -> Batch:
    generator = torch.Generator().manual_seed(1)
    ids = torch.randint(3, 97, (2, length), generator=generator).to(torch.int32).numpy()
    has_loss = np.arange(length) > 0
    return collate([Sample(row=row, input_ids=line, has_loss=has_loss) for row, line in enumerate(ids)], 0)


class Counting:
    """A plain step, counted by weight; what stays behind of each gradient is its copy."""

    def __init__(self) -> None:
        self.steps: Counter[int] = Counter()
        self.gradients: dict[int, Tensor] = {}

    def update(self, parameter: Tensor, gradient: Tensor, keep: Tensor | None = None) -> None:
        assert keep is not None and keep.dtype == torch.bool and keep.ndim == 0
        self.steps[id(parameter)] += 1
        self.gradients[id(parameter)] = gradient.clone()


def released(head: LossHead, data: Batch) -> tuple[Counting, GradientNorms]:
    named = [(name, p) for name, p in head.model.named_parameters() if p.requires_grad]
    optimizer, norms = Counting(), GradientNorms(named)
    release = GradientRelease(optimizer, named, norms)
    at_cut = differentiate_head(forward_to_cut(head, data), data.loss_tokens)
    in_body = {id(p) for p in head.model.get_decoder().parameters()}
    release.step_all(p for p in at_cut.head_parameters if id(p) not in in_body)
    at_cut.backward()
    release.step_rest()
    release.remove()
    return optimizer, norms


@pytest.mark.parametrize("chunked", [True, False])
@pytest.mark.parametrize(("family", "tied"), KINDS)
def test_each_weight_takes_one_step_with_the_whole_gradient(family: str, tied: bool, chunked: bool) -> None:
    model, data = small(family, tied), batch()
    head = loss_head(model, chunked=chunked, chunk_tokens=5)
    (head.summed_loss(data.input_ids, data.labels) / data.loss_tokens).backward()  # type: ignore[no-untyped-call]
    whole = {name: p.grad for name, p in model.named_parameters()}
    expected = measure_gradient_norm(model.named_parameters()).norm
    model.zero_grad()

    optimizer, norms = released(head, data)
    for name, parameter in model.named_parameters():
        assert optimizer.steps[id(parameter)] == 1, name
        torch.testing.assert_close(optimizer.gradients[id(parameter)], whole[name], rtol=1e-5, atol=1e-7)
        assert parameter.grad is None
    assert float(norms.total()) == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize(("family", "tied"), KINDS)
def test_a_cut_step_without_release_has_bit_for_bit_the_gradients_of_one_with_it(family: str, tied: bool) -> None:
    model, data = small(family, tied), batch()
    head = loss_head(model, chunked=True, chunk_tokens=5)
    optimizer, _ = released(head, data)
    differentiate_head(forward_to_cut(head, data), data.loss_tokens).backward()
    for name, parameter in model.named_parameters():
        assert torch.equal(parameter.grad, optimizer.gradients[id(parameter)]), name


def test_a_head_tied_to_a_frozen_bodys_embedding_moves_all_the_same() -> None:
    model, data = small("llama", True), batch()
    model.requires_grad_(False)
    model.lm_head.weight.requires_grad_(True)
    optimizer, _ = released(loss_head(model, chunked=True, chunk_tokens=5), data)
    assert optimizer.steps == {id(model.lm_head.weight): 1}


def test_the_gradient_at_the_cut_is_known_before_anything_of_the_body_is() -> None:
    model, data = small("llama", False), batch()
    at_cut = differentiate_head(forward_to_cut(loss_head(model, True, 5), data), data.loss_tokens)
    assert at_cut.gradient.shape == (2, 12, 32) and math.isfinite(float(norm_of(at_cut.gradient)))
    with_gradient = [name for name, p in model.named_parameters() if p.grad is not None]
    assert with_gradient == ["lm_head.weight"]


def test_gradients_that_are_not_finite_are_named_and_keep_their_weight() -> None:
    kept: list[bool] = []

    class Keeps:
        def update(self, parameter: Tensor, gradient: Tensor, keep: Tensor | None = None) -> None:
            assert keep is not None
            kept.append(bool(keep))

    weights = [("a", torch.ones(2, requires_grad=True)), ("b", torch.ones(2, requires_grad=True))]
    norms = GradientNorms(weights)
    GradientRelease(Keeps(), weights, norms)
    (weights[0][1] * torch.tensor([3.0, 4.0])).sum().backward()  # type: ignore[no-untyped-call]
    (weights[1][1] * torch.tensor([math.inf, 0.0])).sum().backward()  # type: ignore[no-untyped-call]
    assert kept == [True, False]
    assert norms.by_name() == {"a": 5.0, "b": math.inf} and norms.first_not_finite() == "b"
    assert float(norms.total()) == math.inf


def test_a_rehearsal_measures_and_moves_nothing() -> None:
    weight = torch.ones(3, requires_grad=True)
    optimizer, norms = Counting(), GradientNorms([("w", weight)])
    release = GradientRelease(optimizer, [("w", weight)], norms)
    with release.only_measuring():
        (weight * 2).sum().backward()  # type: ignore[no-untyped-call]
    assert not optimizer.steps and weight.grad is None
    assert norms.by_name() == {"w": pytest.approx(math.sqrt(12))} and norms.not_measured() == ()
    norms.forget()
    assert norms.not_measured() == ("w",)

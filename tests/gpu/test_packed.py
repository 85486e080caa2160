"""Documents in one line are what they are alone, on the kernels of the GPU: losses and gradients."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor

from engine.data.feeding.batches import Batch, collate, collate_packs
from engine.data.feeding.samples import Sample, sample_of
from engine.model.attention.install import use_attention_kernels
from engine.model.compiled import compile_layers
from engine.model.delta_rule.install import use_delta_rule_operator
from engine.model.head import LossHead
from engine.model.packed.isolation import Isolation, Way
from engine.model.packed.proof import DIFFERENCE_LIMIT, LEAK_LIMIT, isolate, measure

from .machine import DTYPE, HAS_GPU
from .small import VOCABULARY, hybrid_model

pytestmark = pytest.mark.gpu
LINES = ((67, 129, 1, 59), (128, 4, 63, 2), (65, 64, 3))
"""Around the window of the convolution, the chunks of the delta rule and a token; the third line ends in padding."""
LOSS_LIMIT = {torch.float32: 1e-5, torch.bfloat16: 5e-3}
GRADIENT_LIMIT = {torch.float32: 1e-3, torch.bfloat16: 5e-2}
"""Shares of their lengths: sums run in another order, and in bfloat16 each is rounded."""


@pytest.fixture(scope="module", params=["masks", "kernels"])
def model(request: pytest.FixtureRequest) -> Any:
    """With the operators of the delta rule; attention by masks as in the library, or by the kernels of a run."""
    built = hybrid_model()
    for parameter in built.parameters():
        if parameter.dim() > 1:
            torch.nn.init.normal_(parameter, std=0.1)
    told = use_delta_rule_operator(built)
    assert ("kernels of flash-linear-attention" in told[0]) is HAS_GPU, told
    if request.param == "kernels":
        assert HAS_GPU is (use_attention_kernels(built, one_length=False) is not None)
    return built


@pytest.fixture(scope="module")
def isolation(model: Any) -> Isolation:
    found = isolate(model)
    assert "cu_seqlens" in found.way.how, found.way.how
    return found


def packs() -> list[list[Sample]]:
    generator = torch.Generator().manual_seed(3)
    lines, row = [], 0
    for lengths in LINES:
        lines.append([])
        for length in lengths:
            ids = torch.randint(VOCABULARY, (length,), generator=generator)
            labels = torch.where(torch.rand(length, generator=generator) < 0.7, ids, -100)
            lines[-1].append(sample_of(row, ids.tolist(), labels.tolist()))
            row += 1
    return lines


def loss_and_gradients(head: LossHead, batch: Batch) -> tuple[float, Tensor]:
    """The mean loss, and all gradients one after another in float32."""
    head.model.zero_grad()
    loss = head.summed_loss(batch.input_ids, batch.labels, batch.packs) / batch.loss_tokens
    loss.backward()  # type: ignore[no-untyped-call]
    found = torch.cat([p.grad.float().flatten() for p in head.model.parameters() if p.grad is not None])
    head.model.zero_grad()
    return float(loss.detach()), found


def assert_same_as_alone(head: LossHead, compile_model: Callable[[], object] = lambda: None) -> None:
    separate = collate([sample for line in packs() for sample in line], pad_id=0)
    wanted, wanted_gradients = loss_and_gradients(head, separate)
    compile_model()
    loss, gradients = loss_and_gradients(head, collate_packs(packs(), pad_id=0))
    assert abs(loss - wanted) <= LOSS_LIMIT[DTYPE] * wanted
    assert float((gradients - wanted_gradients).norm() / wanted_gradients.norm()) <= GRADIENT_LIMIT[DTYPE]


def test_no_document_changes_another_one(model: Any, isolation: Isolation) -> None:
    with torch.no_grad():
        leak, difference = measure(model.eval(), isolation)
    model.train()
    assert leak <= LEAK_LIMIT[DTYPE] and difference <= DIFFERENCE_LIMIT[DTYPE]


def test_the_measure_finds_documents_that_see_each_other(model: Any, isolation: Isolation) -> None:
    with torch.no_grad():
        leak, _ = measure(model.eval(), Isolation(model, Way("nothing")))
    model.train()
    assert leak > LEAK_LIMIT[DTYPE]


def test_loss_and_gradients_are_those_of_the_documents_alone(model: Any, isolation: Isolation) -> None:
    assert_same_as_alone(LossHead(model, 64, None, 1.0, isolation=isolation))


def test_compiled_layers_keep_documents_apart_too(model: Any, isolation: Isolation) -> None:
    """The last test of the model: its layers stay compiled."""
    backend = "inductor" if HAS_GPU else "aot_eager"
    head = LossHead(model, 64, None, 1.0, isolation=isolation)
    assert_same_as_alone(head, lambda: compile_layers(model, fixed_length=True, backend=backend))

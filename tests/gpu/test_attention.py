"""Attention's kernels on the GPU: documents against their definition, and a model that takes packs without a mask."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from engine.model.attention.check import gradient_error
from engine.model.attention.install import ERROR_LIMIT, use_attention_kernels
from engine.model.attention.interface import NAME_FOR_ONE_LENGTH
from engine.model.delta_rule.install import use_delta_rule_operator
from engine.model.head import LossHead
from engine.model.packed.proof import isolate

from .machine import DEVICE, DTYPE, on_gpu_alone
from .small import hybrid_model
from .test_packed import assert_same_as_alone

pytestmark = [pytest.mark.gpu, on_gpu_alone]


@pytest.mark.parametrize(("heads", "key_heads", "width"), [(16, 4, 256), (4, 4, 128), (8, 1, 64)])
def test_outputs_and_gradients_of_documents_are_those_of_the_definition(heads: int, key_heads: int, width: int) -> None:
    assert gradient_error(DEVICE, DTYPE, heads, key_heads, width) <= ERROR_LIMIT


@pytest.fixture(scope="module")
def model() -> Any:
    built = hybrid_model()
    for parameter in built.parameters():
        if parameter.dim() > 1:
            torch.nn.init.normal_(parameter, std=0.1)
    use_delta_rule_operator(built)
    assert use_attention_kernels(built, one_length=True) and built.config._attn_implementation == NAME_FOR_ONE_LENGTH
    return built


def test_packs_without_a_mask_give_the_losses_and_gradients_of_documents_alone(model: Any) -> None:
    isolation = isolate(model)
    assert isolation.way.how.startswith("attention by documents and cu_seqlens"), isolation.way.how
    assert_same_as_alone(LossHead(model, 64, None, 1.0, isolation=isolation))


def test_a_line_of_one_document_runs_in_cudnn_or_flash(model: Any) -> None:
    ids = torch.arange(1, 257, device=DEVICE)[None]
    with torch.profiler.profile() as profile:
        model.model(input_ids=ids, use_cache=False)
    names = {event.key for event in profile.key_averages()}
    assert names & {"aten::_scaled_dot_product_cudnn_attention", "aten::_scaled_dot_product_flash_attention"}, names

"""The way of a GPU, tried here with a delta rule that takes `cu_seqlens` as its kernels do."""

from __future__ import annotations

from functools import partial
from itertools import pairwise
from typing import Any

import pytest
import torch
from torch import Tensor
from transformers import AutoConfig, AutoModelForCausalLM
from transformers.models.qwen3_5 import modeling_qwen3_5

from engine.data.feeding.batches import collate, collate_packs
from engine.data.feeding.samples import sample_of
from engine.model.head import LossHead
from engine.model.packed.isolation import Isolation, Way
from engine.model.packed.layout import spread
from engine.model.packed.proof import measure

SHAPE: dict[str, Any] = {
    "vocab_size": 97,
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 8,
    "layer_types": ["linear_attention", "full_attention"],
    "linear_num_key_heads": 2,
    "linear_num_value_heads": 4,
    "linear_key_head_dim": 8,
    "linear_value_head_dim": 8,
}
LENGTHS = [[67, 6, 1], [20, 12], [74]]


@pytest.fixture
def kernels(monkeypatch: pytest.MonkeyPatch) -> list[list[int]]:
    """Let the delta rule start anew at `cu_seqlens`; collects what it is told. The convolution knows no documents."""
    rule = modeling_qwen3_5.torch_chunk_gated_delta_rule
    heard: list[list[int]] = []

    def by_document(
        query: Tensor, key: Tensor, value: Tensor, *, g: Tensor, beta: Tensor, cu_seqlens: Tensor | None, **options: Any
    ) -> tuple[Tensor, None]:
        if cu_seqlens is None:
            out, _ = rule(query, key, value, g=g, beta=beta, **options)
            return out, None
        assert query.shape[0] == 1 and cu_seqlens[-1] == query.shape[1] and cu_seqlens.dtype == torch.int32
        heard.append(cu_seqlens.tolist())
        parts = [
            rule(
                *(one[:, start:stop] for one in (query, key, value)),
                g=g[:, start:stop],
                beta=beta[:, start:stop],
                **options,
            )[0]
            for start, stop in pairwise(cu_seqlens.tolist())
        ]
        return torch.cat(parts, dim=1), None

    monkeypatch.setattr(modeling_qwen3_5, "torch_chunk_gated_delta_rule", by_document)
    return heard


def model_and_way() -> tuple[Any, Way]:
    torch.manual_seed(0)
    model = AutoModelForCausalLM.from_config(AutoConfig.for_model("qwen3_5_text", **SHAPE), dtype=torch.float32)
    for parameter in model.parameters():
        if parameter.dim() > 1:
            torch.nn.init.normal_(parameter, std=0.2)
    mixers = (model.model.layers[0].linear_attn,)
    return model, Way("cu_seqlens", mixers, partial(spread, gap=3))


def test_documents_in_one_line_with_gaps_are_what_they_are_alone(kernels: list[list[int]]) -> None:
    model, way = model_and_way()
    generator = torch.Generator().manual_seed(3)
    ids = [[torch.randint(3, 97, (size,), generator=generator).tolist() for size in line] for line in LENGTHS]
    lines = [[sample_of(0, tokens, tokens) for tokens in line] for line in ids]
    head = LossHead(model, 16, None, 1.0, isolation=Isolation(model, way))
    packed, separate = collate_packs(lines, 0), collate([sample for line in lines for sample in line], 0)
    found = []
    for batch in (packed, separate):
        model.zero_grad()
        loss = head.summed_loss(batch.input_ids, batch.labels, batch.packs)
        loss.backward()  # type: ignore[no-untyped-call]
        found.append((loss.detach(), {name: p.grad.clone() for name, p in model.named_parameters()}))
    torch.testing.assert_close(found[0], found[1], rtol=1e-3, atol=1e-4)
    assert kernels == [[0, 70, 79, 83, 106, 121, 198]], "each document with a gap of three behind it, padding left out"


def test_without_the_gap_the_proof_finds_the_convolution(kernels: list[list[int]]) -> None:
    model, way = model_and_way()
    with torch.no_grad():
        leak, difference = measure(model.eval(), Isolation(model, way))
    assert leak == 0.0 and difference < 1e-5
    model, _ = model_and_way()
    close = Way("no gap", (model.model.layers[0].linear_attn,), partial(spread, gap=0))
    with torch.no_grad():
        leak, _ = measure(model.eval(), Isolation(model, close))
    assert leak > 0.01 and kernels

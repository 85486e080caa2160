"""Layers that compute with our operators take the documents of all lines by their borders, no token moved."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.utils.checkpoint import checkpoint
from transformers import AutoConfig, AutoModelForCausalLM

from engine.data.feeding.batches import Batch, Slots, collate, collate_packs, packs_of
from engine.data.feeding.samples import sample_of
from engine.model.delta_rule.install import use_delta_rule_operator
from engine.model.delta_rule.mixer import takes_documents
from engine.model.head import LossHead
from engine.model.packed.isolation import Isolation, Way
from engine.model.packed.layout import borders_of
from engine.model.packed.proof import LEAK_LIMIT, isolate, measure

QUICKSTART = Path(__file__).parents[3] / "configs" / "quickstart" / "model"
LENGTHS = [[67, 6, 1], [20, 12], [74]]


@pytest.fixture
def model() -> Any:
    torch.manual_seed(0)
    made = AutoModelForCausalLM.from_config(AutoConfig.from_pretrained(QUICKSTART), dtype=torch.float32)
    use_delta_rule_operator(made)
    return made


@pytest.fixture(scope="module")
def batches() -> tuple[Batch, Batch]:
    """The same documents packed, and each in a line of its own."""
    generator = torch.Generator().manual_seed(3)
    ids = [[torch.randint(3, 3072, (size,), generator=generator).tolist() for size in line] for line in LENGTHS]
    lines = [[sample_of(0, tokens, tokens) for tokens in line] for line in ids]
    return collate_packs(lines, 0), collate([sample for line in lines for sample in line], 0)


def loss_and_gradients(head: LossHead, batch: Batch) -> tuple[Tensor, dict[str, Tensor]]:
    head.model.zero_grad()
    loss = head.summed_loss(batch.input_ids, batch.labels, batch.packs)
    loss.backward()  # type: ignore[no-untyped-call]
    return loss.detach(), {name: p.grad.clone() for name, p in head.model.named_parameters() if p.grad is not None}


def test_packs_have_the_loss_and_the_gradients_of_separate_documents(model: Any, batches: tuple[Batch, Batch]) -> None:
    head = LossHead(model, 16, None, 1.0, isolation=isolate(model))
    assert head.isolation is not None and "cu_seqlens in 3 Qwen3_5GatedDeltaNet layers" in head.isolation.way.how
    packed, separate = (loss_and_gradients(head, batch) for batch in batches)
    torch.testing.assert_close(packed, separate, rtol=1e-3, atol=1e-4)


def test_layers_that_run_once_more_in_the_backward_pass_have_the_layout_of_their_forward_pass(
    model: Any, batches: tuple[Batch, Batch], monkeypatch: pytest.MonkeyPatch
) -> None:
    head = LossHead(model, 16, None, 1.0, isolation=isolate(model))
    wanted = loss_and_gradients(head, batches[0])
    runs = []
    for layer in model.model.layers:
        before = layer.forward

        def recomputed(hidden: Tensor, *args: Any, before: Any = before, **kwargs: Any) -> Any:
            def counted(value: Tensor) -> Any:
                runs.append(1)
                return before(value, *args, **kwargs)

            return checkpoint(counted, hidden, use_reentrant=False)

        monkeypatch.setattr(layer, "forward", recomputed)
    found = loss_and_gradients(head, batches[0])
    assert len(runs) == 2 * len(model.model.layers), "each layer once forward and once more in the backward pass"
    torch.testing.assert_close(found, wanted, rtol=0, atol=0)


def test_padding_is_a_document_and_lines_follow_one_another() -> None:
    packs = packs_of([Slots(0, 0, 4), Slots(0, 4, 5), Slots(1, 0, 3)], (2, 6))
    borders = borders_of(packs)
    assert borders.tolist() == [0, 4, 5, 6, 9, 12] and borders.dtype == torch.int32


def test_a_layer_takes_the_lines_of_a_batch_as_one_and_documents_of_no_token_as_none(model: Any) -> None:
    mixer = model.model.layers[0].linear_attn
    hidden = torch.randn(2, 6, mixer.hidden_size)
    borders = torch.tensor([0, 4, 6, 9, 12], dtype=torch.int32)
    with_empty = torch.tensor([0, 0, 4, 6, 6, 9, 12, 12], dtype=torch.int32)
    apart = [mixer(hidden.view(1, 12, -1)[:, start:stop]) for start, stop in ((0, 4), (4, 6), (6, 9), (9, 12))]
    found = mixer(hidden, cu_seq_lens_q=borders)
    torch.testing.assert_close(found, torch.cat(apart, 1).view(2, 6, -1))
    torch.testing.assert_close(mixer(hidden, cu_seq_lens_q=with_empty), found)


@pytest.mark.parametrize("forgets", [True, False], ids=["convolution alone", "state and convolution"])
def test_layers_that_are_not_told_of_documents_are_found(model: Any, forgets: bool) -> None:
    with torch.no_grad():
        for layer in model.model.layers[:3]:
            if forgets:
                layer.linear_attn.A_log.fill_(9.0)  # the state is forgotten at once, the convolution's window stays
        leak, _ = measure(model.eval(), Isolation(model, Way("none")))
    assert leak > LEAK_LIMIT[torch.bfloat16]


def test_after_the_isolation_is_removed_the_operators_are_still_there(model: Any) -> None:
    isolate(model).remove()
    assert takes_documents(model.model.layers[0].linear_attn)

"""What the console says about recomputation is so."""

from __future__ import annotations

import pytest
import torch

from engine.doctor.checks.tiny import tiny_model
from engine.model.delta_rule.install import use_delta_rule_operator
from engine.model.recompute import recompute_activations


@pytest.mark.parametrize(("attention", "unseen"), [("sdpa", 0), ("eager", 1)])
def test_attention_that_is_not_kept_is_not_said_to_be_kept(attention: str, unseen: int) -> None:
    model = tiny_model(torch.float32)
    model.set_attn_implementation(attention)
    use_delta_rule_operator(model)
    found = recompute_activations(model, "selective")
    assert found.unseen_mixers == unseen
    assert ("attn_implementation: sdpa" in found.sentence()) == bool(unseen)

"""Layers with the operators compute what the library's compute, and the library's stay otherwise."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor
from torch.utils.checkpoint import CheckpointPolicy, checkpoint, create_selective_checkpoint_contexts

from engine.model.delta_rule import kernels
from engine.model.delta_rule.install import use_delta_rule_operator, what_runs
from engine.model.delta_rule.kernels import KernelReport, refusal
from engine.model.delta_rule.mixer import takes_documents

from .small import FAMILIES, delta_net_model

IDS = torch.randint(3, 97, (2, 70), generator=torch.Generator().manual_seed(4))


def loss_and_gradients(model: Any) -> tuple[Tensor, dict[str, Tensor]]:
    model.zero_grad()
    loss = model(IDS, labels=IDS, use_cache=False).loss
    loss.backward()
    return loss.detach(), {name: one.grad.clone() for name, one in model.named_parameters() if one.grad is not None}


def mixer_of(model: Any) -> Any:
    return model.model.layers[0].linear_attn


@pytest.mark.parametrize("family", FAMILIES)
def test_loss_and_gradients_stay_what_they_were(family: str) -> None:
    model = delta_net_model(family)
    wanted = loss_and_gradients(model)
    [told] = use_delta_rule_operator(model)
    assert takes_documents(mixer_of(model)) and "as one operator: in torch" in told
    torch.testing.assert_close(loss_and_gradients(model), wanted, rtol=1e-3, atol=1e-5)


def test_the_model_still_generates_with_its_cache_and_saves_the_same_names() -> None:
    model = delta_net_model().eval()
    names = list(model.state_dict())
    options: dict[str, Any] = {"max_new_tokens": 4, "do_sample": False}
    wanted = model.generate(IDS[:, :5], **options)
    use_delta_rule_operator(model)
    assert torch.equal(model.generate(IDS[:, :5], **options), wanted)
    assert list(model.state_dict()) == names


def test_padding_on_the_left_is_masked_as_before() -> None:
    model = delta_net_model().eval()
    mask = torch.ones_like(IDS)
    mask[1, :9] = 0
    wanted = model(IDS, attention_mask=mask, use_cache=False).logits
    use_delta_rule_operator(model)
    torch.testing.assert_close(model(IDS, attention_mask=mask, use_cache=False).logits, wanted, rtol=1e-4, atol=1e-4)


def test_a_model_without_such_layers_has_nothing_to_tell() -> None:
    model = delta_net_model(layer_types=["full_attention", "full_attention"])
    assert use_delta_rule_operator(model) == ()


def test_a_layer_that_computes_something_else_is_kept_and_named() -> None:
    model = delta_net_model()
    mixer = mixer_of(model)
    library = type(mixer).forward
    mixer.forward = lambda hidden, **more: 1.5 * library(mixer, hidden, **more)
    own = mixer.forward
    [told] = use_delta_rule_operator(model)
    assert "compute as the library has them: the operators' outputs differ by" in told
    assert mixer.forward is own
    torch.manual_seed(0)
    other = delta_net_model()
    mixer_of(other).activation = "gelu"
    [told] = use_delta_rule_operator(other)
    assert "their parts are not those that the operators know" in told and not takes_documents(mixer_of(other))


def test_selective_recomputation_sees_the_rule_once_and_can_keep_it() -> None:
    mixer = delta_net_model()
    use_delta_rule_operator(mixer)
    mixer = mixer_of(mixer)
    hidden = torch.randn(2, 70, 32, generator=torch.Generator().manual_seed(5)).requires_grad_()
    seen: list[tuple[bool, str]] = []

    def policy(context: Any, operator: Any, *args: Any, **kwargs: Any) -> CheckpointPolicy:
        seen.append((context.is_recompute, str(operator)))
        kept = operator in (torch.ops.pgs.gated_delta_rule.default, torch.ops.pgs.causal_conv1d.default)
        return CheckpointPolicy.MUST_SAVE if kept else CheckpointPolicy.PREFER_RECOMPUTE

    outputs = checkpoint(
        mixer, hidden, use_reentrant=False, context_fn=lambda: create_selective_checkpoint_contexts(policy)
    )
    found = torch.autograd.grad(outputs.square().sum(), [hidden, *mixer.parameters()])
    wanted = torch.autograd.grad(mixer(hidden).square().sum(), [hidden, *mixer.parameters()])
    torch.testing.assert_close(found, wanted)
    ours = [name for is_recompute, name in seen if name.startswith("pgs") and not is_recompute]
    assert ours == ["pgs.causal_conv1d.default", "pgs.gated_delta_rule.default"]


def test_a_compiled_mixer_has_the_operators_in_one_graph() -> None:
    model = delta_net_model()
    use_delta_rule_operator(model)
    mixer = mixer_of(model)
    hidden = torch.randn(1, 70, 32, generator=torch.Generator().manual_seed(5)).requires_grad_()
    borders = torch.tensor([0, 66, 70], dtype=torch.int32)
    graphs: list[Any] = []

    def keep(graph: Any, _: Any) -> Any:
        graphs.append(graph)
        return graph.forward

    torch.compile(mixer, fullgraph=True, backend=keep)(hidden, cu_seq_lens_q=borders)
    [graph] = graphs
    assert graph.code.count("pgs.gated_delta_rule.default(") == graph.code.count("pgs.causal_conv1d.default(") == 1
    torch._dynamo.reset()
    compiled = torch.compile(mixer, fullgraph=True, backend="aot_eager")
    found = torch.autograd.grad(compiled(hidden, cu_seq_lens_q=borders).square().sum(), [hidden, *mixer.parameters()])
    wanted = torch.autograd.grad(mixer(hidden, cu_seq_lens_q=borders).square().sum(), [hidden, *mixer.parameters()])
    torch.testing.assert_close(found, wanted, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(
    ("capability", "triton", "tilelang", "refused"),
    [
        ((9, 0), "3.4.0", None, True),
        ((9, 0), "3.6.0", None, True),
        ((9, 0), "3.7.0", None, True),
        ((9, 0), "3.7.1", None, False),
        ((9, 0), "3.3.1", None, False),
        ((9, 0), "3.6.0", "0.1.8", False),
        ((8, 0), "3.6.0", None, False),
        ((10, 0), "3.6.0", None, False),
        ((8, 0), None, None, True),
    ],
)
def test_triton_that_is_wrong_on_hopper_is_refused(
    capability: tuple[int, int], triton: str | None, tilelang: str | None, refused: bool
) -> None:
    assert (refusal(capability, triton, tilelang) is not None) == refused


def test_what_runs_is_named_and_so_is_why_nothing_quicker_does() -> None:
    gpu = torch.device("cuda")
    assert "kernels of flash-linear-attention 0.6.0 (Triton 3.8.0)" in what_runs(
        gpu, KernelReport("0.6.0", "3.8.0", None, None)
    )
    missing = what_runs(gpu, KernelReport(None, "3.8.0", None, None))
    assert "several times slower" in missing and "flash-linear-attention is not installed" in missing
    assert "wrong gradients" in what_runs(gpu, KernelReport("0.6.0", "3.6.0", None, refusal((9, 0), "3.6.0", None)))


def test_nothing_of_the_kernels_is_loaded_on_a_cpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernels, "kernels", lambda: pytest.fail("the kernels were asked for"))
    use_delta_rule_operator(delta_net_model())

"""Activation checkpointing changes memory and time, never a gradient."""

import copy
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode
from transformers import PreTrainedModel

from engine.data.feeding.batches import collate_packs
from engine.data.feeding.samples import Sample
from engine.errors import UserError
from engine.model.freeze import freeze_non_attention
from engine.model.packed.proof import isolate
from engine.model.recompute import recompute_activations
from engine.model.recompute.choice import choose
from engine.model.recompute.matmuls import Cost, MatmulRecorder, is_mixing, weights_by_key
from tests.model.recompute.conftest import MODELS

Build = Callable[..., PreTrainedModel]
IDS = torch.arange(40).view(2, 20) % 64


def loss_of(model: PreTrainedModel) -> Tensor:
    torch.manual_seed(1)  # for dropout
    return model(input_ids=IDS, use_cache=False).logits.float().pow(2).mean()


def gradients(model: PreTrainedModel) -> dict[str, Tensor]:
    loss_of(model).backward()
    return {name: p.grad for name, p in model.named_parameters() if p.grad is not None}


class ForwardOps(TorchDispatchMode):
    """Counts how often the cores of mixers run."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.mixers: Counter[str] = Counter()

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if is_mixing(func):
            self.mixers[func._schema.name] += 1
        return func(*args, **(kwargs or {}))


def layers(model: PreTrainedModel) -> nn.ModuleList:
    return next(m for m in model.base_model.modules() if isinstance(m, nn.ModuleList))


@pytest.mark.parametrize("how", ["full", "mixers", "selective"])
@pytest.mark.parametrize("kind", MODELS)
@pytest.mark.parametrize("freeze", [False, True])
def test_gradients_are_bit_for_bit_those_without_it(build: Build, kind: str, how: Any, freeze: bool) -> None:
    plain = build(kind)
    model = build(kind)
    model.load_state_dict(plain.state_dict())
    if freeze:
        freeze_non_attention(plain)
        freeze_non_attention(model)
    recompute_activations(model, how)
    expected, found = gradients(plain), gradients(model)
    assert found.keys() == expected.keys() == {n for n, p in plain.named_parameters() if p.requires_grad}
    for name in expected:
        assert torch.equal(found[name], expected[name]), name


@pytest.mark.parametrize("kind", ["llama", "qwen3_5"])
def test_mixers_run_once_where_they_are_kept_and_twice_with_full(build: Build, kind: str) -> None:
    runs = {}
    for how in ("none", "selective", "mixers", "full"):
        model = build(kind)
        if how != "none":
            recompute_activations(model, how)
        with ForwardOps(model) as seen:
            loss_of(model).backward()
        runs[how] = seen.mixers
    assert runs["selective"] == runs["mixers"] == runs["none"]
    assert runs["full"] == Counter({name: 2 * count for name, count in runs["none"].items()})
    assert sum(runs["none"].values()) == 2
    assert ("pgs::gated_delta_rule" in runs["none"]) == (kind == "qwen3_5")


def matmul_flops(model: PreTrainedModel) -> int:
    """Of all matmuls with a layer's weight in a step, forward, again and backward."""
    recorder = MatmulRecorder({key: name for layer in layers(model) for key, name in weights_by_key(layer).items()})
    with recorder:
        loss_of(model).backward()
    return sum(cost.flops for cost in recorder.costs.values())


@pytest.mark.parametrize("kind", MODELS)
def test_selective_runs_about_half_of_the_matmuls_again_that_full_does(build: Build, kind: str) -> None:
    models = {how: build(kind) for how in ("none", "selective", "mixers", "full")}
    for how in ("selective", "mixers", "full"):
        recompute_activations(models[how], how)
    flops = {how: matmul_flops(model) for how, model in models.items()}
    again = {how: flops[how] - flops["none"] for how in ("selective", "mixers", "full")}
    assert 0.5 <= again["selective"] / again["full"] < 0.75
    assert again["mixers"] == again["full"]


@pytest.mark.parametrize("how", ["full", "selective"])
def test_packs_have_the_gradients_that_they_have_without_it(build: Build, how: Any) -> None:
    found = []
    for recomputes in (False, True):
        model = build("qwen3_5")
        if recomputes:
            recompute_activations(model, how)
        samples = [
            Sample(row=row, input_ids=np.arange(3, 3 + length, dtype=np.int32), has_loss=np.arange(length) > 0)
            for row, length in enumerate((9, 14, 6))
        ]
        batch = collate_packs([samples], 0)
        told = isolate(model).enter(batch.packs)
        model(input_ids=batch.input_ids, use_cache=False, **told).logits.pow(2).mean().backward()
        found.append([parameter.grad for parameter in model.parameters()])
    assert all(torch.equal(one, other) for one, other in zip(*found, strict=True))


@pytest.mark.parametrize("kind", MODELS)
def test_selective_keeps_no_output_that_the_backward_pass_does_not_need(build: Build, kind: str) -> None:
    kept = recompute_activations(build(kind), "selective").kept
    assert len(kept) == 2
    for names in kept.values():
        assert names
        assert kind in ("gpt2", "olmo2") or not any("mlp.down_proj" in name or "4h_to_h" in name for name in names)


def test_the_longest_inputs_are_chosen_first_then_the_largest_within_half() -> None:
    costs = {
        "wide": Cost(flops=2 * 10 * 100, bytes=2 * 10),
        "long": Cost(flops=2 * 4 * 400, bytes=2 * 4),
        "small": Cost(flops=2 * 5 * 100, bytes=2 * 5),
        "huge": Cost(flops=2 * 40 * 100, bytes=2 * 40),
    }
    assert choose(costs) == ("long", "small", "wide")
    assert choose({}) == ()


@pytest.mark.parametrize("how", ["full", "selective"])
def test_each_parameter_is_complete_once_in_a_backward_pass(build: Build, how: Any) -> None:
    model = build("qwen3_5")
    recompute_activations(model, how)
    fired: Counter[str] = Counter()
    for name, parameter in model.named_parameters():
        parameter.register_post_accumulate_grad_hook(lambda _, name=name: fired.update([name]))
    loss_of(model).backward()
    assert fired == Counter(dict.fromkeys((name for name, _ in model.named_parameters()), 1))


def test_set_up_leaves_gradients_random_numbers_and_mode_alone(build: Build) -> None:
    model = build("gpt2").eval()
    before = torch.get_rng_state()
    recompute_activations(model, "selective")
    assert torch.equal(torch.get_rng_state(), before)
    assert not model.training
    assert all(parameter.grad is None for parameter in model.parameters())


@pytest.mark.parametrize("how", ["full", "selective"])
def test_evaluation_is_as_before(build: Build, how: Any) -> None:
    plain, model = build("qwen3_5").eval(), build("qwen3_5").eval()
    recompute_activations(model, how)
    with torch.no_grad():
        assert torch.equal(plain(input_ids=IDS).logits, model(input_ids=IDS).logits)


def test_fewer_bytes_are_kept_for_the_backward_pass(build: Build) -> None:
    kept = {}
    for how in ("none", "selective", "mixers", "full"):
        model = build("llama", num_hidden_layers=4)
        if how != "none":
            recompute_activations(model, how)
        kept[how] = live_after_forward(model)
    assert kept["full"] < kept["mixers"] < kept["selective"] < kept["none"]


def live_after_forward(model: PreTrainedModel) -> int:
    """Bytes of storages made by a forward pass that are still there at its end."""
    import weakref

    alive: dict[int, int] = {}

    class Live(TorchDispatchMode):
        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            out = func(*args, **(kwargs or {}))
            for tensor in torch.utils._pytree.tree_leaves(out):
                if isinstance(tensor, Tensor):
                    storage = tensor.untyped_storage()
                    key = storage._cdata
                    if key not in alive:
                        alive[key] = storage.nbytes()
                        weakref.finalize(storage, alive.pop, key, None)
            return out

    with Live():
        loss = loss_of(model)
    total = sum(alive.values())
    assert loss.requires_grad
    return total


def test_a_layer_that_runs_otherwise_than_through_its_forward_is_refused(build: Build) -> None:
    model = build("llama")
    layer = model.model.layers[1]
    twin = copy.deepcopy(layer)
    hidden_by = type("Around", (type(layer),), {"__call__": lambda self, *args, **kwargs: twin(*args, **kwargs)})
    layer.__class__ = hidden_by
    with pytest.raises(UserError, match=r"1 of 2 layers .* not computed again, the first: layers\.1"):
        recompute_activations(model, "full")


def test_a_model_without_its_list_of_layers_is_refused(build: Build) -> None:
    model = build("llama")
    model.config.num_hidden_layers = 3
    with pytest.raises(UserError, match="has no list of its 3 layers"):
        recompute_activations(model, "full")

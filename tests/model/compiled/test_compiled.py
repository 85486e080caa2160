"""Compiled layers: the gradients of the eager ones, one graph a kind, none of them twice."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch._dynamo.utils import counters

from engine.model.compiled import compile_layers
from engine.model.compiled.watch import Compiled, CompilerWatch, last_reason
from engine.model.freeze import freeze_non_attention
from engine.model.packed.proof import isolate
from engine.model.recompute import recompute_activations
from tests.model.compiled.small import batches, gradients, hidden_of, saved_bytes, small_model


def assert_close(found: dict[str, torch.Tensor], wanted: dict[str, torch.Tensor], tolerance: float = 1e-5) -> None:
    assert found.keys() == wanted.keys()
    for name, gradient in found.items():
        assert (gradient - wanted[name]).norm() <= tolerance * wanted[name].norm(), name


@pytest.mark.parametrize(
    ("family", "layers", "how", "packed", "kinds"),
    [
        ("qwen3_5_text", 8, "selective", True, 2),
        ("qwen3", 3, "none", True, 1),
        ("llama", 3, "selective", False, 1),
    ],
)
def test_layers_of_a_kind_share_one_graph_and_no_batch_needs_another(
    family: str, layers: int, how: Any, packed: bool, kinds: int
) -> None:
    model = small_model(family, layers)
    isolation = isolate(model) if packed else None
    wanted = [gradients(model, isolation, batch) for batch in batches(packed)]
    if how != "none":
        recompute_activations(model, how, compiles=True)
    done = compile_layers(model, fixed_length=packed, backend="aot_eager")
    assert (done.layers, done.kinds) == (layers, kinds)
    before = Compiled.so_far()
    for batch, gradient in zip(batches(packed), wanted, strict=True):
        assert_close(gradients(model, isolation, batch), gradient)
        assert Compiled.so_far().since(before).graphs == kinds
    assert not counters["graph_break"]


def test_a_graph_keeps_what_is_said_and_no_more() -> None:
    layers, batch = 2, batches(packed=False)[0]
    tokens = batch[0].numel()
    sizes: dict[str, int] = {}
    for how in ("full", "mixers", "selective"):
        model = small_model("llama", layers)
        told = recompute_activations(model, how, compiles=True)  # type: ignore[arg-type]
        sizes[f"{how}, eager"] = saved_bytes(model, None, batch)
        compile_layers(model, fixed_length=True, backend="aot_eager")
        sizes[how] = saved_bytes(model, None, batch)
    rotary = 2 * batch[0].shape[1] * 8 * 4  # cos and sin, once for all layers; eager layers hold them in another way
    random_state = torch.get_rng_state().numel()  # with each attention that is computed again: it could have dropout
    assert sizes["full"] == sizes["full, eager"] + rotary + layers * random_state
    assert set(told.kept.values()) == {("mlp.gate_proj.weight, mlp.up_proj.weight",)}
    assert "mlp.gate_proj.weight, mlp.up_proj.weight" in told.sentence()
    mixed = 32 + 4  # of each token: what attention gives, and the log of each head's sum
    assert sizes["mixers"] == sizes["full"] + layers * (tokens * mixed * 4 - random_state)
    kept = 2 * 48 + mixed  # both matmuls besides
    assert sizes["selective"] == sizes["full"] + layers * (tokens * kept * 4 - random_state)


def test_weights_move_within_the_backward_pass_and_frozen_ones_get_no_gradient() -> None:
    model = small_model("llama", 3)
    freeze_non_attention(model)
    moved: list[str] = []
    for name, parameter in model.named_parameters():
        if parameter.requires_grad:
            parameter.register_post_accumulate_grad_hook(lambda _, name=name: moved.append(name))
    wanted = gradients(model, None, batches(packed=False)[0])
    moved.clear()
    compile_layers(model, fixed_length=False, backend="eager")
    found = gradients(model, None, batches(packed=False)[0])
    assert_close(found, wanted)
    assert sorted(moved) == sorted(found) and all(".self_attn." in name for name in found)
    assert Compiled.so_far().graphs == 2, "the first layer, whose input needs no gradient, has a graph of its own"


def test_evaluation_runs_as_before_and_compiles_nothing() -> None:
    model, batch = small_model("llama", 2), batches(packed=False)[0]
    model.eval()
    wanted = hidden_of(model, None, batch)
    compile_layers(model, fixed_length=False, backend="aot_eager")
    before = Compiled.so_far()
    assert torch.equal(hidden_of(model, None, batch), wanted)
    model.train()
    with torch.no_grad():
        hidden_of(model, None, batch)
    assert Compiled.so_far() == before


def test_what_is_compiled_is_counted_and_told() -> None:
    model, said = small_model("llama", 2), list[str]()
    compile_layers(model, fixed_length=True, backend="eager")
    watch = CompilerWatch(said.append)
    with watch.warming_up():
        hidden_of(model, None, batches(packed=False)[0])
    assert said[0].startswith("compiled 1 graph in ") and said[0].endswith(" s")
    counts = []
    for step, batch in enumerate(batches(packed=False)):
        watch.step_begins()
        hidden_of(model, None, batch)
        counts.append(watch.step_ends(step))
    assert counts[:2] == [0, 1], "the second batch is shorter, and lines were said to be of one length"
    assert len(said) == 2 and said[1].startswith("note: step 1 compiled again (") and "size mismatch" in last_reason()

"""Inputs of layers that wait in main memory: the same gradients, and nothing of them left on the device."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor
from transformers import PreTrainedModel

from engine.errors import UserError
from engine.model.compiled import compile_layers
from engine.model.compiled.watch import Compiled
from engine.model.decoder import decoder_layers
from engine.model.offload import LayerInputs, offload_layer_inputs
from engine.model.offload.copies import AtOnce, buffers_in_a_block
from engine.model.recompute import recompute_activations
from engine.units import MIB
from tests.model.recompute.conftest import MODELS

Build = Callable[..., PreTrainedModel]
IDS = torch.arange(40).view(2, 20) % 64
INPUT = 2 * 20 * 32 * 4
"""Bytes of a layer's input."""


class Counting(AtOnce):
    """Plain copies, with a record of what was copied where and of what was waited for."""

    def __init__(self) -> None:
        self.copied: list[tuple[Tensor, Tensor]] = []
        self.waited: list[int] = []

    def start(self, source: Tensor, target: Tensor) -> Any:
        target.copy_(source)
        self.copied.append((source.detach().clone(), target.detach().clone()))
        return len(self.copied) - 1

    def wait(self, copy: Any) -> None:
        self.waited.append(copy)


def pair(build: Build, kind: str, how: str, **changes: Any) -> tuple[PreTrainedModel, PreTrainedModel, LayerInputs]:
    """The same model twice, the second with its layers' inputs in main memory."""
    plain, model = build(kind, **changes), build(kind, **changes)
    model.load_state_dict(plain.state_dict())
    recompute_activations(plain, how)  # type: ignore[arg-type]
    recompute_activations(model, how)  # type: ignore[arg-type]
    return plain, model, offload_layer_inputs(model, Counting())


def gradients(model: PreTrainedModel) -> dict[str, Tensor]:
    model.zero_grad()
    torch.manual_seed(1)  # for dropout
    model(input_ids=IDS, use_cache=False).logits.float().pow(2).mean().backward()
    return {name: p.grad.clone() for name, p in model.named_parameters() if p.grad is not None}


def assert_equal(found: dict[str, Tensor], expected: dict[str, Tensor]) -> None:
    assert found.keys() == expected.keys()
    for name in expected:
        assert torch.equal(found[name], expected[name]), name


@pytest.mark.parametrize("how", ["full", "selective"])
@pytest.mark.parametrize("kind", MODELS)
def test_gradients_are_bit_for_bit_those_without_it(build: Build, kind: str, how: str) -> None:
    plain, model, inputs = pair(build, kind, how)
    expected = gradients(plain)
    for _ in range(2):  # the second time with buffers that were used before
        assert_equal(gradients(model), expected)
    assert inputs.parked == 1, "of two layers the last one's input stays"
    assert inputs.buffers.nbytes == INPUT


def test_each_input_leaves_and_comes_back_once_in_reverse(build: Build) -> None:
    _, model, inputs = pair(build, "llama", "full", num_hidden_layers=6)
    copies = inputs._copies
    assert isinstance(copies, Counting)
    gradients(model)
    assert inputs.parked == 5 and inputs.buffers.nbytes == 5 * INPUT
    away, back = copies.copied[:5], copies.copied[5:]
    assert len(back) == 4, "the input of the last but one was on the device still"
    for (source, _), (_, target) in zip(reversed(away[:4]), back, strict=True):
        assert torch.equal(source.view(torch.uint8), target.view(torch.uint8))
    assert set(copies.waited) == set(range(9)), "every copy was waited for before its tensor was let go"


class Late(AtOnce):
    """Copies in their order, each only when it is waited for, as those of a busy stream may be; else there is NaN."""

    def __init__(self) -> None:
        self._pending: list[tuple[Tensor, Tensor]] = []
        self._done = 0

    def buffers(self, nbytes: int) -> list[Tensor]:
        return [torch.full((nbytes,), 255, dtype=torch.uint8)]

    def start(self, source: Tensor, target: Tensor) -> Any:
        target.fill_(torch.nan)
        self._pending.append((source, target))
        return len(self._pending)

    def wait(self, copy: Any) -> None:
        for source, target in self._pending[self._done : copy]:
            target.copy_(source)
        self._done = max(self._done, copy)


def test_nothing_is_taken_before_its_copies_are_over(build: Build) -> None:
    plain, model = build("llama", num_hidden_layers=6), build("llama", num_hidden_layers=6)
    for each in (plain, model):
        recompute_activations(each, "full")
    offload_layer_inputs(model, Late())
    expected = gradients(plain)
    for _ in range(2):
        assert_equal(gradients(model), expected)


@pytest.mark.usefixtures("fresh_compiler")
@pytest.mark.parametrize("compiles", [False, True], ids=["eager", "compiled"])
@pytest.mark.parametrize("how", ["full", "selective"])
def test_the_forward_pass_leaves_the_inputs_of_two_layers_on_the_device(build: Build, how: Any, compiles: bool) -> None:
    """And the backward pass gives the gradients that it gives with all of them there."""
    model = build("llama", num_hidden_layers=5)
    recompute_activations(model, how, compiles=compiles)
    if compiles:
        compile_layers(model, fixed_length=True, backend="aot_eager")
    alive_before, expected = inputs_after_forward(model)
    graphs = Compiled.so_far()
    offload_layer_inputs(model)
    alive, offloaded = inputs_after_forward(model)
    assert (alive_before, alive) == (5, 2)
    assert_equal(offloaded, expected)
    assert Compiled.so_far() == graphs


def inputs_after_forward(model: PreTrainedModel) -> tuple[int, dict[str, Tensor]]:
    """How many inputs of layers are on the device after a forward pass, and the gradients of its backward pass."""
    model.zero_grad()
    inputs = noted_inputs(model)
    hidden = model.base_model(input_ids=IDS, use_cache=False).last_hidden_state
    alive = sum(storage() is not None for storage in inputs)
    hidden.square().sum().backward()
    return alive, {name: p.grad for name, p in model.named_parameters() if p.grad is not None}


def noted_inputs(model: PreTrainedModel) -> list[weakref.ref[torch.UntypedStorage]]:
    """The memory of the inputs of all layers in the next forward pass."""
    noted: list[weakref.ref[torch.UntypedStorage]] = []
    for layer in decoder_layers(model).values():
        layer.register_forward_pre_hook(lambda _, args: noted.append(weakref.ref(args[0].untyped_storage())))
    return noted


def test_a_forward_pass_that_is_dropped_leaves_nothing_behind(build: Build) -> None:
    plain, model, inputs = pair(build, "llama", "full", num_hidden_layers=4)
    for _ in range(3):
        model(input_ids=IDS, use_cache=False)
    assert len(inputs.buffers._free) == 3 and inputs.buffers.nbytes == 3 * INPUT
    assert_equal(gradients(model), gradients(plain))
    assert inputs.buffers.nbytes == 3 * INPUT


def test_a_layer_that_fails_leaves_nothing_behind(build: Build) -> None:
    plain, model, inputs = pair(build, "llama", "full", num_hidden_layers=4)
    with torch.no_grad():
        expected = model(input_ids=IDS).logits  # no backward pass, nothing is parked
    assert inputs.parked == 0
    layer = list(decoder_layers(model).values())[2]
    hook = layer.mlp.register_forward_pre_hook(lambda *_: 1 / 0)  # type: ignore[operator,union-attr]
    with pytest.raises(ZeroDivisionError):
        model(input_ids=IDS, use_cache=False)
    hook.remove()
    assert torch.equal(model(input_ids=IDS, use_cache=False).logits, expected)
    assert_equal(gradients(model), gradients(plain))


def test_a_graph_may_go_backward_twice(build: Build) -> None:
    plain, model, _ = pair(build, "llama", "full", num_hidden_layers=4)
    found = []
    for each in (plain, model):
        loss = each(input_ids=IDS, use_cache=False).logits.float().pow(2).mean()
        loss.backward(retain_graph=True)
        loss.backward()
        found.append({name: p.grad for name, p in each.named_parameters() if p.grad is not None})
    assert_equal(found[1], found[0])


def test_two_forward_passes_before_their_backward_passes_do_not_mix(build: Build) -> None:
    plain, model, _ = pair(build, "llama", "full", num_hidden_layers=4)
    found = []
    for each in (plain, model):
        losses = [each(input_ids=ids, use_cache=False).logits.float().pow(2).mean() for ids in (IDS, IDS.flip(0, 1))]
        for loss in losses:
            loss.backward()
        found.append({name: p.grad for name, p in each.named_parameters() if p.grad is not None})
    assert_equal(found[1], found[0])


def test_buffers_grow_with_the_batches_and_the_small_ones_go(build: Build) -> None:
    _, model, inputs = pair(build, "llama", "full", num_hidden_layers=4)
    for ids in (IDS[:, :5], IDS, IDS[:, :5]):
        model(input_ids=ids, use_cache=False).logits.sum().backward()
        model.zero_grad()
    assert inputs.buffers.nbytes == 3 * INPUT


def test_page_locked_memory_is_asked_for_in_sizes_that_fill_a_power_of_two() -> None:
    for nbytes in (MIB, 20 * MIB, 80 * MIB, 33 * MIB, 5 * MIB + 256):
        block = nbytes * buffers_in_a_block(nbytes)
        assert block >= 0.8 * 2 ** (block - 1).bit_length()
    assert (buffers_in_a_block(MIB), buffers_in_a_block(80 * MIB)) == (1, 3)


def test_small_inputs_stay_and_the_sentence_says_so(build: Build) -> None:
    _, model, inputs = pair(build, "llama", "full", num_hidden_layers=4)
    inputs._copies.least_bytes = INPUT + 1
    gradients(model)
    assert inputs.parked == 0 and "has no effect" in inputs.sentence()
    inputs._copies.least_bytes = 0
    gradients(model)
    assert inputs.sentence().startswith("the inputs of 3 layers wait in main memory")
    _, model, inputs = pair(build, "llama", "full")
    gradients(model)
    assert inputs.sentence().startswith("the input of 1 layer waits in main memory")


def test_without_main_memory_one_sentence_says_what_to_do(build: Build) -> None:
    class Full(AtOnce):
        def buffers(self, nbytes: int) -> list[Tensor]:
            raise RuntimeError("CUDA error: out of memory")

    model = build("llama")
    recompute_activations(model, "full")
    offload_layer_inputs(model, Full())
    with pytest.raises(UserError, match=r"^memory.offload_activations: main memory has no .* set memory.offload_"):
        model(input_ids=IDS, use_cache=False)

"""Defects that a well-known trainer of this kind has, each as a test that this engine passes.

The numbers are those of a list of twenty. Some have no test, because what they are about does not exist here: an
estimator of memory before the run (12), AdaGC and averaged weights, of which the second half of 13 speaks, a gated loss
(the DEFT of 11) and Liger's kernels (18).
"""

from __future__ import annotations

import copy
import json
from collections import Counter
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors import safe_open
from safetensors.torch import load_file, save_file
from torch import Tensor
from torch.nn import functional
from torch.utils._python_dispatch import TorchDispatchMode
from transformers import AutoConfig, AutoModelForCausalLM, PreTrainedModel

from engine.backward.cut import differentiate_head, forward_to_cut
from engine.backward.norm import GradientNorms
from engine.backward.release import GradientRelease
from engine.checkpoint.merge import write_merged
from engine.checkpoint.original import Original, find_original
from engine.config import Train
from engine.data.feeding.batches import Batch, collate, collate_packs
from engine.data.feeding.sampler import EpochSampler
from engine.data.feeding.samples import Sample
from engine.events import EventReader, EventWriter, Step
from engine.health.spikes import SpikeDetector
from engine.model.delta_rule.install import use_delta_rule_operator
from engine.model.delta_rule.kernels import refusal
from engine.model.freeze import freeze_non_attention
from engine.model.head import LossHead, loss_head
from engine.model.packed.proof import isolate
from engine.model.recompute import recompute_activations
from engine.model.recompute.matmuls import is_mixing
from engine.optim.build import build_optimizer
from engine.optim.hyperball import hyperball_matrices
from engine.optim.state import state_tensors
from engine.optim.tensor_optimizer import TensorOptimizer

VOCABULARY, CHUNK = 97, 5
SHAPE: dict[str, Any] = {
    "hidden_size": 64,
    "intermediate_size": 96,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 16,
    "vocab_size": VOCABULARY,
    "tie_word_embeddings": True,
}
HYBRID: dict[str, Any] = {
    "layer_types": ["linear_attention", "full_attention"],
    "linear_num_key_heads": 2,
    "linear_num_value_heads": 4,
    "linear_key_head_dim": 16,
    "linear_value_head_dim": 16,
}


def model_of(family: str = "llama", dtype: torch.dtype = torch.float32) -> PreTrainedModel:
    torch.manual_seed(0)
    shape = SHAPE | (HYBRID if family == "qwen3_5_text" else {})
    model: PreTrainedModel = AutoModelForCausalLM.from_config(AutoConfig.for_model(family, **shape), dtype=dtype)
    use_delta_rule_operator(model)
    return model.train()


def sample_of(length: int, row: int = 0) -> Sample:
    ids = np.random.default_rng(row).integers(3, VOCABULARY, length).astype(np.int32)
    return Sample(row=row, input_ids=ids, has_loss=np.arange(length) > 0)


def batch_of(*lengths: int) -> Batch:
    return collate([sample_of(length, row) for row, length in enumerate(lengths)], 0)


def named(model: PreTrainedModel) -> list[tuple[str, Tensor]]:
    return [(name, parameter) for name, parameter in model.named_parameters() if parameter.requires_grad]


def optimizer_of(model: PreTrainedModel, matrices: tuple[str, ...] = (), **settings: Any) -> TensorOptimizer:
    return build_optimizer(model.named_parameters(), Train(**{"optimizer": "lion8bit", **settings}), matrices)


def step_with_release(model: PreTrainedModel, optimizer: Any, batch: Batch) -> None:
    release = GradientRelease(optimizer, named(model), GradientNorms(named(model)))
    at_cut = differentiate_head(forward_to_cut(loss_head(model, True, CHUNK), batch), batch.loss_tokens)
    at_cut.backward()
    release.step_rest()
    release.remove()


class Counting:
    """An optimizer that moves nothing and counts."""

    def __init__(self) -> None:
        self.steps: Counter[int] = Counter()

    def update(self, parameter: Tensor, gradient: Tensor, keep: Tensor | None = None) -> None:
        self.steps[id(parameter)] += 1


class Watching(TorchDispatchMode):
    """Hands every operation and what it gives to `look`."""

    def __init__(self, look: Any) -> None:
        super().__init__()
        self._look = look

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        out = func(*args, **(kwargs or {}))
        self._look(func, out)
        return out


def test_01_the_state_of_8_bit_lion_has_8_bits_under_release() -> None:
    model = model_of(dtype=torch.bfloat16)
    optimizer = optimizer_of(model, learning_rate=1e-5)
    optimizer.begin_step(1, 1e-5)
    step_with_release(model, optimizer, batch_of(9, 14))
    large = [parameter for parameter in model.parameters() if parameter.numel() >= 4096]
    assert large
    for parameter in large:
        [moments] = [t for t in state_tensors(optimizer.state[parameter]) if t.numel() == parameter.numel()]
        assert moments.dtype == torch.uint8 and moments.any()


def test_02_hyperball_runs_under_release_and_keeps_the_norm_of_each_matrix() -> None:
    model = model_of()
    matrices = hyperball_matrices(model)
    before = copy.deepcopy(model.state_dict())
    optimizer = optimizer_of(model, matrices, learning_rate=1e-3, hyperball=True, hyperball_lr=0.05)
    optimizer.begin_step(1, 1e-3)
    step_with_release(model, optimizer, batch_of(9, 14))
    after = model.state_dict()
    assert len(matrices) == 14
    for name in matrices:
        radius, turned = before[name].norm(), after[name]
        torch.testing.assert_close(turned.norm(), radius, rtol=1e-6, atol=0)
        # W + 0.05 R N(u) lies at a distance of 0.05 R from W; back on the sphere not further away
        assert 0.9 * 0.05 < float((turned - before[name]).norm() / radius) < 1.01 * 0.05


@pytest.mark.parametrize("family", ["llama", "qwen3_5_text"])
def test_03_a_tied_head_is_stepped_once_whatever_the_number_of_chunks(family: str) -> None:
    model, counting, batch = model_of(family), Counting(), batch_of(9, 14)
    assert batch.labels.numel() > 4 * CHUNK
    step_with_release(model, counting, batch)
    assert counting.steps == Counter({id(parameter): 1 for _, parameter in named(model)})


def test_04_bf16_weights_move_by_what_is_asked_at_a_small_learning_rate() -> None:
    moved = {}
    for stochastic in (True, False):
        weight = torch.nn.Parameter(
            (torch.randn(512, 512, generator=torch.Generator().manual_seed(0)) * 0.02).bfloat16()
        )
        train = Train(optimizer="lion8bit", learning_rate=3e-6, weight_decay=0.0, stochastic_rounding=stochastic)
        optimizer, begin = build_optimizer([("w", weight)], train), weight.detach().float()
        for step in range(1, 21):
            optimizer.begin_step(step, 3e-6)
            optimizer.update(weight, torch.ones_like(weight))
        moved[stochastic] = float((begin - weight.detach().float()).mean()) / (20 * 3e-6)
    assert moved[True] == pytest.approx(1, abs=0.05)
    assert moved[False] < 0.2


def test_05_nothing_waits_for_the_device_between_the_gate_and_the_end_of_a_step() -> None:
    model, batch = model_of("qwen3_5_text", torch.bfloat16), batch_of(9, 14)
    optimizer, head = optimizer_of(model, learning_rate=1e-5), loss_head(model, True, CHUNK)
    optimizer.begin_step(1, 1e-5)
    norms = GradientNorms(named(model))
    release = GradientRelease(optimizer, named(model), norms)
    reads: Counter[str] = Counter()

    def look(func: Any, out: Any) -> None:
        if func._schema.name in ("aten::_local_scalar_dense", "aten::nonzero", "aten::is_nonzero"):
            reads[func._schema.name] += 1

    at_cut = differentiate_head(forward_to_cut(head, batch), batch.loss_tokens)
    with Watching(look):
        at_cut.backward()
        release.step_rest()
        norms.total()
    release.remove()
    assert not reads


@pytest.mark.parametrize("how", ["full", "selective"])
def test_06_a_frozen_layer_passes_its_gradient_on(how: Any) -> None:
    model, batch = model_of("qwen3_5_text"), batch_of(9, 14)
    freeze_non_attention(model)
    recompute_activations(model, how)
    loss_head(model, True, CHUNK).summed_loss(batch.input_ids, batch.labels).backward()  # type: ignore[no-untyped-call]
    for name, parameter in named(model):
        assert parameter.grad is not None and parameter.grad.isfinite().all() and parameter.grad.any(), name


def test_07_selective_checkpointing_keeps_what_really_runs_and_mixes_nothing_up_with_seven_matmuls_a_layer() -> None:
    batch, gradients, mixers = batch_of(9, 14), [], Counter[str]()

    def look(func: Any, out: Any) -> None:
        if is_mixing(func):
            mixers[func._schema.name] += 1

    for how in (None, "selective"):
        model = model_of("llama")
        if how is not None:
            recompute_activations(model, how)
        mixers.clear()
        with Watching(look):
            LossHead(model, CHUNK, None, 1.0).summed_loss(batch.input_ids, batch.labels).backward()
        assert mixers.total() == 2
        gradients.append([parameter.grad for parameter in model.parameters()])
    assert all(torch.equal(one, other) for one, other in zip(*gradients, strict=True))


def test_08_documents_in_a_pack_do_not_see_each_other() -> None:
    model = model_of("qwen3_5_text").eval()
    documents = [sample_of(9, 0), sample_of(14, 1), sample_of(6, 2)]
    isolation = isolate(model)
    pack = collate_packs([documents], 0)
    with torch.no_grad():
        told = isolation.enter(pack.packs)
        packed = model(input_ids=pack.input_ids, use_cache=False, **told).logits
        for sample, (line, start, stop) in zip(documents, pack.documents, strict=True):
            alone = model(input_ids=collate([sample], 0).input_ids, use_cache=False).logits[0]
            torch.testing.assert_close(packed[line, start:stop], alone, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("chunk", [3, 8])
def test_09_the_size_of_a_chunk_is_what_the_config_says(chunk: int) -> None:
    model, batch, rows = model_of(), batch_of(20, 14), []

    def look(func: Any, out: Any) -> None:
        if isinstance(out, Tensor) and out.ndim == 2 and out.shape[1] == VOCABULARY:
            rows.append(out.shape[0])

    head = LossHead(model, chunk, None, 1.0)
    with Watching(look):
        head.summed_loss(batch.input_ids, batch.labels).backward()  # type: ignore[no-untyped-call]
    logits = [count for count in rows if count != SHAPE["hidden_size"]]
    assert max(logits) == chunk


def test_10_a_short_micro_batch_weighs_by_its_tokens() -> None:
    long_and_short = [collate([sample_of(20, 0)], 0), collate([sample_of(5, 1)], 0)]
    tokens = sum(batch.loss_tokens for batch in long_and_short)
    model = model_of()
    head = loss_head(model, True, CHUNK)
    for batch in long_and_short:
        differentiate_head(forward_to_cut(head, batch), tokens).backward()
    found = [parameter.grad for parameter in model.parameters()]
    whole = model_of()
    together = batch_of(20, 5)
    differentiate_head(forward_to_cut(loss_head(whole, True, CHUNK), together), tokens).backward()
    for one, other in zip(found, whole.parameters(), strict=True):
        torch.testing.assert_close(one, other.grad, rtol=1e-4, atol=1e-7)


def test_11_the_loss_is_the_plain_cross_entropy() -> None:
    model, batch = model_of(), batch_of(20, 14)
    found = loss_head(model, True, CHUNK).summed_loss(batch.input_ids, batch.labels)
    logits = model(input_ids=batch.input_ids).logits[:, :-1].flatten(0, 1)
    torch.testing.assert_close(found, functional.cross_entropy(logits, batch.labels[:, 1:].flatten(), reduction="sum"))


def test_13_what_is_known_of_usual_steps_survives_a_resume() -> None:
    generator = np.random.default_rng(0)
    whole = SpikeDetector(6.0)
    for step in range(1, 100):
        whole.check(step, 2 + 0.1 * float(generator.standard_normal()), 1.0)
    resumed = SpikeDetector(6.0)
    resumed.load_state_dict(json.loads(json.dumps(whole.state_dict())))
    verdict = resumed.check(100, 9.0, 1.0)
    assert verdict == whole.check(100, 9.0, 1.0) and verdict.stands_out


def test_14_every_epoch_has_an_order_of_its_own() -> None:
    sampler = EpochSampler([5] * 40, 4, seed=0)
    epochs = [[index for _ in range(10) for pack in sampler.next_batch()[0] for index in pack] for _ in range(3)]
    assert epochs[0] != epochs[1] != epochs[2] != epochs[0]
    assert all(sorted(epoch) == list(range(40)) for epoch in epochs)


def test_15_a_resume_draws_no_batch_that_has_been_trained() -> None:
    whole = EpochSampler([5] * 40, 4, seed=0)
    for _ in range(7):
        whole.next_batch()
    resumed = EpochSampler([5] * 40, 4, seed=0)
    resumed.next_batch = pytest.fail  # type: ignore[assignment, method-assign]
    resumed.load_state_dict(json.loads(json.dumps(whole.state_dict())))
    del resumed.next_batch
    assert [resumed.next_batch() for _ in range(12)] == [whole.next_batch() for _ in range(12)]


def test_16_weights_that_the_text_model_does_not_load_are_saved_again(tmp_path: Path) -> None:
    source, target = tmp_path / "source", tmp_path / "target"
    model_of().save_pretrained(source)
    extra = {"mtp.layers.0.weight": torch.randn(3, 4), "model.visual.patch.weight": torch.randn(2, 5)}
    save_file(load_file(source / "model.safetensors") | extra, source / "model.safetensors", {"format": "pt"})
    model = AutoModelForCausalLM.from_pretrained(source)
    original = find_original(source, model)
    assert isinstance(original, Original)
    with torch.no_grad():
        model.model.norm.weight.add_(1)
    target.mkdir()
    write_merged(original, model, target)
    with safe_open(target / "model.safetensors", "pt") as saved:
        assert all(torch.equal(saved.get_tensor(name), tensor) for name, tensor in extra.items())
        assert torch.equal(saved.get_tensor("model.norm.weight"), model.model.norm.weight)


def test_17_delta_net_trains_with_attention_and_embedding_and_norms_are_frozen() -> None:
    model = model_of("qwen3_5_text")
    freeze_non_attention(model)
    assert {name.split(".")[3] for name, _ in named(model)} == {"linear_attn", "self_attn"}


def test_19_a_monitor_reads_typed_events_whatever_the_log_says(tmp_path: Path) -> None:
    (tmp_path / "console.log").write_text("step=7  loss=nonsense\n")
    path = tmp_path / "events.jsonl"
    step = Step(
        step=1, epoch=0.1, loss=2.5, lr=1e-5, grad_norm=None, dt=0.1, tokens=8, slots=8, loss_tokens=4, tok_s=80.0
    )
    with closing(EventWriter(path)) as writer:
        writer.write(step)
    assert [stamped.event for stamped in EventReader(path).poll().events] == [step]


@pytest.mark.parametrize(
    ("triton", "tilelang", "is_refused"),
    [("3.4.0", None, True), ("3.7.0", None, True), ("3.7.1", None, False), ("3.4.0", "0.1.6", False)],
)
def test_20_triton_that_is_wrong_on_hopper_is_refused(triton: str, tilelang: str | None, is_refused: bool) -> None:
    assert (refusal((9, 0), triton, tilelang) is not None) == is_refused

"""Each check of the doctor must be able to fail, given what went wrong in other tools.

What layers compute: kernels, loss, packs, compilation.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor

from engine.doctor.checks import (
    compiled,
    kernels,
    loss,
    packing,
)
from engine.doctor.checks.tiny import tiny_model
from engine.loss import chunked_cross_entropy
from engine.model.compiled import compile_layers
from engine.model.delta_rule.check import KernelReport
from engine.model.packed.isolation import Isolation
from engine.model.packed.isolation import Way as ApartBy

HOPPER_REFUSAL = "Triton 3.4.0 computes wrong gradients"


# --- kernels


def kernels_of(**changes: Any) -> kernels.Kernels:
    report = KernelReport("0.6.0", "3.7.1", None, refused=None)
    return dataclasses.replace(kernels.Kernels("cuda", report, 8e-3, 3e-2), **changes)


def test_right_kernels_are_named() -> None:
    outcome = kernels.judge(kernels_of())
    assert outcome.status == "ok"
    assert "flash-linear-attention 0.6.0, Triton 3.7.1" in outcome.found


def test_a_wrong_gradient_of_a_kernel_fails() -> None:
    assert kernels.judge(kernels_of(error=0.9)).status == "failed"
    assert kernels.judge(kernels_of(error=float("nan"))).status == "failed"


def test_a_refused_triton_is_named_with_its_cure() -> None:
    outcome = kernels.judge(kernels_of(report=KernelReport("0.6.0", "3.4.0", None, refused=HOPPER_REFUSAL)))
    assert outcome.status == "warning"
    assert HOPPER_REFUSAL in outcome.found
    assert "triton>=3.7.1" in (outcome.fix or "")


def test_a_missing_kernel_library_is_no_silent_fallback() -> None:
    outcome = kernels.judge(kernels_of(report=KernelReport(None, "3.7.1", None, refused=None)))
    assert (outcome.status, outcome.fix) == ("warning", "pip install 'pgs-tui[gpu]'")
    assert kernels.judge(kernels_of(bitsandbytes_on_gpu=False)).status == "failed"


# --- loss


def test_a_loss_that_loses_the_gradient_of_a_chunk_fails() -> None:
    def careless(hidden: Tensor, head: Tensor, labels: Tensor, chunk: int) -> Tensor:
        loss: Tensor = chunked_cross_entropy(hidden[:chunk], head, labels[:chunk], chunk)
        with torch.no_grad():
            rest = chunked_cross_entropy(hidden[chunk:], head, labels[chunk:], chunk)
        return loss + rest

    assert loss.judge(chunked_cross_entropy).status == "ok"
    assert loss.judge(careless).status == "failed"
    assert loss.judge(careless, dtype=torch.bfloat16).status == "failed", "its limit is wider, as on a GPU"


def test_head_gradients_summed_up_in_bfloat16_fail() -> None:
    """As in OLMo-core PR 370: the sum over chunks loses digits."""

    def low(hidden: Tensor, head: Tensor, labels: Tensor, chunk: int) -> Tensor:
        half = head.to(torch.bfloat16).float()
        return F.cross_entropy(hidden @ half.T, labels, reduction="sum")

    assert loss.judge(low).status == "failed"


# --- packing


def test_a_state_that_flows_across_documents_fails() -> None:
    """As in transformers 5.2 to 5.8: attention is told of documents, the recurrent layers are not."""
    outcome = packing.judge(tiny_model(), lambda model: Isolation(model, ApartBy("position ids alone")))
    assert outcome.status == "failed"
    assert outcome.fix == "data.packing: false"


def test_documents_that_attend_to_each_other_fail() -> None:
    def with_leaky_attention(model: Any) -> Isolation:
        class Leaky(Isolation):
            def enter(self, packs: Any) -> dict[str, Any]:
                told = super().enter(packs)
                return {"position_ids": torch.arange(told["position_ids"].shape[1])[None]} if told else told

        return Leaky(model, ApartBy("nothing"))

    assert packing.judge(tiny_model(), with_leaky_attention).status == "failed"


# --- compiled layers


def compiling(*, fixed_length: bool) -> compiled.Compile:
    def compile_model(model: Any) -> None:
        compile_layers(model, fixed_length=fixed_length, backend="eager")

    return compile_model


def test_layers_that_compile_to_something_else_fail() -> None:
    def with_a_graph_that_is_wrong(model: Any) -> None:
        def wrong_backend(graph: Any, inputs: Any) -> Any:
            return lambda *given: [2 * one if torch.is_tensor(one) else one for one in graph.forward(*given)]

        compile_layers(model, fixed_length=False, backend=wrong_backend)

    outcome = compiled.judge(with_a_graph_that_is_wrong)
    assert (outcome.status, outcome.fix) == ("failed", "model.compile: false")
    assert "off (allowed" in outcome.found


def test_layers_that_are_compiled_anew_for_each_length_fail() -> None:
    outcome = compiled.judge(compiling(fixed_length=True))
    assert outcome.status == "failed"
    assert "lines of another length are compiled anew" in outcome.found


def test_a_compiler_that_compiles_nothing_fails() -> None:
    assert "has compiled nothing" in compiled.judge(lambda model: None).found


def test_one_graph_for_each_kind_of_layer_is_well() -> None:
    outcome = compiled.judge(compiling(fixed_length=False))
    assert outcome.status == "ok"
    assert outcome.found.startswith("2 graphs")

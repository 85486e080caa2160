"""What a trace says that compiled layers keep, held against the graphs that torch's compiler cuts layers into."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch._dynamo.backends.common import aot_autograd
from torch._functorch._aot_autograd.utils import make_boxed_func
from torch._functorch.partitioners import min_cut_rematerialization_partition
from torch._inductor.decomposition import select_decomp_table
from transformers import PreTrainedModel

from engine.memory.estimate.layers import layer_bytes
from engine.memory.estimate.layers.kinds import kinds_of
from engine.model.delta_rule.documents import CHUNK
from engine.model.delta_rule.install import use_delta_rule_operator
from tests.memory.estimate.layers.models import FAMILIES, build, told_to, way

BATCH = (2, 256)
WIDE = {"hidden_size": 64, "intermediate_size": 256, "num_key_value_heads": 4, "attn_implementation": "sdpa"}


def kept_in_graph(model: PreTrainedModel, layer: nn.Module) -> int:
    """Bytes that the forward graph of a layer hands to the backward graph, weights and the layer's input left out."""
    found: list[int] = []

    def cut(joint: torch.fx.GraphModule, inputs: Any, **options: Any) -> tuple[torch.fx.GraphModule, ...]:
        forward, backward = min_cut_rematerialization_partition(joint, inputs, **options)
        [output] = forward.graph.find_nodes(op="output")
        _, *kept = (node for node in output.args[0] if isinstance(node, torch.fx.Node))
        storages = [_storage(node) for node in kept if node.op != "placeholder"]
        found.append(sum({one._cdata: one.nbytes() for one in storages if one is not None}.values()))
        return forward, backward

    backend = aot_autograd(
        fw_compiler=_as_it_is, bw_compiler=_as_it_is, partition_fn=cut, decompositions=select_decomp_table()
    )
    hidden = torch.randn(*BATCH, model.config.hidden_size, dtype=model.dtype, requires_grad=True)
    told = told_to(model, layer, BATCH)

    def run(rows: Tensor) -> Any:
        return layer(rows, *told.args, **told.kwargs)

    torch.compile(run, backend=backend, fullgraph=True)(hidden)
    return found[0]


def _as_it_is(graph: torch.fx.GraphModule, _inputs: Any) -> Callable[..., Any]:
    return make_boxed_func(graph.forward)


def _storage(node: torch.fx.Node) -> torch.UntypedStorage | None:
    """Of a tensor; outputs of a graph may be views of one another."""
    value = node.meta["val"]
    return value.untyped_storage() if isinstance(value, Tensor) else None


@pytest.mark.parametrize("family", ["llama", "qwen3_5"])
def test_a_compiled_layer_keeps_what_its_graph_hands_on(family: str) -> None:
    real, traced = (build(family, torch.bfloat16, device, **WIDE) for device in ("cpu", "meta"))
    use_delta_rule_operator(real)
    told = layer_bytes(traced, way(model__compile=True), *BATCH)
    for kind, layers in kinds_of(real).items():
        declared = 0
        if kind == "linear_attention":  # what the rule's kernels keep on a GPU alone
            declared = BATCH[0] * BATCH[1] * FAMILIES[family]["linear_num_value_heads"] * (4 + 2 * CHUNK)
        assert told[kind].kept - declared == pytest.approx(kept_in_graph(real, layers[0]), rel=0.01)

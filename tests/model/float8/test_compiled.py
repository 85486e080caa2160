"""Float8 in compiled layers: one graph for each kind, for lines of any length, with what recomputation keeps."""

from collections.abc import Callable

import pytest
import torch

from engine.model.compiled import compile_layers
from engine.model.compiled.watch import Compiled
from engine.model.recompute import recompute_activations

from .conftest import Pair
from .test_float8 import IDS, assert_near, gradients


@pytest.mark.usefixtures("fresh_compiler")
def test_one_graph_for_each_kind_of_layer_whatever_the_length(pair: Callable[..., Pair]) -> None:
    plain, converted = pair("llama", torch.bfloat16)
    converted.get_decoder().layers[1].mlp.requires_grad_(False)  # makes two kinds, one of them with frozen matrices
    told = recompute_activations(converted, "selective", compiles=True)
    assert all(told.kept.values())
    assert not any("down_proj" in name for names in told.kept.values() for name in names), "nothing needs its output"
    wanted = gradients(converted)
    compile_layers(converted, fixed_length=False, backend="aot_eager")
    before = Compiled.so_far()
    assert_near(gradients(converted), wanted, 1e-6)
    for length in (16, 20, 19):
        gradients(converted, IDS[:, :length])
    assert Compiled.so_far().since(before).graphs == 2
    assert_near(wanted, {name: g for name, g in gradients(plain).items() if name in wanted})

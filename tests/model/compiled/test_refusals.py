"""What cannot be compiled is said in one sentence with a way out."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor

from engine.errors import UserError
from engine.model.compiled import compile_layers
from engine.model.compiled.compiler import require_compiler
from engine.model.compiled.watch import CompilerWatch
from tests.model.compiled.small import batches, hidden_of, small_model


def test_a_machine_without_a_compiler_is_told_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    from torch._inductor import cpp_builder, exc

    def none_found() -> str:
        raise exc.InvalidCxxCompiler

    monkeypatch.setattr(cpp_builder, "get_cpp_compiler", none_found)
    with pytest.raises(UserError, match=r"needs a C\+\+ compiler, and none is found: install .* or set model.compile"):
        require_compiler(torch.device("cpu"))
    monkeypatch.setattr("torch.utils._triton.has_triton_package", lambda: False)
    with pytest.raises(UserError, match="needs Triton, which is not installed"):
        require_compiler(torch.device("cuda"))


def test_a_layer_that_is_no_single_graph_is_refused_with_the_reason() -> None:
    model = small_model("llama", 2)
    mlp: Any = model.model.layers[0].mlp
    forward = type(mlp).forward

    def looks_at_values(self: Any, hidden: Tensor) -> Tensor:
        return forward(self, hidden if hidden.sum() > 0 else -hidden)

    for layer in model.model.layers:
        layer.mlp.__class__ = type("Looking", (type(layer.mlp),), {"forward": looks_at_values})
    compile_layers(model, fixed_length=False, backend="aot_eager")
    refusal = r"^model.compile: .* each as one graph \(.+\); set model.compile: false\.$"
    with pytest.raises(UserError, match=refusal), CompilerWatch(lambda _: None).warming_up():
        hidden_of(model, None, batches(packed=False)[0])

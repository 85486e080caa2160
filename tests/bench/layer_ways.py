"""One layer of each kind of Qwen3.5-4B, forward and backward: as it is, with Liger's kernels, compiled.

    PYTHONPATH=. python tests/bench/layer_ways.py --out layers.json                       # on a GPU
    PYTHONPATH=. python tests/bench/layer_ways.py --shape tiny --lines 2 --length 64      # anywhere

All ways compute with our operators for the delta rule, its convolution and attention; they differ in what surrounds
them: norms, SwiGLU, gates, rotary embedding. A way that cannot run here says why.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from engine.model.attention.install import use_attention_kernels
from engine.model.compiled import compile_layers
from engine.model.delta_rule.install import use_delta_rule_operator
from engine.units import GIB
from tests.bench.training.machine import describe_machine
from tests.bench.training.stopwatch import milliseconds, why_not
from tests.bench.training.workload import QWEN3_5_4B, SHAPES, shape_of

ONE_OF_EACH = ["linear_attention", "full_attention"]


def main() -> None:
    options = parse()
    rows = []
    for way, prepare in WAYS.items():
        for row in measure(way, prepare, options):
            rows.append(row)
            print(line_of(row), flush=True)
    if options.out:
        options.out.write_text(json.dumps({"machine": describe_machine(), "rows": rows}, indent=1) + "\n")


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--shape", choices=SHAPES, default=QWEN3_5_4B)
    parser.add_argument("--lines", type=int, default=4)
    parser.add_argument("--length", type=int, default=4096)
    parser.add_argument("--repeats", type=int, default=10)
    parser.add_argument("--out", type=Path)
    return parser.parse_args()


def as_it_is(model: Any) -> None:
    """The library's own modules around our operators."""


def with_liger(model: Any) -> None:
    """Liger's norms and SwiGLU in place of the library's."""
    from liger_kernel.transformers import apply_liger_kernel_to_qwen3_5

    apply_liger_kernel_to_qwen3_5(fused_linear_cross_entropy=False, model=model)


def compiled(model: Any) -> None:
    """As `model.compile: true` does it."""
    compile_layers(model, fixed_length=True)


WAYS: dict[str, Callable[[Any], None]] = {"as it is": as_it_is, "Liger": with_liger, "compiled": compiled}


def measure(way: str, prepare: Callable[[Any], None], options: argparse.Namespace) -> list[dict[str, Any]]:
    """A row for each kind of layer: milliseconds, and GiB that a forward pass keeps for the backward pass."""
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    model = model_of(options.shape, device)
    reason = why_not(lambda: prepare(model))
    if reason:
        return [{"way": way, "why_not": reason}]
    decoder = model.get_decoder()
    size = decoder.config.hidden_size
    hidden = torch.randn(options.lines, options.length, size, device=device, dtype=torch.bfloat16, requires_grad=True)
    positions = torch.arange(options.length, device=device)[None].expand(options.lines, -1)
    rotary = decoder.rotary_emb(hidden.detach(), positions[None].expand(3, -1, -1))
    gradient = torch.randn_like(hidden)
    rows = []
    for kind, layer in zip(ONE_OF_EACH, decoder.layers, strict=True):
        step = LayerStep(layer, hidden, gradient, {"position_embeddings": rotary, "position_ids": positions})
        row: dict[str, Any] = {"way": way, "layer": kind, "why_not": why_not(step)}
        if row["why_not"] is None:
            row |= {"ms": milliseconds(step, device, options.repeats), "kept_gib": step.kept_gib()}
        rows.append(row)
    return rows


class LayerStep:
    """A layer forward and backward, its gradients dropped."""

    def __init__(self, layer: nn.Module, hidden: Tensor, gradient: Tensor, told: dict[str, Any]) -> None:
        self._layer, self._hidden, self._gradient, self._told = layer, hidden, gradient, told

    def __call__(self) -> None:
        self._forward().backward(self._gradient)  # type: ignore[no-untyped-call]
        self._layer.zero_grad(set_to_none=True)
        self._hidden.grad = None

    def kept_gib(self) -> float | None:
        """What a forward pass holds until its backward pass, besides its output; None without a GPU."""
        if self._hidden.device.type != "cuda":
            return None
        before = torch.cuda.memory_allocated()
        output = self._forward()
        held = torch.cuda.memory_allocated() - before - output.numel() * output.element_size()
        return held / GIB

    def _forward(self) -> Tensor:
        output: Any = self._layer(self._hidden, attention_mask=None, **self._told)
        hidden: Tensor = output[0] if isinstance(output, tuple) else output
        return hidden


def model_of(shape: str, device: torch.device) -> Any:
    """One layer of each kind, random bfloat16 weights, our operators in place."""
    from transformers import AutoConfig, AutoModelForCausalLM

    stored = dict(shape_of(shape))
    text = stored.get("text_config", stored)
    config = AutoConfig.for_model(
        "qwen3_5_text",
        **{key: value for key, value in text.items() if key not in ("model_type", "architectures", "layer_types")}
        | {"num_hidden_layers": len(ONE_OF_EACH), "layer_types": ONE_OF_EACH},
    )
    with torch.device(device):
        model = AutoModelForCausalLM.from_config(config, dtype=torch.bfloat16)
    model.train()
    operators_in(model)
    return model


def operators_in(model: Any) -> None:
    """What a run puts into its layers before anything else, told once."""
    for sentence in (*use_delta_rule_operator(model), use_attention_kernels(model, one_length=True)):
        if sentence:
            say_once(sentence)


@cache
def say_once(sentence: str) -> None:
    print(sentence)


def line_of(row: dict[str, Any]) -> str:
    name = f"{row['way']:10} {row.get('layer', ''):18}"
    if row["why_not"]:
        return f"{name} not here: {row['why_not']}"
    kept = "" if row["kept_gib"] is None else f"  {row['kept_gib']:.2f} GiB kept"
    return f"{name} {row['ms']:9.2f} ms{kept}"


if __name__ == "__main__":
    main()

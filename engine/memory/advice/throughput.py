"""How many tokens a second a recipe trains on a GPU: its floating-point operations over what such runs reached.

Measured on an H200 with Qwen3.5-4B's shape, rows of docs/performance/h200.json;
`tests/memory/advice/test_throughput.py` holds what comes out here against each of those rows. Two times are put
together, that of the GPU's arithmetic and that of the host, which has to launch each layer's kernels and cannot do so
any quicker for few tokens or a quick GPU.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from engine.config import Config
from engine.model.flops import Products, flops_per_token

SHARE_OF_RATE = 0.505
"""Of the data sheet's dense bf16 rate, over all operations that are done: 4 rows of 4x4096 reached 0.503 to 0.505."""
FLOAT8_GAIN = 1.28
"""The same with float8, as a multiple: 1.23 at 4x4096, 1.34 at 8x8192."""
UNCOMPILED_LOSS = 1.41
"""Times of 24 linear and 8 full attention layers as they are, over those compiled: docs/performance/layers.json."""
HOST_SECONDS, HOST_SECONDS_IN_SLICES, HOST_SECONDS_WITH_OFFLOAD = 0.006, 0.008, 0.010
"""What a layer's forward and backward pass takes at least: rows of 2x2048, where the GPU waited for the host."""
_SHARPNESS = 4
"""How the two times add up: (gpu^4 + host^4)^(1/4), nearly the larger one unless they are alike."""
SLICED_UPDATE_SECONDS = 0.16 / 1e9
"""A weight's update where no kernel of ours does it, slice by slice: docs/performance/optimizer.json, for Lion."""
FUSED_OPTIMIZERS = ("lion", "lion8bit")
"""Those with a kernel of ours; the measured rows have its time in them."""


class RatedGpu(Protocol):
    """A GPU with its dense bf16 rate by the data sheet."""

    @property
    def name(self) -> str: ...
    @property
    def bf16_tflops(self) -> float: ...


@dataclass(frozen=True, slots=True)
class Throughput:
    """Tokens (padding counts) a second, and what that rests on, a sentence each."""

    tok_s: float
    assumptions: tuple[str, ...]


def throughput(products: Products, config: Config, trained: int, gpu: RatedGpu) -> Throughput:
    """For full lines of `data.max_seq_length` tokens; `trained` weights move in each step."""
    train, memory = config.train, config.memory
    length = config.data.max_seq_length
    step_tokens = train.per_device_batch_size * length * train.gradient_accumulation_steps
    flops = flops_per_token(products, config, length).done * step_tokens
    on_gpu = flops / (SHARE_OF_RATE * gpu.bf16_tflops * 1e12)
    if memory.float8_training:
        on_gpu /= FLOAT8_GAIN
    if not config.model.compile:
        on_gpu *= UNCOMPILED_LOSS
    passes = len(products.layers) * memory.layer_slices * train.gradient_accumulation_steps
    on_host = passes * _host_seconds(config)
    seconds = (on_gpu**_SHARPNESS + on_host**_SHARPNESS) ** (1 / _SHARPNESS)
    update = 0.0 if train.optimizer in FUSED_OPTIMIZERS else trained * SLICED_UPDATE_SECONDS
    reached = flops / seconds / (gpu.bf16_tflops * 1e12)
    return Throughput(
        step_tokens / (seconds + update), tuple(_assumptions(config, gpu, reached, on_host > on_gpu, update))
    )


def _host_seconds(config: Config) -> float:
    if config.memory.offload_activations:
        return HOST_SECONDS_WITH_OFFLOAD
    return HOST_SECONDS_IN_SLICES if config.memory.layer_slices > 1 else HOST_SECONDS


def _assumptions(config: Config, gpu: RatedGpu, reached: float, waits: bool, update: float) -> list[str]:
    said = [
        f"speed: {reached:.0%} of the {gpu.bf16_tflops:,.0f} TFLOP/s of {gpu.name}, as such recipes reached on an H200 "
        "with a 4B model (docs/performance.md); evaluation, saving and the start come on top"
    ]
    if waits:
        said.append("speed: the batch is so small for this GPU that it waits for the host; a larger one is quicker")
    if not config.model.compile:
        said.append(f"speed: layers take {UNCOMPILED_LOSS} times as long as compiled ones, as on an H200 one by one")
    if update:
        said.append(
            f"speed: {update:.2g} s a step for the update by {config.train.optimizer}, as torch and bitsandbytes took "
            "slice by slice for Lion on an H200"
        )
    return said

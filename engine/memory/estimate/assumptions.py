"""What an estimate rests on, in sentences for people."""

from __future__ import annotations

from collections.abc import Iterator

from engine.config import Config
from engine.memory.estimate.phases import INPUTS_WITH_OFFLOAD, StepBytes
from engine.memory.estimate.reserve import CONTEXT_GIB


def assumptions(config: Config, step: StepBytes, held_unused: str) -> tuple[str, ...]:
    """A sentence for each figure that does not follow from shapes alone, and where it is from."""
    return tuple(_sentences(config, step, held_unused))


def _sentences(config: Config, step: StepBytes, held_unused: str) -> Iterator[str]:
    lines, length = config.train.per_device_batch_size, config.data.max_seq_length
    yield (
        f"every line of the batch is data.max_seq_length long ({lines} x {length:,} tokens), and all its tokens have"
        " loss: the most that the data can ask for"
    )
    is_auto = config.model.torch_dtype == "auto"
    yield "an NVIDIA GPU with Triton trains" + (", on which model.torch_dtype: auto is bfloat16" if is_auto else "")
    yield (
        "cuBLAS takes 32 MiB of work space in each of two threads, as on GPUs of compute capability 9 and 10;"
        " older ones take 8"
    )
    yield from _on_layers(config)
    if step.offloads:
        yield (
            f"with offload the inputs of {INPUTS_WITH_OFFLOAD} layers are on the GPU at a time (29 of 31 were not at"
            " the peak of a run on an H200: docs/performance/h200.json)"
        )
    yield held_unused
    yield f"CUDA itself takes {CONTEXT_GIB:.2f} GiB besides, as on an H200; 0.5 to 1.4 is usual"


def _on_layers(config: Config) -> Iterator[str]:
    yield (
        "what a layer holds is counted in a trace of one layer of each kind, with this config's freezing and"
        " recomputation; attention is taken to run in cuDNN's or flash kernels (in float32 as torch has it), and a"
        " gated delta rule to hold what the kernels of flash-linear-attention 0.6 do"
    )
    if config.model.compile:
        yield (
            "in compiled layers, what lies between operations that the compiler fuses is taken to hold nothing: as in"
            " the graphs of torch 2.13, and within 1 % of what compiled runs on an H200 took (docs/performance.md)"
        )
    if config.memory.float8_training:
        yield (
            "an input that several float8 products share is kept in float8, as in those graphs and as seen on an H200"
            if config.model.compile
            else "without model.compile each float8 product casts its operands anew and keeps its input as it is"
        )
    if config.data.packing:
        yield "packs are taken by documents, without a mask, as on GPUs of compute capability 8.0 and newer"

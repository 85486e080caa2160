"""What a run computes: tokens and operations of a step, how many steps, and what they take in time and money."""

from __future__ import annotations

from dataclasses import dataclass

from engine.config import Config
from engine.memory.advice.gpus import Gpu
from engine.memory.advice.throughput import throughput
from engine.model.flops import Products, flops_per_token

SECONDS_PER_HOUR = 3600


@dataclass(frozen=True, slots=True)
class RunLength:
    """How long a run is. None where the data is not known well enough; `notes` say why, or what was taken for granted.

    `slots_per_step` are the tokens of a step with padding, on average, where they are known.
    """

    steps_per_epoch: int | None = None
    total_steps: int | None = None
    slots_per_step: float | None = None
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Work:
    """Of one step and of the whole run; `assumptions` say what the figures rest on, a sentence each."""

    tokens_per_step: int
    flops_per_step: float
    """Operations that are needed; what checkpointing computes again comes on top."""
    steps_per_epoch: int | None = None
    total_steps: int | None = None
    tok_s: float | None = None
    seconds_per_step: float | None = None
    seconds: float | None = None
    dollars: float | None = None
    assumptions: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class MeasuredSpeed:
    """Tokens a second that this very GPU reached with a recipe of this kind, and where that comes from."""

    tok_s: float
    source: str


def work_of(
    config: Config,
    products: Products,
    trained: int,
    length: RunLength,
    gpu: Gpu | None = None,
    measured: MeasuredSpeed | None = None,
    price: float | None = None,
) -> Work:
    """The work of a config on a GPU; without one there is no time, without a `price` an hour no money."""
    tokens = step_tokens(config)
    said = [*_about_tokens(config, length), *length.notes]
    tok_s: float | None = None
    if measured is not None:
        tok_s = measured.tok_s
        said.append(measured.source)
    elif gpu is not None:
        speed = throughput(products, config, trained, gpu)
        tok_s = speed.tok_s
        said += speed.assumptions
    else:
        said.append("speed: no GPU is named whose rate is known, so there is no time: --gpu NAME")
    slots = length.slots_per_step or tokens
    step = slots / tok_s if tok_s else None
    seconds = step * length.total_steps if step is not None and length.total_steps is not None else None
    return Work(
        tokens_per_step=tokens,
        flops_per_step=flops_per_token(products, config, config.data.max_seq_length).needed * tokens,
        steps_per_epoch=length.steps_per_epoch,
        total_steps=length.total_steps,
        tok_s=tok_s,
        seconds_per_step=step,
        seconds=seconds,
        dollars=seconds / SECONDS_PER_HOUR * price if seconds is not None and price is not None else None,
        assumptions=tuple(said),
    )


def step_tokens(config: Config) -> int:
    """Tokens of a step whose lines are all full."""
    train = config.train
    return train.per_device_batch_size * config.data.max_seq_length * train.gradient_accumulation_steps


def _about_tokens(config: Config, length: RunLength) -> list[str]:
    tokens = step_tokens(config)
    if length.slots_per_step is not None:
        return [f"a step holds {length.slots_per_step:,.0f} tokens with padding on average, {tokens:,} at the most"]
    if config.data.packing:
        return ["lines are taken as full, which packing nearly reaches"]
    return ["each line is taken as full (data.max_seq_length), the most that it can be: shorter chats take less time"]

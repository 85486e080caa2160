"""What may be changed of a config to need less memory, or to use more of it: one lever for each kind of change.

A plan says for some levers how far each is moved. Only plans that the rules between keys accept become configs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from engine.config import Config, check_config
from engine.config.not_yet import value_of
from engine.loss.chunked import TOKENS_WORTH_A_SUM

Plan = Mapping[str, int]
"""Notches by lever, 1 and up; a lever that is not named stays where it is."""
Values = Mapping[str, object]
"""Values by full key."""

CHECKPOINTING = ("none", "selective", "mixers", "full")
"""From the one that keeps most to the one that keeps least."""
CHUNKS = (4096, 2048, 1024, 512, 256)
"""Tokens of a chunk of the loss that are proposed; fewer than 256 cost time and save little."""
SHORTEST_LINE = 256
"""No shorter lines than this are proposed."""
SMALLER_LION_RATE = 5
"""An AdamW rate is divided by this for Lion, in the middle of the usual 3 to 10."""

BATCH = "train.per_device_batch_size"
ACCUMULATION = "train.gradient_accumulation_steps"
SLICES = "memory.layer_slices"


@dataclass(frozen=True, slots=True)
class Lever:
    """One kind of change, and the keys of each notch, the smallest change first."""

    name: str
    notches: tuple[Values, ...]


def saving_levers(config: Config, *, has_float8: bool) -> tuple[Lever, ...]:
    """Those that save memory; float8 where the GPU is known to have it."""
    model, train, memory = config.model, config.train, config.memory
    has_float8 &= model.torch_dtype != "float32"
    everything = (
        Lever("compile", _if(not model.compile and not model.trust_remote_code, {"model.compile": True})),
        Lever("loss", _smaller_chunks(config)),
        Lever("checkpointing", _more_recomputation(train.gradient_checkpointing)),
        Lever("offload", _if(not memory.offload_activations, {"memory.offload_activations": True})),
        Lever("slices", tuple({SLICES: slices} for slices in (2, 4, 8) if slices > memory.layer_slices)),
        Lever("release", _if(not memory.gradient_release, _release(config))),
        Lever("tiles", _if(not memory.tiled_head and not train.freeze_non_attention, {"memory.tiled_head": True})),
        Lever("state", _if(not train.optimizer.endswith("8bit"), {"train.optimizer": f"{train.optimizer}8bit"})),
        Lever("dtype", _if(model.torch_dtype == "float32", {"model.torch_dtype": "bfloat16"})),
        Lever("float8", _if(has_float8 and not memory.float8_training, {"memory.float8_training": True})),
        Lever("batch", tuple({} for _ in range(_halvings(_lines(config))))),
        Lever("lion", _if(train.optimizer.startswith("adamw"), _lion(config))),
        Lever("freeze", _if(not train.freeze_non_attention, {"train.freeze_non_attention": True})),
        Lever("length", _shorter_lines(config.data.max_seq_length)),
    )
    return tuple(lever for lever in everything if lever.notches)


def spending_levers(config: Config) -> tuple[Lever, ...]:
    """Those that turn memory into speed and leave the mathematics as it is."""
    train, memory = config.train, config.memory
    less = CHECKPOINTING[: CHECKPOINTING.index(train.gradient_checkpointing)]
    doublings = [2**n for n in range(1, 8) if train.gradient_accumulation_steps % 2**n == 0]
    everything = (
        Lever("compile", _if(not config.model.compile and not config.model.trust_remote_code, {"model.compile": True})),
        Lever("checkpointing", tuple(_without_recomputed_parts(how) for how in reversed(less))),
        Lever("slices", tuple({SLICES: n} for n in (4, 2, 1) if n < memory.layer_slices)),
        Lever("offload", _if(memory.offload_activations, {"memory.offload_activations": False})),
        Lever("loss", _larger_chunks(config)),
        Lever("accumulation", tuple(_larger_passes(config, times) for times in doublings)),
    )
    return tuple(lever for lever in everything if lever.notches)


def changed(config: Config, levers: tuple[Lever, ...], plan: Plan) -> Config | None:
    """The config with a plan carried out; None where its keys do not go together."""
    values: dict[str, object] = {}
    for lever in levers:
        if notch := plan.get(lever.name):
            values |= lever.notches[notch - 1]
    if "batch" in plan or "release" in plan:
        values |= _split(config, plan.get("batch", 0), bool(values.get("memory.gradient_release")))
    lines = int(str(values.get(BATCH, config.train.per_device_batch_size)))
    if SLICES in values:
        values[SLICES] = min(int(str(values[SLICES])), lines)
    elif config.memory.layer_slices > lines:
        values[SLICES] = lines
    new = with_values(config, values)
    if new.memory.float8_training and not new.model.compile and not config.memory.float8_training:
        return None  # it would cost more than it saves
    return None if check_config(new)[0] else new


def with_values(config: Config, values: Values) -> Config:
    """The config with other values of some keys; nothing is checked."""
    sections: dict[str, dict[str, object]] = {}
    for key, value in values.items():
        section, _, name = key.partition(".")
        sections.setdefault(section, {})[name] = value
    updates = {name: getattr(config, name).model_copy(update=update) for name, update in sections.items()}
    return config.model_copy(update=updates)


def differences(config: Config, other: Config) -> dict[str, object]:
    """The values of `other` that `config` does not have, by full key, in the order of the schema."""
    found: dict[str, object] = {}
    for section in ("model", "data", "train", "memory"):
        for name in type(getattr(config, section)).model_fields:
            key = f"{section}.{name}"
            if value_of(config, key) != value_of(other, key):
                found[key] = value_of(other, key)
    return found


def _if(is_open: bool, values: Values) -> tuple[Values, ...]:
    return (values,) if is_open else ()


def _lines(config: Config) -> int:
    return config.train.per_device_batch_size * config.train.gradient_accumulation_steps


def _halvings(number: int) -> int:
    return number.bit_length() - 1


def _split(config: Config, halvings: int, releases: bool) -> Values:
    """Smaller passes, more of them for the same step; under release a step is one pass, and gets smaller itself."""
    train = config.train
    if releases or config.memory.gradient_release:
        return {BATCH: max(1, _lines(config) >> halvings), ACCUMULATION: 1}
    largest = max(1, train.per_device_batch_size >> halvings)
    lines = max(size for size in range(1, largest + 1) if _lines(config) % size == 0)
    return {BATCH: lines, ACCUMULATION: _lines(config) // lines}


def _release(config: Config) -> Values:
    values: dict[str, object] = {"memory.gradient_release": True}
    return values | ({"train.max_grad_norm": None} if config.train.max_grad_norm is not None else {})


def _lion(config: Config) -> Values:
    values: dict[str, object] = {
        "train.optimizer": "lion8bit",
        "train.learning_rate": _rate_for_lion(config.train.learning_rate),
        "train.min_learning_rate": _rate_for_lion(config.train.min_learning_rate),
    }
    return values | ({"train.betas": None} if config.train.betas is not None else {})


def _rate_for_lion(rate: float) -> float:
    """As one writes it: 2e-6, and not all the digits of a quotient in binary."""
    return float(f"{rate / SMALLER_LION_RATE:.6g}")


def _more_recomputation(now: str) -> tuple[Values, ...]:
    return tuple({"train.gradient_checkpointing": how} for how in CHECKPOINTING[CHECKPOINTING.index(now) + 1 :])


def _without_recomputed_parts(how: str) -> Values:
    """Slices and offloading are of recomputed layers alone."""
    values: dict[str, object] = {"train.gradient_checkpointing": how}
    return values | ({"memory.offload_activations": False, SLICES: 1} if how == "none" else {})


def _smaller_chunks(config: Config) -> tuple[Values, ...]:
    memory = config.memory
    whole = () if memory.chunked_loss else ({"memory.chunked_loss": True},)
    sizes = [size for size in CHUNKS if size < memory.loss_chunk_tokens]
    return (*whole, *({"memory.chunked_loss": True, "memory.loss_chunk_tokens": size} for size in sizes))


def _larger_chunks(config: Config) -> tuple[Values, ...]:
    """Large enough that no logits are made twice, which tiles of the head do too."""
    memory = config.memory
    if not memory.chunked_loss or (memory.loss_chunk_tokens >= TOKENS_WORTH_A_SUM and not memory.tiled_head):
        return ()
    sizes = [max(size, memory.loss_chunk_tokens) for size in (2048, 4096)]
    tiles: Values = {"memory.tiled_head": False} if memory.tiled_head else {}
    return tuple({"memory.loss_chunk_tokens": size, **tiles} for size in sizes)


def _larger_passes(config: Config, times: int) -> Values:
    train = config.train
    return {BATCH: train.per_device_batch_size * times, ACCUMULATION: train.gradient_accumulation_steps // times}


def _shorter_lines(length: int) -> tuple[Values, ...]:
    shorter = [length >> n for n in range(1, 8)]
    return tuple({"data.max_seq_length": one} for one in shorter if one >= SHORTEST_LINE)

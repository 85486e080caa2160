"""The keys of a config that decide how much memory a run takes, and which value comes next in either direction."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # what the first frame does not need is imported after it
    from engine.config import Config

GPU = "gpu"
"""Stands in the list like a key, but belongs to no config."""
LARGEST_STEP = 2**24
"""The highest number that an arrow key leads to; a larger one can be typed."""


@dataclass(frozen=True, slots=True)
class Setting:
    """A key that can be changed, and what people call it."""

    key: str
    name: str
    short: str = ""
    """The name in a narrow terminal, where it is another one."""

    @property
    def short_name(self) -> str:
        """The name in a narrow terminal."""
        return self.short or self.name


SETTINGS: tuple[Setting, ...] = (
    Setting(GPU, "GPU"),
    Setting("train.per_device_batch_size", "batch"),
    Setting("data.max_seq_length", "length"),
    Setting("train.gradient_accumulation_steps", "accumulation", "accum."),
    Setting("train.freeze_non_attention", "only the mixers", "mixers"),
    Setting("train.optimizer", "optimizer"),
    Setting("train.gradient_checkpointing", "checkpointing", "checkpt."),
    Setting("memory.gradient_release", "release", "release"),
    Setting("memory.tiled_head", "tiled head", "tiled head"),
    Setting("memory.layer_slices", "layer slices", "slices"),
    Setting("memory.offload_activations", "offload", "offload"),
    Setting("memory.float8_training", "float8", "float8"),
    Setting("model.compile", "compile", "compile"),
    Setting("memory.chunked_loss", "chunked loss", "chunks"),
    Setting("memory.loss_chunk_tokens", "loss chunk", "chunk"),
    Setting("data.packing", "packing", "packing"),
    Setting("model.torch_dtype", "weights as", "weights"),
)
"""In the order of the list. All but the first are keys of the config."""


@dataclass(frozen=True, slots=True)
class Kind:
    """What a key takes: one of the `choices`, or a whole number of at least `least`; and what it is for."""

    choices: tuple[object, ...] = ()
    least: int = 1
    description: str = ""

    def after(self, value: object, direction: int) -> object:
        """The next value up (1) or down (-1): choices go around, numbers go by powers of two and halfway between."""
        if self.choices:
            place = self.choices.index(value) if value in self.choices else -direction
            return self.choices[(place + direction) % len(self.choices)]
        assert isinstance(value, int), f"{value!r} is neither a choice nor a whole number"
        return max(_next_number(value, direction), self.least)


@dataclass(frozen=True, slots=True)
class Opened:
    """A config that could be read: the value of every key, and what those of the settings take.

    `written` are the values of the file alone, without what the command line says.
    """

    values: Mapping[str, object]
    written: Mapping[str, object]
    kinds: Mapping[str, Kind]


def open_config(path: Path, overrides: Sequence[str]) -> Opened:
    """Read the config with the overrides of the command line. Raises ValueError, whose text names every problem.

    Whether its data is there is not looked at: memory can be known without.
    """
    from engine.config import ConfigError, load_config

    values = _values(load_config(path, overrides, check_files=False).config)
    try:
        written = _values(load_config(path, check_files=False).config) if overrides else values
    except ConfigError:  # the file makes sense only together with what the command line says
        given = values_given(overrides)
        written = {key: value for key, value in values.items() if key not in given}
    return Opened(values, written, _kinds())


def values_given(overrides: Sequence[str]) -> dict[str, str]:
    """The overrides of the command line by key, `--train.epochs 2` and `--train.epochs=2` alike."""
    given: dict[str, str] = {}
    waiting = list(overrides)
    while waiting:
        flag, equals, value = waiting.pop(0).partition("=")
        given[flag.removeprefix("--")] = value if equals or not waiting else waiting.pop(0)
    return given


def _values(config: Config) -> dict[str, object]:
    return {f"{section}.{name}": value for section, group in config for name, value in group}


def _kinds() -> dict[str, Kind]:
    from engine.config.kinds import kinds
    from engine.config.schema import SECTIONS

    found: dict[str, Kind] = {}
    for setting in SETTINGS:
        section, _, name = setting.key.partition(".")
        if name:
            kind = kinds()[setting.key]
            choices: tuple[object, ...] = kind.choices or ((False, True) if kind.boolean else ())
            description = SECTIONS[section].model_fields[name].description or ""
            found[setting.key] = Kind(choices, round(kind.bounds.least or 1), description)
    return found


def _next_number(value: int, direction: int) -> int:
    """1, 2, 3, 4, 6, 8, 12, 16 and so on, from any number between them."""
    ladder = sorted({part << power for power in range(LARGEST_STEP.bit_length() - 2) for part in (2, 3)} | {1})
    if direction > 0:
        return next((one for one in ladder if one > value), value)
    return next((one for one in reversed(ladder) if one < value), value)


def shown_value(value: object) -> str:
    """A value as people write it: `on` and `off`, numbers in groups."""
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, int):
        return f"{value:,}".replace(",", " ")
    return str(value)

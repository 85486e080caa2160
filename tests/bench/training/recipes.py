"""The rows of the table: what each run trains, and what it may take of a card."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from engine.config import Config

MIXERS: dict[str, object] = {"train.freeze_non_attention": True}
EXPANDABLE = {"PYTORCH_CUDA_ALLOC_CONF": "expandable_segments:True"}
"""The allocator grows its segments in place of leaving holes between them."""
CARD_16GB = 14.5
"""GiB that a 16 GB card leaves to the allocator, beside CUDA itself and the desktop."""


@dataclass(frozen=True, slots=True)
class Aim:
    """What a row has to reach; GiB, and tokens a second."""

    peak: float | None = None
    reserved: float | None = None
    tok_s: float | None = None


@dataclass(frozen=True, slots=True)
class Recipe:
    """One run: `rows` lines of `length` tokens a step, and the engine's keys that differ from `COMMON`."""

    name: str
    title: str
    rows: int
    length: int
    keys: Mapping[str, object]
    aim: Aim = field(default_factory=Aim)
    card: float | None = None
    """GiB that the process may hold (`set_per_process_memory_fraction`); None is the whole card."""
    environment: Mapping[str, str] = field(default_factory=dict)

    @property
    def settings(self) -> dict[str, object]:
        """Every key that the run's config sets beside model, data and number of steps."""
        return {
            **COMMON,
            "data.max_seq_length": self.length,
            "train.per_device_batch_size": self.rows,
            **self.keys,
        }

    def with_keys(self, keys: Mapping[str, object]) -> Recipe:
        """The recipe with other keys over its own; rows and length follow them."""
        settings = self.settings | dict(keys)
        rows, length = settings["train.per_device_batch_size"], settings["data.max_seq_length"]
        assert isinstance(rows, int) and isinstance(length, int), (rows, length)
        return replace(self, rows=rows, length=length, keys={**self.keys, **keys})


COMMON: dict[str, object] = {
    "model.torch_dtype": "bfloat16",
    "model.init": "random",
    "model.compile": True,
    "data.packing": False,
    "train.optimizer": "lion8bit",
    "train.learning_rate": 3e-6,
    "train.lr_scheduler": "constant",
    "train.warmup_steps": 0,
    "train.stochastic_rounding": True,
    "train.spike_detection": False,
    "train.logging_steps": 1000,
    "train.gradient_checkpointing": "full",
    "memory.gradient_release": True,
    "memory.loss_chunk_tokens": 256,
}
"""Lion in 8 bits with stochastic rounding, each weight moved within the backward pass, compiled layers."""

RECIPES: tuple[Recipe, ...] = (
    Recipe(
        name="mixers_2x2048",
        title="mixers only, 2x2048, full checkpointing, offload",
        rows=2,
        length=2048,
        keys={**MIXERS, "memory.offload_activations": True},
        aim=Aim(peak=10.4, reserved=11.0, tok_s=11_000),
    ),
    Recipe(
        name="all_2x2048_tiled",
        title="all weights, 2x2048, full, tiled head, on a 16 GB card",
        rows=2,
        length=2048,
        keys={"memory.tiled_head": True},
        aim=Aim(peak=13.5, reserved=14.3, tok_s=10_000),
        card=CARD_16GB,
        environment=EXPANDABLE,
    ),
    Recipe(
        name="all_4x4096_full",
        title="all weights, 4x4096, full, tiled head",
        rows=4,
        length=4096,
        keys={"memory.tiled_head": True, "memory.layer_slices": 4},
        aim=Aim(peak=16.5),
    ),
    Recipe(
        name="all_4x4096_full_offload",
        title="all weights, 4x4096, full, tiled head, offload",
        rows=4,
        length=4096,
        keys={"memory.tiled_head": True, "memory.offload_activations": True, "memory.layer_slices": 2},
        aim=Aim(peak=14.5),
    ),
    Recipe(
        name="all_4x4096_full_offload_fp8",
        title="all weights, 4x4096, full, tiled head, offload, FP8",
        rows=4,
        length=4096,
        keys={
            "memory.tiled_head": True,
            "memory.offload_activations": True,
            "memory.layer_slices": 2,
            "memory.float8_training": True,
        },
    ),
    Recipe(
        name="all_4x4096_free",
        title="all weights, 4x4096, memory no concern",
        rows=4,
        length=4096,
        keys={"train.gradient_checkpointing": "none", "memory.loss_chunk_tokens": 4096},
        aim=Aim(tok_s=18_000),
    ),
    Recipe(
        name="all_4x4096_free_fp8",
        title="all weights, 4x4096, memory no concern, FP8",
        rows=4,
        length=4096,
        keys={
            "train.gradient_checkpointing": "none",
            "memory.loss_chunk_tokens": 4096,
            "memory.float8_training": True,
        },
    ),
    Recipe(
        name="h100_80gb",
        title="h100_80gb.yaml: all weights, 8x8192, FP8",
        rows=8,
        length=8192,
        keys={
            "train.gradient_checkpointing": "mixers",
            "memory.loss_chunk_tokens": 4096,
            "memory.float8_training": True,
        },
        aim=Aim(peak=76.0, tok_s=20_000),
    ),
)
FP8_GAIN = 1.15
"""What `all_4x4096_free_fp8` has to reach, as a multiple of `all_4x4096_free`."""


def recipe_named(name: str) -> Recipe:
    """Raises SystemExit with the names that there are."""
    for recipe in RECIPES:
        if recipe.name == name:
            return recipe
    raise SystemExit(f"no recipe {name}; there are {', '.join(recipe.name for recipe in RECIPES)}")


def config_of(settings: Mapping[str, object], model: str = "model") -> Config:
    """The engine's config with these keys, by `section.key`."""
    sections: dict[str, dict[str, object]] = {"model": {"name_or_path": model}}
    for key, value in settings.items():
        section, _, name = key.partition(".")
        sections.setdefault(section, {})[name] = value
    return Config.model_validate(sections)

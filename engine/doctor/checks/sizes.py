"""How large a config's model and its optimizer's state are, without loading a weight."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from engine.config import Config
from engine.doctor.runner import NotHereError
from engine.model.architectures import shipped_folder
from engine.model.hub import is_local, tokenizer_folder

STATE_BYTES = {"adamw": 8.0, "lion": 4.0, "adamw8bit": 2 * (1 + 4 / 256), "lion8bit": 1 + 4 / 256}
"""Bytes of optimizer state for each trained weight: float32 moments, or 8 bits and a float32 scale for each 256."""


@dataclass(frozen=True, slots=True)
class Sizes:
    """Weights of a model, all and trained, of the largest whole gradient, and the bytes of one of them."""

    weights: int
    trained: int
    largest: int
    bytes_per_weight: int
    state_bytes_per_weight: float
    releases_gradients: bool = False
    recomputes: bool = False
    trains_mixers_alone: bool = False
    tiles_head: bool = False

    @property
    def stored(self) -> int:
        """Bytes of a checkpoint: weights and optimizer state."""
        return self.weights * self.bytes_per_weight + round(self.trained * self.state_bytes_per_weight)

    @property
    def held(self) -> int:
        """Bytes that a run holds besides activations: a checkpoint's, and the gradients (one of them if released)."""
        gradients = self.largest if self.releases_gradients else self.trained
        return self.stored + gradients * self.bytes_per_weight


def sizes_of(config: Config) -> Sizes:
    """Build the config's model without memory for its weights. Raises NotHereError where its files are not here."""
    from engine.model.load import pick_device, weights_dtype

    trained, weights, largest = _count(config, model_folder(config))
    return Sizes(
        weights,
        trained,
        largest,
        weights_dtype(config.model, pick_device()).itemsize,
        STATE_BYTES[config.train.optimizer],
        config.memory.gradient_release,
        config.train.gradient_checkpointing != "none",
        config.train.freeze_non_attention,
        config.memory.tiled_head,
    )


def model_folder(config: Config) -> Path:
    """The folder with the model's config and tokenizer, without a download. Raises NotHereError, UserError."""
    model = config.model
    if is_local(model.name_or_path) or (model.init == "random" and shipped_folder(model.name_or_path) is not None):
        return tokenizer_folder(model.name_or_path, model.trust_remote_code, _tell_nobody, model.init)
    from huggingface_hub import try_to_load_from_cache

    found = try_to_load_from_cache(model.name_or_path, "config.json")
    if not isinstance(found, str):
        raise NotHereError(f"{model.name_or_path} is not downloaded yet; `pgs train` fetches it")
    return Path(found).parent


def _count(config: Config, folder: Path) -> tuple[int, int, int]:
    """Trained weights, all weights, and those of the largest tensor whose gradient is ever there as a whole."""
    import torch

    from engine.model.freeze import freeze_non_attention
    from engine.model.quiet import quiet_import

    with quiet_import():
        import transformers.modeling_utils  # noqa: F401
    from transformers import AutoConfig, AutoModelForCausalLM

    trusted = config.model.trust_remote_code
    shape = AutoConfig.from_pretrained(folder, trust_remote_code=trusted, local_files_only=True)
    with torch.device("meta"):
        model = AutoModelForCausalLM.from_config(shape, trust_remote_code=trusted)
    if config.train.freeze_non_attention:
        freeze_non_attention(model)
    trained = [parameter for parameter in model.parameters() if parameter.requires_grad]
    in_tiles = model.get_output_embeddings().weight if config.memory.tiled_head else None
    largest = max((parameter.numel() for parameter in trained if parameter is not in_tiles), default=0)
    return sum(map(torch.numel, trained)), sum(map(torch.numel, model.parameters())), largest


def _tell_nobody(done: int, total: int) -> None:
    """Nothing is downloaded."""

"""The shape of the model that a config trains, from config.json alone: layers and weights without their numbers."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from engine.config import Config
from engine.config.schema import Model
from engine.errors import UserError
from engine.model.explain import explained
from engine.model.hub import SHAPE_FILE, shape_folder
from engine.model.quiet import quiet_import
from engine.model.trainable import refuse_encoder, refuse_quantized

if TYPE_CHECKING:
    from transformers import PreTrainedModel

SHAPES_KEPT = 8
_Key = tuple[str, bool, str]


@dataclass(frozen=True, slots=True)
class ModelShape:
    """A model's architecture, remembered with the models on the meta device that were built from it."""

    name: str
    """As the config says it."""
    folder: Path
    architecture: Any
    """What transformers reads from config.json."""
    _built: dict[_Key, PreTrainedModel] = field(default_factory=dict, repr=False, compare=False)

    def model_for(self, config: Config) -> PreTrainedModel:
        """The causal language model as a GPU would have it, on the meta device, in training mode: in the type of the
        config's weights, those that it freezes not requiring a gradient. The same one for configs that agree in that.

        Raises UserError for what cannot be built, or frozen.
        """
        key = (config.model.torch_dtype, config.train.freeze_non_attention, _attention(config))
        if key not in self._built:
            self._built[key] = _build(self, config)
        return self._built[key]


def model_shape(config: Config) -> ModelShape:
    """The shape of `model.name_or_path`: of a local folder, of one that comes with the program, of the hub's cache, or
    its config.json from the hub. No weight is read. Raises UserError where there is none."""
    name, trusts = config.model.name_or_path, config.model.trust_remote_code
    folder = shape_folder(name, trusts)
    file = folder / SHAPE_FILE
    if not file.is_file():
        raise UserError(f"model.name_or_path: {name} has no {SHAPE_FILE}, which says what its layers are.")
    return _shape_of(name, trusts, folder, file.stat().st_mtime_ns)


@lru_cache(maxsize=SHAPES_KEPT)
def _shape_of(name: str, trusts: bool, folder: Path, changed: int) -> ModelShape:
    """`changed` is when config.json was, so that an edited one is read again."""
    with quiet_import():
        import transformers.modeling_utils  # noqa: F401
    from transformers import AutoConfig

    with explained(folder, Model(name_or_path=name), "architecture"):
        architecture = AutoConfig.from_pretrained(folder, trust_remote_code=trusts)
    refuse_quantized(architecture, name)
    return ModelShape(name, folder, architecture)


def _build(shape: ModelShape, config: Config) -> PreTrainedModel:
    import torch
    from transformers import AutoModelForCausalLM

    from engine.model.freeze import freeze_non_attention
    from engine.model.load import weights_dtype

    options: dict[str, Any] = {
        "dtype": weights_dtype(config.model, torch.device("cuda")),
        "trust_remote_code": config.model.trust_remote_code,
    }
    if (attention := _attention(config)) != "auto":
        options["attn_implementation"] = attention
    with explained(shape.folder, config.model, "architecture"), torch.device("meta"):
        model: PreTrainedModel = AutoModelForCausalLM.from_config(deepcopy(shape.architecture), **options)
    refuse_encoder(model, shape.name)
    if config.train.freeze_non_attention:
        freeze_non_attention(model)
    return model.train()


def _attention(config: Config) -> str:
    """Flash attention may not be installed here, and holds what torch's own does."""
    wanted = config.model.attn_implementation
    return "auto" if wanted == "flash_attention_2" else wanted

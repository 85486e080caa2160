"""Models that could be loaded, but not trained as causal language models: each is refused in a sentence."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from engine.errors import UserError

if TYPE_CHECKING:
    from transformers import PreTrainedModel


def refuse_quantized(architecture: Any, name: str) -> None:
    """Raise UserError where a model's config.json says that its weights are quantized, random ones too.

    Such weights do not move, and what a run saves would still say that it is quantized.
    """
    for config in (architecture, architecture.get_text_config()):
        if found := getattr(config, "quantization_config", None):
            method = found.get("quant_method") if isinstance(found, dict) else getattr(found, "quant_method", None)
            how = f" by {getattr(method, 'value', method)}" if method else ""
            raise UserError(
                f"model.name_or_path: the weights of {name} are quantized{how} (quantization_config in its "
                "config.json), and only plain weights can be trained; name the model that they were made from."
            )


def refuse_encoder(model: PreTrainedModel, name: str) -> None:
    """Raise UserError for a model whose tokens see those behind them: it would read off what it is to learn to tell.

    transformers makes a causal language model like this of BERT and of what came after it, unless `is_decoder` is set.
    """
    from transformers.models.auto.modeling_auto import MODEL_FOR_MASKED_LM_MAPPING_NAMES

    config = model.config.get_text_config()
    if getattr(config, "is_decoder", None) is False and config.model_type in MODEL_FOR_MASKED_LM_MAPPING_NAMES:
        raise UserError(
            f"model.name_or_path: in {name}, a {type(model).__name__}, each token sees those behind it (is_decoder is "
            "false in its config.json), and only causal language models can be trained; name another one."
        )

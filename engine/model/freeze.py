"""Trains the mixers of a model alone: attention and the layers that stand in its place."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.errors import UserError
from engine.model.decoder import decoder_of

if TYPE_CHECKING:
    from torch import nn
    from transformers import PreTrainedModel

MIXERS = frozenset(
    {"self_attn", "linear_attn", "attn", "attention", "self_attention", "mixer", "mamba", "temporal_block"}
)
"""How model families call the module of a layer that looks from token to token."""


def freeze_non_attention(model: PreTrainedModel) -> None:
    """Let the mixers train with everything in them, their norms and convolutions too, and freeze all other weights.

    Frozen are MLPs, embedding, head and layer norms. Raises UserError for a model without a mixer of a known name.
    """
    decoder = decoder_of(model)
    mixers = [module for name, module in decoder.named_modules() if is_mixer(name, module)]
    if not any(True for mixer in mixers for _ in mixer.parameters()):
        raise UserError(
            f"train.freeze_non_attention: {type(model).__name__} has no module named {', '.join(sorted(MIXERS))}; its "
            f"layers have {', '.join(_parts_of_layers(decoder)) or 'no parts'}. Set train.freeze_non_attention: false."
        )
    model.requires_grad_(False)
    for mixer in mixers:
        mixer.requires_grad_(True)


def is_mixer(name: str, module: nn.Module) -> bool:
    """Whether a module is the mixer of a layer. `name` is its path; only its whole last segment counts.

    Nemotron-H calls the MLP of a layer `mixer` as well, so the class has a say; LFM2 calls its mixer `conv`,
    as others do a plain convolution.
    """
    last = name.rpartition(".")[2]
    kind = type(module).__name__
    if kind.endswith(("MLP", "MoE", "Moe")):
        return False
    return last in MIXERS or (last == "conv" and kind.endswith("ShortConv"))


def _parts_of_layers(decoder: nn.Module) -> list[str]:
    """The names of what stands directly in a numbered layer, `mlp` and the like."""
    paths = (name.split(".") for name, _ in decoder.named_modules())
    return sorted({path[-1] for path in paths if len(path) >= 2 and path[-2].isdigit() and not path[-1].isdigit()})

"""The floating-point operations that a recipe needs for one token, and those that it really does.

A product of [m, k] and [k, n] counts 2mkn. Needed are:

- of each weight matrix: 2 a weight forward, 2 for the gradient of its input (not where nothing below is trained), 2 for
  its own gradient where it is trained. The head counts for tokens with loss alone; the embedding is a lookup.
- causal attention: the two products over the S/2 tokens that one sees on average; the backward pass twice that.
- the gated delta rule as its formula reads, token by token: decay, read (k S), write and output (q S) of a state
  [K, V], of which three are products: 6KV a head; the backward pass twice that. The short convolution, norms and
  activations are left out.

Done besides, and counted for the hardware alone: layers computed again by full checkpointing (all but the last product
of a layer, whose output nothing needs), the scores that flash attention makes again in its backward pass, and the
logits that are made again where the gradient of a bfloat16 head comes in tiles of the vocabulary: of a tiled head, and
for small chunks of the loss. The delta rule's chunks do more products than the formula; that is not counted.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from transformers import PreTrainedModel

BF16_DATASHEET = 989e12
"""Dense bf16 operations a second of an H100 or H200 SXM, by the vendor's datasheet."""


@dataclass(frozen=True, slots=True)
class Matrix:
    """A weight matrix of the decoder's layers."""

    weights: int
    is_trained: bool
    passes_gradient: bool
    """Whether anything below it is trained, so that the gradient of its input is needed."""
    is_last: bool
    """The last product of its layer."""


@dataclass(frozen=True, slots=True)
class Work:
    """What a model multiplies, as far as a token's operations depend on it."""

    matrices: tuple[Matrix, ...]
    head_weights: int
    head_is_trained: bool
    attention_widths: tuple[int, ...]
    """Of each attention layer the width of its queries: heads x their size."""
    delta_states: tuple[int, ...]
    """Of each DeltaNet layer the numbers in its states: heads x K x V."""


@dataclass(frozen=True, slots=True)
class Flops:
    """Operations for one token of a step."""

    needed: float
    done: float | None
    """None where the recipe computes again what is not known here (selective checkpointing)."""


def flops_per_token(work: Work, length: int, settings: Mapping[str, object]) -> Flops:
    """For rows of one document of `length` tokens, all but the first with loss; `settings` are the engine's keys."""
    with_loss = (length - 1) / length
    body = sum(matrix.weights for matrix in work.matrices)
    through = sum(matrix.weights for matrix in work.matrices if matrix.passes_gradient)
    trained = sum(matrix.weights for matrix in work.matrices if matrix.is_trained)
    attention = sum(2 * length * width for width in work.attention_widths)  # 2 products x 2 x S/2
    rule = sum(6 * states for states in work.delta_states)
    head = 2 * work.head_weights * with_loss
    needed = 2 * (body + through + trained) + head * (3 if work.head_is_trained else 2) + 3 * (attention + rule)
    again = _computed_again(work, attention + rule, str(settings.get("train.gradient_checkpointing", "none")))
    if again is None:
        return Flops(needed, None)
    logits_again = head if work.head_is_trained and _comes_in_tiles(settings) else 0.0
    return Flops(needed, needed + again + attention / 2 + logits_again)


def _comes_in_tiles(settings: Mapping[str, object]) -> bool:
    """Whether the head's gradient does; a step of several chunks is taken for granted."""
    from engine.config.schema import Memory
    from engine.loss.chunked import TOKENS_WORTH_A_SUM

    memory = Memory()
    chunk = int(str(settings.get("memory.loss_chunk_tokens", memory.loss_chunk_tokens)))
    return bool(settings.get("memory.tiled_head", memory.tiled_head)) or chunk < TOKENS_WORTH_A_SUM


def _computed_again(work: Work, mixing: float, checkpointing: str) -> float | None:
    if checkpointing == "none":
        return 0.0
    if checkpointing == "full":
        return 2 * sum(matrix.weights for matrix in work.matrices if not matrix.is_last) + mixing
    return None


def work_of(model: PreTrainedModel) -> Work:
    """What this model multiplies; it may be on the meta device. Frozen is what takes no gradient."""
    from engine.model.decoder import decoder_of

    config = model.config.get_text_config()
    kinds = list(getattr(config, "layer_types", None) or ["full_attention"] * config.num_hidden_layers)
    heads = config.num_attention_heads
    width = heads * (getattr(config, "head_dim", None) or config.hidden_size // heads)
    head: Any = model.get_output_embeddings()
    return Work(
        matrices=tuple(_matrices(model, decoder_of(model).layers)),
        head_weights=head.weight.numel(),
        head_is_trained=head.weight.requires_grad,
        attention_widths=(width,) * kinds.count("full_attention"),
        delta_states=tuple(_states(config) for kind in kinds if kind == "linear_attention"),
    )


def _states(config: Any) -> int:
    states: int = config.linear_num_value_heads * config.linear_key_head_dim * config.linear_value_head_dim
    return states


def _matrices(model: PreTrainedModel, layers: Any) -> Iterator[Matrix]:
    """Those of the first layer that read its input need no gradient of it where the embedding is frozen."""
    from torch import nn

    embedding_is_trained = any(parameter.requires_grad for parameter in model.get_input_embeddings().parameters())
    assert any(parameter.requires_grad for parameter in layers[0].parameters()), "the first layer is frozen"
    for index, layer in enumerate(layers):
        for name, module in layer.named_modules():
            if isinstance(module, nn.Linear):
                reads_input = index == 0 and "mlp" not in name and not name.endswith(("o_proj", "out_proj"))
                yield Matrix(
                    weights=module.weight.numel(),
                    is_trained=module.weight.requires_grad,
                    passes_gradient=embedding_is_trained or not reads_input,
                    is_last=name.endswith("down_proj"),
                )


def utilisation(flops: float | None, tok_s: float, peak: float | None) -> float | None:
    """The share of `peak` (operations a second) that so many tokens a second take."""
    return None if flops is None or not peak else flops * tok_s / peak

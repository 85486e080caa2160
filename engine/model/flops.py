"""The floating-point operations that a recipe needs for one token, and those that it really does.

A product of [m, k] and [k, n] counts 2mkn. Needed are:

- of each weight matrix: 2 a weight forward, 2 for the gradient of its input (not where nothing below is trained), 2 for
  its own gradient where it is trained. The head counts for tokens with loss alone; the embedding is a lookup. Of
  stacked experts those count that a token is sent to.
- causal attention: the two products over the tokens that one sees on average, S/2 without a window; the backward pass
  twice that.
- the gated delta rule as its formula reads, token by token: decay, read (k S), write and output (q S) of a state
  [K, V], of which three are products: 6KV a head; the backward pass twice that. The short convolution, norms,
  activations and what other recurrent mixers do beside their weight matrices are left out.

Done besides, and counted for the hardware alone: products that checkpointing computes again (all but the last one of a
layer, whose output nothing needs; with `selective` those not kept; with `full` the mixers too), the scores that flash
attention makes again in its backward pass, and the logits that are made again where the gradient of a bfloat16 head
comes in tiles of the vocabulary: of a tiled head, and for small chunks of the loss. The delta rule's chunks do more
products than the formula; that is not counted.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from torch import nn

from engine.config.schema import Config, Memory
from engine.loss.chunked import TOKENS_WORTH_A_SUM
from engine.model.decoder import decoder_layers
from engine.model.recompute.choice import choose
from engine.model.recompute.matmuls import Cost

if TYPE_CHECKING:
    from transformers import PreTrainedModel

_LAST_OF_A_LAYER = ("down_proj", "c_proj", "fc2", "w2")
"""How model families call the product that goes straight into the residual sum."""
_LAST_OF_A_MIXER = ("o_proj", "out_proj")
_WINDOWED = ("sliding_attention", "chunked_attention")


@dataclass(frozen=True, slots=True)
class Matrix:
    """A weight matrix of the decoder's layers. `weights` are those that one token is multiplied with."""

    name: str
    shape: tuple[int, ...]
    weights: int
    is_trained: bool
    passes_gradient: bool
    """Whether anything below it is trained, so that the gradient of its input is needed."""

    @property
    def is_last(self) -> bool:
        """The last product of its layer."""
        return "attn" not in self.name and self.name.removesuffix(".weight").endswith(_LAST_OF_A_LAYER)


@dataclass(frozen=True, slots=True)
class Attention:
    """The mixer of one layer. `width` is that of its queries: heads x their size; `window` counts tokens."""

    width: int
    window: int | None = None

    def forward(self, length: int) -> float:
        """Operations of one token of a line of `length`, on average."""
        window = min(self.window or length, length)
        seen = window - window * window / (2 * length)
        return 2 * 2 * seen * self.width


@dataclass(frozen=True, slots=True)
class Products:
    """What a model multiplies, as far as a token's operations depend on it. `layers` has the matrices of each."""

    layers: tuple[tuple[Matrix, ...], ...]
    head_weights: int
    head_is_trained: bool
    attentions: tuple[Attention, ...]
    delta_states: tuple[int, ...]
    """Of each DeltaNet layer the numbers in its states: heads x K x V."""

    @property
    def matrices(self) -> tuple[Matrix, ...]:
        """Those of all layers."""
        return tuple(matrix for layer in self.layers for matrix in layer)

    def mixing(self, length: int) -> float:
        """Operations of a token in the forward pass of all mixers, their weight matrices left out."""
        return sum(one.forward(length) for one in self.attentions) + sum(6 * states for states in self.delta_states)


@dataclass(frozen=True, slots=True)
class Flops:
    """Operations for one token of a step."""

    needed: float
    done: float


def flops_per_token(products: Products, config: Config, length: int) -> Flops:
    """For rows of one document of `length` tokens, all but the first with loss."""
    body, through, trained = 0, 0, 0
    for matrix in products.matrices:
        body += matrix.weights
        through += matrix.weights * matrix.passes_gradient
        trained += matrix.weights * matrix.is_trained
    mixing = products.mixing(length)
    head = 2 * products.head_weights * (length - 1) / length
    needed = 2 * (body + through + trained) + head * (3 if products.head_is_trained else 2) + 3 * mixing
    scores_again = sum(one.forward(length) for one in products.attentions) / 2
    logits_again = head if products.head_is_trained and _comes_in_tiles(config.memory) else 0.0
    return Flops(needed, needed + _computed_again(products, config, mixing) + scores_again + logits_again)


def _comes_in_tiles(memory: Memory) -> bool:
    """Whether the head's gradient does; a step of several chunks is taken for granted."""
    return memory.tiled_head or (memory.chunked_loss and memory.loss_chunk_tokens < TOKENS_WORTH_A_SUM)


def _computed_again(products: Products, config: Config, mixing: float) -> float:
    how = config.train.gradient_checkpointing
    if how == "none":
        return 0.0
    again = 2.0 * sum(matrix.weights for matrix in products.matrices if not matrix.is_last)
    if how == "full":
        return again + mixing
    if how == "selective":
        again -= sum(_saved_by_choice(layer, by_shape=config.model.compile) for layer in products.layers)
    return again


def _saved_by_choice(layer: tuple[Matrix, ...], *, by_shape: bool) -> int:
    """Operations of the products whose outputs `selective` keeps in a layer: see engine.model.recompute.choice."""
    costs: dict[str, Cost] = defaultdict(Cost)
    for matrix in layer:
        if not matrix.is_last:
            name = str(matrix.shape) if by_shape else matrix.name
            costs[name] = costs[name] + Cost(flops=2 * matrix.weights, bytes=2 * matrix.shape[-2], calls=1)
    return sum(costs[name].flops for name in choose(costs))


def products_of(model: PreTrainedModel) -> Products:
    """What this model multiplies; it may be on the meta device. Frozen is what takes no gradient.

    Raises UserError for a model without a list of its layers.
    """
    shape = model.config.get_text_config()
    layers = list(decoder_layers(model).values())
    kinds = list(getattr(shape, "layer_types", None) or ["full_attention"] * len(layers))
    head: Any = model.get_output_embeddings()
    return Products(
        layers=tuple(_layers(model, layers)),
        head_weights=head.weight.numel(),
        head_is_trained=head.weight.requires_grad,
        attentions=tuple(_attention(shape, kind) for kind in kinds if kind in ("full_attention", *_WINDOWED)),
        delta_states=tuple(_states(shape) for kind in kinds if kind == "linear_attention" and _is_delta_rule(shape)),
    )


def _attention(shape: Any, kind: str) -> Attention:
    heads = shape.num_attention_heads
    width = heads * (getattr(shape, "head_dim", None) or shape.hidden_size // heads)
    window = getattr(shape, "sliding_window", None) or getattr(shape, "attention_chunk_size", None)
    return Attention(width, window if kind in _WINDOWED else None)


def _is_delta_rule(shape: Any) -> bool:
    """Mamba's layers are called linear attention too."""
    return hasattr(shape, "linear_num_value_heads")


def _states(shape: Any) -> int:
    states: int = shape.linear_num_value_heads * shape.linear_key_head_dim * shape.linear_value_head_dim
    return states


def _layers(model: PreTrainedModel, layers: list[nn.Module]) -> Iterator[tuple[Matrix, ...]]:
    """What reads the input of a layer needs no gradient of it where nothing below the layer is trained."""
    is_trained_below = any(parameter.requires_grad for parameter in model.get_input_embeddings().parameters())
    for layer in layers:
        yield tuple(_matrices(model, layer, is_trained_below))
        is_trained_below |= any(parameter.requires_grad for parameter in layer.parameters())


def _matrices(model: PreTrainedModel, layer: nn.Module, is_trained_below: bool) -> Iterator[Matrix]:
    lookups = {id(module.weight) for module in layer.modules() if isinstance(module, nn.Embedding)}
    for name, weight in layer.named_parameters():
        share = _share_of_a_token(model, weight)
        if not share or id(weight) in lookups:
            continue
        plain = name.removesuffix(".weight")
        reads_input = "mlp" not in plain and not plain.endswith((*_LAST_OF_A_LAYER, *_LAST_OF_A_MIXER))
        yield Matrix(
            name=name,
            shape=tuple(weight.shape),
            weights=round(weight.numel() * share),
            is_trained=weight.requires_grad,
            passes_gradient=is_trained_below or not reads_input,
        )


def _share_of_a_token(model: PreTrainedModel, weight: nn.Parameter) -> float:
    """The part of a weight that a token is multiplied with: its own experts of a stack; 0 of vectors, convolutions."""
    if weight.dim() == 2:
        return 1.0
    if weight.dim() < 2 or weight.shape[1] == 1:
        return 0.0
    shape = model.config.get_text_config()
    return min(1.0, float(getattr(shape, "num_experts_per_tok", None) or weight.shape[0]) / weight.shape[0])

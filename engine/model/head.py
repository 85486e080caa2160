"""The loss of a causal language model without its full logits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor

from engine.data.feeding.batches import Packs
from engine.errors import UserError
from engine.labels import IGNORED_LABEL
from engine.loss import HeadTokens, chunked_cross_entropy, cross_entropy_and_tokens, token_losses
from engine.model.decoder import decoder_of
from engine.model.packed.isolation import Isolation
from engine.model.probe import in_mode
from engine.to_device import to_device

if TYPE_CHECKING:
    from transformers import PreTrainedModel

_PROBE_TOKENS = 8


@dataclass(frozen=True, slots=True)
class LossHead:
    """Sums the cross-entropy of a batch, in chunks of tokens or, with `chunk_tokens` None, from the full logits.

    No attention mask is passed: batches are padded on the right, and under causal attention no token looks there.
    Packed batches need an `isolation`, which keeps their documents apart.
    """

    model: PreTrainedModel
    chunk_tokens: int | None
    softcap: float | None
    scale: float
    isolation: Isolation | None = None
    is_tiled: bool = False
    """Whether training leaves out the gradient of the head's weight, to make it tile by tile after the body's."""

    @property
    def device(self) -> torch.device:
        """Where the model takes its tokens."""
        device: torch.device = self.model.get_input_embeddings().weight.device
        return device

    def summed_loss(self, input_ids: Tensor, labels: Tensor, packs: Packs | None = None) -> Tensor:
        """The cross-entropy summed over the loss tokens, a float32 scalar. input_ids, labels: [B, S], on the host."""
        if self.chunk_tokens is None:
            targets = to_device(_shifted(labels), self.device)
            return F.cross_entropy(self._full_logits(input_ids, packs), targets, reduction="sum")
        return chunked_cross_entropy(*self._into_head(input_ids, labels, packs))

    def summed_loss_and_tokens(
        self, input_ids: Tensor, labels: Tensor, packs: Packs | None = None
    ) -> tuple[Tensor, HeadTokens]:
        """The same, without a gradient of the head's weight, and what that can be made from tile by tile."""
        return cross_entropy_and_tokens(*self._into_head(input_ids, labels, packs))

    @torch.no_grad()
    def token_losses(self, input_ids: Tensor, labels: Tensor, packs: Packs | None = None) -> Tensor:
        """The cross-entropy of each token [B, S], at the token's own index; 0 where it has no loss."""
        if self.chunk_tokens is None:
            targets = to_device(_shifted(labels), self.device)
            losses = F.cross_entropy(self._full_logits(input_ids, packs), targets, reduction="none")
        else:
            losses = token_losses(*self._into_head(input_ids, labels, packs))
        return F.pad(losses.view(labels.shape)[:, :-1], (1, 0))

    def _into_head(self, input_ids: Tensor, labels: Tensor, packs: Packs | None) -> tuple[Any, ...]:
        """The arguments of the chunked loss."""
        assert self.chunk_tokens is not None
        head: Any = self.model.get_output_embeddings()
        decoder = decoder_of(self.model)
        ids = to_device(input_ids, self.device)
        hidden = decoder(input_ids=ids, use_cache=False, **self._told(packs)).last_hidden_state.flatten(0, 1)
        bias = getattr(head, "bias", None)
        return hidden, head.weight, _shifted(labels), self.chunk_tokens, bias, self.softcap, self.scale

    def _full_logits(self, input_ids: Tensor, packs: Packs | None) -> Tensor:
        ids = to_device(input_ids, self.device)
        logits: Tensor = self.model(input_ids=ids, use_cache=False, **self._told(packs)).logits  # [B, S, V]
        return logits.flatten(0, 1).float()

    def _told(self, packs: Packs | None) -> dict[str, Any]:
        """What the model has to know of the documents in its lines."""
        if self.isolation is None:
            assert packs is None, "documents in one line would see each other"
            return {}
        return self.isolation.enter(packs)


def loss_head(model: PreTrainedModel, chunked: bool, chunk_tokens: int) -> LossHead:
    """The loss head of this model, after proof on a few tokens that chunks and full logits agree.

    Raises UserError for a model whose logits are made in a way that the chunked loss does not know.
    """
    text_config = model.config.get_text_config()
    head = LossHead(
        model,
        chunk_tokens if chunked else None,
        softcap=getattr(text_config, "final_logit_softcapping", None),
        scale=_logit_scale(text_config),
    )
    if chunked and not _agrees_with_full_logits(head):
        raise UserError(
            f"memory.chunked_loss: {type(model).__name__} makes its logits in a way that the chunked loss does not "
            "reproduce; set memory.chunked_loss: false."
        )
    return head


def _logit_scale(text_config: Any) -> float:
    """Cohere multiplies the logits by `logit_scale`, Granite divides them by `logits_scaling`."""
    scale = float(getattr(text_config, "logit_scale", None) or 1.0)
    return scale / float(getattr(text_config, "logits_scaling", None) or 1.0)


@torch.no_grad()
def _agrees_with_full_logits(head: LossHead) -> bool:
    ids = torch.arange(1, _PROBE_TOKENS + 1)[None]
    try:
        with in_mode(head.model, training=False):
            chunked = head.summed_loss(ids, ids)
            full = LossHead(head.model, None, None, 1.0).summed_loss(ids, ids)
    except AttributeError:
        return False
    rtol = 2e-2 if head.model.dtype == torch.bfloat16 else 1e-4
    return bool(torch.isclose(chunked, full, rtol=rtol, equal_nan=True))  # broken weights are no fault of the head


def _shifted(labels: Tensor) -> Tensor:
    """labels [B, S] -> [B * S]: the target of each position is the next token, and a line's last one has none."""
    return F.pad(labels[:, 1:], (0, 1), value=IGNORED_LABEL).flatten()

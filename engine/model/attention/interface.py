"""The functions that the library's models call for attention, under names of their own.

A model makes no mask where it is given one, and `by_documents` is one without numbers: every token looks back over its
own document, as far as its layer's window reaches. With any other mask, or with none, attention is the library's, in
a kernel that is chosen here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor
from torch.nn.attention import SDPBackend, sdpa_kernel

from engine.model.attention.operator import document_attention

if TYPE_CHECKING:
    from transformers import PreTrainedModel

NAME, NAME_FOR_ONE_LENGTH = "pgs_attention", "pgs_attention_for_one_length"
NAMES = (NAME, NAME_FOR_ONE_LENGTH)
FLASH_FIRST = [
    SDPBackend.FLASH_ATTENTION,
    SDPBackend.EFFICIENT_ATTENTION,
    SDPBackend.CUDNN_ATTENTION,
    SDPBackend.MATH,
]
CUDNN_FIRST = [
    SDPBackend.CUDNN_ATTENTION,
    SDPBackend.FLASH_ATTENTION,
    SDPBackend.EFFICIENT_ATTENTION,
    SDPBackend.MATH,
]
"""The kernels of torch's operation; each is taken where those before it do not apply. cuDNN's is the quicker one, but
is planned anew for each length of lines, which takes hundreds of milliseconds."""
RECURRENT = "linear_attention"
KINDS = {"full_attention", "sliding_attention", RECURRENT}
"""The kinds of layers that are known here, as configs name them."""


def register() -> None:
    """Make the functions known to the library, which finds them by name; masks under these names are as for `sdpa`."""
    from transformers.masking_utils import ALL_MASK_ATTENTION_FUNCTIONS, sdpa_mask
    from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS

    for name, function in ((NAME, attend), (NAME_FOR_ONE_LENGTH, attend_for_one_length)):
        ALL_ATTENTION_FUNCTIONS.register(name, function)
        ALL_MASK_ATTENTION_FUNCTIONS.register(name, sdpa_mask)


def takes_documents_without_mask(model: PreTrainedModel) -> bool:
    """Whether this model's attention is one of this file."""
    return getattr(model.config.get_text_config(), "_attn_implementation", None) in NAMES


def by_documents(model: PreTrainedModel, position_ids: Tensor) -> Any:
    """What this model takes as a mask where documents are told by their borders. position_ids: [B, S]."""
    mask = torch.empty(len(position_ids), 1, 0, 0, dtype=torch.bool, device=position_ids.device)
    kinds = getattr(model.config.get_text_config(), "layer_types", None)
    return mask if kinds is None else {kind: None if kind == RECURRENT else mask for kind in set(kinds)}


def attend(
    module: torch.nn.Module,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None,
    dropout: float = 0.0,
    scaling: float | None = None,
    is_causal: bool | None = None,
    sliding_window: int | None = None,
    cu_seq_lens_q: Tensor | None = None,
    *,
    kernels: list[SDPBackend] = FLASH_FIRST,
    **more: Any,
) -> tuple[Tensor, None]:
    """Attention as the library's models want it: [B, S, HQ, E], and no weights.

    query: [B, HQ, S, E]; key, value: [B, HK, S, E]. `cu_seq_lens_q`, int32 [N + 1], says where documents begin in the B
    lines one after another, and the end. `kernels` are those of torch's operation, the first to be asked first. Raises
    ValueError where a model asks for more than the kernel for documents does.
    """
    if attention_mask is None or attention_mask.numel() > 0:
        more |= {"dropout": dropout, "scaling": scaling, "is_causal": is_causal, "sliding_window": sliding_window}
        return _of_library(module, query, key, value, attention_mask, kernels, more)
    looks_back = getattr(module, "is_causal", True) if is_causal is None else is_causal
    _refuse_what_the_kernel_lacks(query, value, dropout, looks_back, more)
    if cu_seq_lens_q is None:
        raise ValueError("attention by documents is not told where they begin")
    scale = query.shape[-1] ** -0.5 if scaling is None else scaling
    lines, _, length, _ = query.shape
    joined = (one.transpose(1, 2).flatten(0, 1) for one in (query, key, value))  # [B x S, H, E]
    outputs, _ = document_attention(*joined, cu_seq_lens_q, length, scale, sliding_window)
    return outputs.unflatten(0, (lines, length)), None


def attend_for_one_length(module: torch.nn.Module, *tensors: Any, **more: Any) -> tuple[Tensor, None]:
    """The same where all lines of training are as long as each other; those of an evaluation need not be."""
    return attend(module, *tensors, kernels=CUDNN_FIRST if module.training else FLASH_FIRST, **more)


def _of_library(
    module: Any, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, kernels: list[SDPBackend], more: Any
) -> tuple[Tensor, None]:
    """The library's attention in torch's operation, by the first of these kernels that applies."""
    from transformers.integrations.sdpa_attention import sdpa_attention_forward

    with sdpa_kernel(kernels, set_priority=True):
        outputs: tuple[Tensor, None] = sdpa_attention_forward(module, query, key, value, mask, **more)
    return outputs


def _refuse_what_the_kernel_lacks(
    query: Tensor, value: Tensor, dropout: float, looks_back: bool, more: dict[str, Any]
) -> None:
    asked = [name for name in ("softcap", "s_aux", "position_bias") if more.get(name) is not None]
    asked += ["dropout"] * (dropout > 0) + ["a look at later tokens"] * (not looks_back)
    asked += ["values of another width than keys"] * (query.shape[-1] != value.shape[-1])
    if asked:
        raise ValueError(f"attention with {', '.join(asked)} by documents has no kernel")

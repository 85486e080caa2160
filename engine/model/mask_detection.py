"""Keeps transformers from asking the device whether a batch is packed: who calls the model knows it.

Where it is given no attention mask, transformers looks at the position ids in every forward pass, and an `if` over
numbers on the device waits for all that the device still has to do, the optimizer's step before among it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from engine.model.decoder import decoder_of

if TYPE_CHECKING:
    from transformers import PreTrainedModel

_DETECTION = "find_packed_sequence_indices"
"""The function of `transformers.masking_utils` that looks for documents; versions 5.17 to 5.24 have it."""


def tell_packs_by_position_ids(model: PreTrainedModel) -> None:
    """Let the decoder take batches with position ids for packed ones, those without for one document a line.

    So it is here: `Isolation` gives position ids for packs alone. Masks are those of transformers.
    """
    decoder = decoder_of(model)
    decoder.forward = ToldForward(decoder.forward)


class ToldForward:
    """A decoder's forward pass within which transformers' detection is answered without a look at the device."""

    def __init__(self, forward: Callable[..., Any]) -> None:
        self._forward = forward

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        is_packed = kwargs.get("position_ids") is not None
        with _detecting(documents_of if is_packed else _one_document_a_line):
            return self._forward(*args, **kwargs)


def documents_of(position_ids: Tensor) -> Tensor:
    """Which document of its line each token belongs to, counted from 0; [B, S] -> int64 [B, S].

    As transformers counts: a document begins wherever a position is not the one before plus 1.
    """
    before = position_ids[:, :1] - 1
    return torch.diff(position_ids, prepend=before, dim=-1).ne(1).cumsum(-1)


def _one_document_a_line(position_ids: Tensor) -> None:
    return None


@contextmanager
def _detecting(documents: Callable[[Tensor], Tensor | None]) -> Iterator[None]:
    """Within, `documents` stands in the place of transformers' detection."""
    from transformers import masking_utils

    detection = getattr(masking_utils, _DETECTION, None)
    if detection is None:  # another version, which may look in another place
        yield
        return
    setattr(masking_utils, _DETECTION, documents)
    try:
        yield
    finally:
        setattr(masking_utils, _DETECTION, detection)

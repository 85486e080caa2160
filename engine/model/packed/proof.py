"""Proof on the loaded model that documents in one line do not see each other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from engine.data.feeding.batches import Packs, Slots, packs_of
from engine.errors import is_out_of_memory
from engine.model.packed.isolation import Isolation, possible_ways
from engine.model.probe import in_mode, last_hidden, random_ids

if TYPE_CHECKING:
    from transformers import PreTrainedModel

PROBE = (Slots(0, 0, 67), Slots(0, 67, 73), Slots(0, 73, 74), Slots(0, 74, 79), Slots(1, 0, 23), Slots(1, 23, 64))
"""Documents longer and shorter than a window, a chunk of 64 and a token, in two lines; the second ends in padding."""
_SHAPE = (2, 79)
SHORT_PROBE = (Slots(0, 0, 9), Slots(0, 9, 13), Slots(0, 13, 14), Slots(0, 14, 17), Slots(1, 0, 6), Slots(1, 6, 11))
"""For attention in torch, which has no chunks and no tiles: a fifth of the tokens, and as many borders."""
_SHORT_SHAPE = (2, 17)
LEAK_LIMIT = {torch.float32: 1e-4, torch.bfloat16: 2e-2}
"""Largest share by which a token's vector may change when other documents do. It is computed in the same way from the
same numbers: mostly the change is 0, and experts, which take tokens of all documents together, sum in another order."""
DIFFERENCE_LIMIT = {torch.float32: 1e-3, torch.bfloat16: 1e-1}
"""Largest share by which the vectors of a document may differ from those without packing, where sums run in another
order."""


class NotIsolatedError(Exception):
    """Documents in one line cannot be kept apart; the text says why."""


def isolate(model: PreTrainedModel) -> Isolation:
    """Keep documents apart in `model`, in the quickest way that is proven to do so.

    Raises:
        NotIsolatedError: no way does; the model is as it was before.
    """
    reason = ""
    for way in possible_ways(model):
        isolation = Isolation(model, way)
        found = _why_not(model, isolation)
        if found is None:
            return isolation
        isolation.remove()
        reason = reason or found
    raise NotIsolatedError(reason)


def _why_not(model: PreTrainedModel, isolation: Isolation) -> str | None:
    """Why documents are not apart; None when they are."""
    try:
        with in_mode(model, training=False), torch.no_grad():
            leak, difference = measure(model, isolation, *_probe(model, isolation))
    except Exception as error:  # whatever a model's own code says of packs
        if is_out_of_memory(error):
            raise
        return f"{type(model).__name__} does not take packs ({' '.join(str(error).split())})"
    if not leak <= _limit(LEAK_LIMIT, model):
        return f"the text of one document changes another one by {leak:.1%}"
    if not difference <= _limit(DIFFERENCE_LIMIT, model):
        return f"a packed document differs from the same one alone by {difference:.1%}"
    return None


def measure(
    model: PreTrainedModel,
    isolation: Isolation,
    documents: Sequence[Slots] = PROBE,
    shape: tuple[int, int] = _SHAPE,
) -> tuple[float, float]:
    """How far other documents change a document's last hidden vectors, and how far those are from the ones alone.

    The first is the change of the worst token, as a share of its vector's length, while every second document in turn
    gets another text; the second that of the worst document, all its vectors taken together.
    """
    packs = packs_of(documents, shape)
    ids, others = random_ids(model, shape, seed=1), random_ids(model, shape, seed=2)
    packed = _hidden(model, isolation, ids, packs)
    leaks, differences = [], []
    for changed in (0, 1):
        partly = ids.clone()
        for line, start, stop in documents[changed::2]:
            partly[line, start:stop] = others[line, start:stop]
        beside = _hidden(model, isolation, partly, packs)
        for line, start, stop in documents[1 - changed :: 2]:
            leaks += _distances(beside[line, start:stop], packed[line, start:stop])
    for line, start, stop in documents:
        alone = _hidden(model, isolation, ids[line : line + 1, start:stop], None)
        differences += _distances(packed[line, start:stop].flatten(), alone.flatten())
    return _worst(leaks), _worst(differences)


def _probe(model: PreTrainedModel, isolation: Isolation) -> tuple[tuple[Slots, ...], tuple[int, int]]:
    """The documents to prove it on, and the shape of their lines."""
    if isolation.way.mixers or isolation.way.tells_borders or model.device.type != "cpu":
        return PROBE, _SHAPE
    return SHORT_PROBE, _SHORT_SHAPE


def _hidden(model: PreTrainedModel, isolation: Isolation, ids: Tensor, packs: Packs | None) -> Tensor:
    return last_hidden(model, ids, **isolation.enter(packs))


def _distances(found: Tensor, wanted: Tensor) -> list[float]:
    """Of each vector, as a share of its length. found, wanted: [T, H] or [H]."""
    shares: list[float] = ((found - wanted).norm(dim=-1) / wanted.norm(dim=-1)).flatten().tolist()
    return shares


def _worst(distances: list[float]) -> float:
    """The largest one; not a number if one is not."""
    return float(torch.tensor(distances).max())


def _limit(limits: dict[torch.dtype, float], model: PreTrainedModel) -> float:
    return limits.get(model.dtype, limits[torch.bfloat16])

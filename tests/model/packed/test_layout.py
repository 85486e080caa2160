"""Tokens laid out anew for a layer with a state and a convolution, and brought back."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor

from engine.data.feeding.batches import Slots, packs_of
from engine.model.packed.layout import stacked

DOCUMENTS = (Slots(0, 0, 70), Slots(0, 70, 71), Slots(0, 71, 75), Slots(1, 0, 3), Slots(1, 3, 40))
PACKS = packs_of(DOCUMENTS, (2, 75))
CPU = torch.device("cpu")
WINDOW = 4


def layer(hidden: Tensor) -> Tensor:
    """A convolution and then a sum over the whole line, neither of which knows documents."""
    weights = torch.tensor([1.0, -2.0, 3.0, -4.0])
    lines, length, width = hidden.shape
    columns = F.pad(hidden.transpose(1, 2).reshape(-1, 1, length), (WINDOW - 1, 0))
    return F.conv1d(columns, weights.view(1, 1, -1)).view(lines, width, length).transpose(1, 2).cumsum(1)


def test_every_document_gets_what_the_layer_makes_of_it_alone() -> None:
    hidden = torch.randn(2, 75, 5, generator=torch.Generator().manual_seed(0), dtype=torch.float64).float()
    hidden.requires_grad_()
    found = stacked(PACKS, CPU).run(layer, (), {"hidden": hidden})
    expected = torch.zeros_like(hidden)
    for line, start, stop in DOCUMENTS:
        expected[line, start:stop] = layer(hidden[line : line + 1, start:stop])[0]
    torch.testing.assert_close(found, expected)
    assert (found[1, 40:] == 0).all(), "padding gets zeros"

    weights = torch.randn(found.shape, generator=torch.Generator().manual_seed(1))
    [gradient] = torch.autograd.grad((found * weights).sum(), hidden, retain_graph=True)
    [expected_gradient] = torch.autograd.grad((expected * weights).sum(), hidden)
    torch.testing.assert_close(gradient, expected_gradient)


def test_other_values_per_token_go_along_and_old_borders_stay_behind() -> None:
    heard: list[dict[str, Any]] = []

    def listening(hidden: Tensor, **kwargs: Any) -> tuple[Tensor, Tensor, None]:
        heard.append(kwargs)
        return hidden + kwargs["turned"][0], torch.zeros(3), None

    hidden, cosine = torch.randn(2, 75, 5), torch.randn(2, 75, 5)
    layout = stacked(PACKS, CPU)
    result, state, nothing = layout.run(
        listening, (hidden,), {"turned": (cosine, cosine), "cu_seq_lens_q": torch.zeros(3), "cache": None}
    )
    for line, start, stop in DOCUMENTS:
        torch.testing.assert_close(result[line, start:stop], (hidden + cosine)[line, start:stop])
    assert state is None and nothing is None
    assert all(set(kwargs) == {"turned", "cache"} for kwargs in heard)


def test_documents_of_like_length_share_a_call() -> None:
    shapes: list[tuple[int, ...]] = []

    def listening(hidden: Tensor) -> Tensor:
        shapes.append(tuple(hidden.shape))
        return hidden

    stacked(PACKS, CPU).run(listening, (torch.randn(2, 75, 5),), {})
    assert sorted(shapes) == [(1, 70, 5), (4, 37, 5)]

"""The chunks of documents, as the kernels of flash-linear-attention take them."""

import torch

from engine.model.delta_rule.chunk_indices import chunk_indices


def test_each_chunk_has_its_document_and_its_place_there() -> None:
    borders = torch.tensor([0, 64, 65, 65, 200, 200], dtype=torch.int32)
    found = chunk_indices(borders, borders)
    assert found.dtype == torch.int32
    assert found.tolist() == [[0, 0], [1, 0], [3, 0], [3, 1], [3, 2]], "empty documents have none"


def test_the_layers_of_a_batch_share_it_whichever_tensor_holds_the_borders() -> None:
    borders = torch.tensor([0, 100, 130])
    assert chunk_indices(borders, borders) is chunk_indices(borders.clone(), borders.detach())

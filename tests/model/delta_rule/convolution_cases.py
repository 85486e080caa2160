"""The convolution's kernels beside the convolution in torch, case by case; run by test_convolution_kernels.py."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from engine.model.delta_rule import convolution, convolution_kernels
from engine.model.delta_rule.documents import places_by_borders, places_in_documents

DEVICE = torch.device("cuda" if torch.cuda.is_available() else "cpu")
CLOSE = {torch.float32: 1e-6, torch.bfloat16: 1e-2}
"""Largest error as a share of the largest number: sums run in another order; bfloat16 is rounded once more."""


def draw(*shape: int, dtype: torch.dtype) -> Tensor:
    generator = torch.Generator().manual_seed(sum(shape))
    return torch.randn(*shape, generator=generator).to(DEVICE, dtype)


def compare(
    name: str, inputs: Tensor, width: int, borders: Sequence[int] | None = None, key_width: int | None = None
) -> None:
    """Queries, keys and values, each by itself, and both gradients; a quarter of the channels are keys if not told."""
    weight = draw(inputs.shape[2], width, dtype=inputs.dtype)
    key_width = inputs.shape[2] // 4 if key_width is None else key_width
    sections = (key_width, key_width, inputs.shape[2] - 2 * key_width)
    gradient = draw(*inputs.shape, dtype=inputs.dtype)
    cu_seqlens = None if borders is None else torch.tensor(borders, dtype=torch.int32, device=DEVICE)
    places = None if cu_seqlens is None else places_by_borders(cu_seqlens, inputs.shape[1])
    if borders is not None and places is not None:
        assert torch.equal(places.long(), places_in_documents(borders, DEVICE)), name
    found = [*convolution_kernels.forward(inputs, weight, key_width, places)]
    found += convolution_kernels.backward(*gradient.split(sections, dim=-1), inputs, weight, places)
    wanted = [*convolution.forward(inputs, weight, cu_seqlens).split(sections, dim=-1)]
    wanted += convolution.backward(gradient, inputs, weight, cu_seqlens)
    for one, other in zip(found, wanted, strict=True):
        assert one.dtype == other.dtype and one.shape == other.shape and one.is_contiguous(), name
        error = (one.float() - other.float()).abs().max() / other.float().abs().max()
        assert error <= CLOSE[inputs.dtype], f"{name}: {error:.1e}"
    print("equal", name)


def main() -> None:
    convolution_kernels.FORWARD_ROWS = convolution_kernels.BACKWARD_ROWS = 8  # several programs for few tokens
    many = [0, 1, 3, 6, 6, 14, 16, 21, 21]
    for dtype in CLOSE:
        compare(f"documents {dtype}", draw(1, 21, 20, dtype=dtype), 4, many)
    compare("lines", draw(3, 7, 20, dtype=torch.float32), 4)
    compare("lines shorter than what is seen", draw(5, 2, 7, dtype=torch.bfloat16), 4)
    compare("one token", draw(1, 1, 7, dtype=torch.float32), 4)
    compare("two tokens seen, in documents", draw(1, 21, 20, dtype=torch.float32), 2, many)
    compare("eight tokens seen, in documents", draw(1, 21, 20, dtype=torch.float32), 8, many)
    compare("sections of several programs", draw(1, 5, 2560, dtype=torch.float32), 4, [0, 2, 5], key_width=1024)
    compare(
        "sections of whole and of broken programs", draw(1, 5, 1731, dtype=torch.float32), 4, [0, 2, 5], key_width=600
    )
    compare("values of another width than keys", draw(1, 5, 400, dtype=torch.float32), 4, [0, 2, 5], key_width=131)
    compare("keys of one channel", draw(1, 5, 7, dtype=torch.float32), 4, key_width=1)
    wide = draw(2, 6, 50, dtype=torch.float32)
    compare("a slice of wider rows", wide[..., 10:30], 4)
    compare("channels that are not side by side", wide.transpose(1, 2)[:, :8], 4)


if __name__ == "__main__":
    main()

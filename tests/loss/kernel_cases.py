"""Compares the kernels of the loss with torch's operations, case by case; `test_kernel.py` runs it interpreted."""

from collections.abc import Callable

import torch
from torch import Tensor

from engine.loss import softmax_kernel, softmax_torch
from engine.loss.projection import Projection

ROWS, VOCABULARY = 3, 5000
"""More logits in a row than a program takes at once, and no multiple of anything."""


def head(vocabulary: int, softcap: float | None = None, scale: float = 1.0, bias: bool = False) -> Projection:
    generator = torch.Generator().manual_seed(2)
    weight = torch.empty(vocabulary, 1)
    return Projection(weight, torch.randn(vocabulary, generator=generator) if bias else None, softcap, scale)


def inputs() -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(1)
    products = 4 * torch.randn(ROWS, VOCABULARY, generator=generator)
    return products, torch.tensor([0, 4097, VOCABULARY - 1])


def compare(projection: Projection, products: Tensor, dtype: torch.dtype, *, tolerance: float) -> None:
    """Both passes, with rows of the gradient in `dtype`."""
    _, targets = inputs()
    results = []
    for softmax in (softmax_kernel, softmax_torch):
        mine = products.clone()
        gradient = mine if dtype == torch.float32 else torch.empty_like(mine, dtype=dtype)
        losses, log_sums = softmax.losses_and_gradient(mine, targets, projection, gradient)
        alone = softmax.losses_and_gradient(products.clone(), targets, projection, None)
        assert torch.equal(alone[0].nan_to_num(7), losses.nan_to_num(7)), "the gradient changes the loss"
        parts = []
        for begin, end in ((0, 1111), (1111, VOCABULARY)):
            part = products[:, begin:end].clone()
            out = part if dtype == torch.float32 else torch.empty_like(part, dtype=dtype)
            softmax.tile_gradient(part, targets, log_sums, projection, begin, out)
            parts.append(out)
        results.append((losses, log_sums, gradient, torch.cat(parts, 1)))
    for ours, expected in zip(*results, strict=True):
        torch.testing.assert_close(ours, expected, rtol=tolerance, atol=tolerance / 10, equal_nan=True)
    torch.testing.assert_close(results[0][2], results[0][3], rtol=tolerance, atol=tolerance / 10, equal_nan=True)


def special() -> Tensor:
    """A row with infinity, one with NaN, and one whose first block and more is minus infinity."""
    products, _ = inputs()
    products[0, 17] = torch.inf
    products[1, 4999] = torch.nan
    products[2, :4500] = -torch.inf
    return products


CASES: dict[str, Callable[[], None]] = {
    "plain": lambda: compare(head(VOCABULARY), inputs()[0], torch.float32, tolerance=1e-5),
    "bfloat16": lambda: compare(head(VOCABULARY), inputs()[0], torch.bfloat16, tolerance=1e-2),
    "bias": lambda: compare(head(VOCABULARY, bias=True), inputs()[0], torch.float32, tolerance=1e-5),
    "softcap": lambda: compare(head(VOCABULARY, softcap=3.0, scale=0.5), inputs()[0], torch.float32, tolerance=1e-5),
    "all": lambda: compare(head(VOCABULARY, 30.0, 2.0, True), inputs()[0], torch.float32, tolerance=1e-5),
    "large": lambda: compare(head(VOCABULARY), 1000 * inputs()[0], torch.float32, tolerance=1e-5),
    "special": lambda: compare(head(VOCABULARY), special(), torch.float32, tolerance=1e-5),
}

if __name__ == "__main__":
    torch.set_num_threads(1)
    for name, case in CASES.items():
        case()
        print(name, "equal")

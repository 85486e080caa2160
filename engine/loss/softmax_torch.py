"""Softmax and its gradient with torch's own operations, in place as far as that goes (`engine.loss.softmax`)."""

from __future__ import annotations

from torch import Tensor

from engine.loss.projection import Projection


def losses_and_gradient(
    products: Tensor, targets: Tensor, head: Projection, gradient: Tensor | None
) -> tuple[Tensor, Tensor]:
    logits = _logits_in_place(products, head, 0)  # [n, V]
    slope = _slope(logits, head) if gradient is not None else None
    highest = logits.amax(1, keepdim=True)
    logits.sub_(highest)
    at_target = logits.gather(1, targets.unsqueeze(1))
    sums = logits.exp_().sum(1, keepdim=True)
    log_sums = sums.log()
    losses = (log_sums - at_target).squeeze(1)
    if gradient is not None:
        logits.div_(sums)
        logits.scatter_(1, targets.unsqueeze(1), logits.gather(1, targets.unsqueeze(1)) - 1.0)
        _through_the_head(logits, slope, head, gradient)
    return losses, (highest + log_sums).squeeze(1)


def tile_gradient(
    products: Tensor,
    targets: Tensor,
    log_sums: Tensor,
    head: Projection,
    begin: int,
    gradient: Tensor,
) -> None:
    logits = _logits_in_place(products, head, begin)  # [n, m]
    slope = _slope(logits, head)
    logits.sub_(log_sums.unsqueeze(1)).exp_()
    places = (targets - begin).unsqueeze(1)
    is_here = (places >= 0) & (places < logits.shape[1])
    places = places.where(is_here, 0)
    logits.scatter_(1, places, logits.gather(1, places) - is_here.to(logits.dtype))
    _through_the_head(logits, slope, head, gradient)


def _logits_in_place(products: Tensor, head: Projection, begin: int) -> Tensor:
    if head.bias is not None:
        products.add_(head.bias[begin : begin + products.shape[1]])
    if head.scale != 1.0:
        products.mul_(head.scale)
    if head.softcap is not None:
        products.div_(head.softcap).tanh_().mul_(head.softcap)
    return products


def _slope(logits: Tensor, head: Projection) -> Tensor | None:
    """The softcap's derivative, where there is one."""
    return None if head.softcap is None else (logits / head.softcap).square_().neg_().add_(1.0)


def _through_the_head(by_logits: Tensor, slope: Tensor | None, head: Projection, gradient: Tensor) -> None:
    """Turn the gradient by the logits, in place, into that by the products, and put it into `gradient`."""
    if slope is not None:
        by_logits.mul_(slope)
    if head.scale != 1.0:
        by_logits.mul_(head.scale)
    if gradient is not by_logits:
        gradient.copy_(by_logits)

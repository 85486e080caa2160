"""What a kernel is for, told from its name and from the operators that launched it."""

from __future__ import annotations

from collections.abc import Sequence

OPTIMIZER, NORM = "bench: optimizer", "bench: gradient norm"
"""Marks around a tensor's update and around the measuring of its gradient."""

_BY_OPERATOR = (
    ("delta rule", ("pgs::gated_delta_rule",)),
    ("convolution", ("pgs::causal_conv1d",)),
    ("attention", ("scaled_dot_product", "_flash_attention", "_efficient_attention", "_cudnn_attention")),
    ("optimizer", (OPTIMIZER, "pgs::lion", "pgs::fused_lion")),
    ("gradient norms", (NORM,)),
)
"""An operator or mark around the launch decides first, the outermost before those within."""

_BY_NAME = (
    ("copies", ("memcpy", "memset")),
    ("attention", ("flash", "fmha", "sdpa", "attention")),
    ("matmul", ("gemm", "nvjet", "cutlass", "wgmma", "_mm", "::mm", "matmul", "::linear", "splitk", "::bmm", "dot_")),
    ("delta rule", ("gated_delta", "delta_rule", "chunk_bwd", "chunk_fwd", "wy_", "solve_tril", "l2norm", "cumsum")),
    ("convolution", ("conv1d",)),
    ("embedding", ("embedding", "indexselect", "index_select", "sort")),
    ("optimizer", ("lion", "quantize_blockwise", "optimizer")),
    ("copies", ("copy", "clone", "cat", "contiguous")),
    ("fused elementwise", ("triton_",)),
    ("reductions", ("reduce", "softmax", "::sum", "amax", "norm")),
    ("elementwise", ("elementwise", "vectorized", "unrolled", "fill", "::mul", "::add", "::sigmoid", "::silu")),
)

OTHER = "other"


def category(name: str, operators: Sequence[str]) -> str:
    """The category of a kernel; `operators` enclose its launch, outermost first."""
    for operator in operators:
        for kind, signs in _BY_OPERATOR:
            if any(sign in operator for sign in signs):
                return kind
    lowered = name.lower()
    return next((kind for kind, signs in _BY_NAME if any(sign in lowered for sign in signs)), OTHER)


def short_name(name: str, longest: int = 90) -> str:
    """A kernel's name without its template arguments and `void`."""
    plain = name.removeprefix("void ")
    head = plain.split("<", 1)[0] if plain.count("<") and not plain.startswith("<") else plain
    if head in ("at::native::vectorized_elementwise_kernel", "at::native::unrolled_elementwise_kernel"):
        head = plain  # what it computes is in the arguments alone
    if "elementwise" in head or "reduce_kernel" in head:
        head = plain
    return head if len(head) <= longest else f"{head[: longest - 1]}…"

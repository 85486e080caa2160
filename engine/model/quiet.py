"""The import of torchao, which transformers does too where it is installed, without lines that concern nobody here."""

from __future__ import annotations

from contextlib import AbstractContextManager

from engine.quiet import without_lines

_SAID = {
    "torchao": "Failed to load",  # its kernels for other GPUs, for MXFP8 and quantised inference
    "torch.utils._pytree": "is an Enum subclass and is now natively supported",  # torch 2.13 about torchao's enums
}


def quiet_import() -> AbstractContextManager[None]:
    """Keep exactly those lines from the console; everything else is said as always."""
    return without_lines(_SAID)

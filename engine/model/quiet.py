"""Imports torchao, which transformers imports as well where it is installed, without lines that concern nobody here."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager

_SAID = {
    "torchao": "Failed to load",  # its kernels for other GPUs, for MXFP8 and quantised inference
    "torch.utils._pytree": "is an Enum subclass and is now natively supported",  # torch 2.13 about torchao's enums
}
"""Logger -> what its lines hold that are kept from the console while torchao is imported."""


@contextmanager
def quiet_import() -> Iterator[None]:
    """Keep exactly those lines from the console; everything else is said as always."""

    def is_of_use(record: logging.LogRecord) -> bool:
        return _SAID[record.name] not in record.getMessage()

    loggers = [logging.getLogger(name) for name in _SAID]
    for logger in loggers:
        logger.addFilter(is_of_use)
    try:
        yield
    finally:
        for logger in loggers:
            logger.removeFilter(is_of_use)

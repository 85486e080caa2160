"""Keeps single lines of libraries, which concern nobody who trains, from the console; everything else is said."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager


@contextmanager
def without_lines(said: Mapping[str, str]) -> Iterator[None]:
    """Within, a logger named in `said` keeps to itself the lines that hold the text which stands there."""

    def is_of_use(record: logging.LogRecord) -> bool:
        return said[record.name] not in record.getMessage()

    loggers = [logging.getLogger(name) for name in said]
    for logger in loggers:
        logger.addFilter(is_of_use)
    try:
        yield
    finally:
        for logger in loggers:
            logger.removeFilter(is_of_use)

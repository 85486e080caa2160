"""Python's garbage collector during training: it runs between steps, never within one.

Left alone it may start anywhere, and walks over every object of the libraries each time: pauses of half a second in the
midst of a step. What stands when training begins is never garbage, so it is set aside ("frozen").
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

STEPS_BETWEEN = 50


@contextmanager
def collected_between_steps() -> Iterator[None]:
    """Within, garbage is collected only by `collect_if_due`; afterwards as before."""
    was_enabled = gc.isenabled()
    gc.collect()
    gc.freeze()
    gc.disable()
    try:
        yield
    finally:
        gc.unfreeze()
        if was_enabled:
            gc.enable()


def collect_if_due(step: int) -> None:
    """Collect garbage before each `STEPS_BETWEEN`-th step."""
    if step % STEPS_BETWEEN == 0:
        gc.collect()

"""One text as tokens."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class EncodedText:
    """Token ids and where each token's first byte stands in the text.

    `stops`: how many tokens begin before each border of the draft. `special_texts`: what the data wrote that looks like
    a control token and was kept as plain text.
    """

    ids: list[int]
    starts: Sequence[int]
    stops: list[int]
    special_texts: tuple[str, ...] = ()
    array: NDArray[np.int32] | None = None  # the ids once more, where they are at hand in this form

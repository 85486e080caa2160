"""A row far longer than the others: it decides how much memory a run needs, and may come hours after the start."""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Mapping

import numpy as np
from numpy.typing import NDArray

from engine.data.audit.flags import AuditFlag, Severity
from engine.data.audit.places import Place

FAR_LONGER = 8
"""From this multiple of the median on, the batch with the row has little to do with the usual one."""
LEAST_TOKENS = 2048
"""Rows up to this length fit where anything is trained."""
_NAMED = 5


def about_long_rows(
    lengths: NDArray[np.int64] | array[int], rows: NDArray[np.int64] | array[int], places: Mapping[int, Place]
) -> Iterator[AuditFlag]:
    """A warning where batches are padded to such a row. `lengths` are in tokens, after the cut, of the rows `rows`."""
    if not len(lengths):
        return
    tokens = np.asarray(lengths)
    median = int(np.median(tokens))
    is_long = tokens >= max(FAR_LONGER * median, LEAST_TOKENS + 1)
    if not is_long.any():
        return
    longest_first = sorted(np.flatnonzero(is_long).tolist(), key=lambda index: -int(tokens[index]))
    named = tuple(int(rows[index]) for index in longest_first[:_NAMED])
    place = places[named[0]]
    longest = tokens.max()
    message = (
        f"{place.file}, line {place.line}: the longest row has {longest:,} tokens, the median is {median:,}, and the"
        f" batch with this row decides how much memory the run needs: pgs profile --data.max_seq_length {longest}"
        " estimates it, and a run tries it before the first step; a lower data.max_seq_length cuts the row, and"
        " data.packing makes all lines alike"
    )
    yield AuditFlag("LONGEST_ROW_RISK", Severity.WARNING, int(is_long.sum()), named, message)

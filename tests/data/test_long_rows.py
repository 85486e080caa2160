"""A row far longer than the others is found before a run meets it."""

from __future__ import annotations

import pytest

from engine.data import Severity
from tests.data.conftest import Prepare, chat


def rows_of(*lengths: int) -> list[list[dict[str, object]]]:
    """Chats whose questions have that many tokens."""
    return [chat("x" * length, "ok") for length in lengths]


def test_one_row_of_thousands_is_named_with_its_length_and_the_usual_one(prepare_rows: Prepare) -> None:
    prepared = prepare_rows(*rows_of(*[470] * 70, 7970, *[470] * 30), max_seq_length=16384)
    (flag,) = (flag for flag in prepared.data.report.flags if flag.code == "LONGEST_ROW_RISK")
    longest = max(map(len, prepared.data.train))
    assert longest > 7970
    assert (flag.severity, flag.count, flag.rows) == (Severity.WARNING, 1, (70,))
    assert "line 71: " in flag.message
    assert f"the longest row has {longest:,} tokens, the median is {len(prepared.data.train[0]):,}" in flag.message
    assert f"pgs profile --data.max_seq_length {longest} estimates it" in flag.message


@pytest.mark.parametrize(
    ("lengths", "keys"),
    [
        ([470] * 20 + [7970], {"max_seq_length": 2048}),
        ([470] * 20 + [7970], {"max_seq_length": 16384, "packing": True}),
        ([470] * 20 + [2500], {"max_seq_length": 16384}),
        ([10] * 20 + [1900], {"max_seq_length": 16384}),
        ([7970], {"max_seq_length": 16384}),
    ],
    ids=["cut by the limit", "packed", "not far longer", "short all the same", "alone"],
)
def test_where_lengths_are_alike_or_bounded_there_is_nothing_to_tell(
    prepare_rows: Prepare, lengths: list[int], keys: dict[str, object]
) -> None:
    assert "LONGEST_ROW_RISK" not in prepare_rows(*rows_of(*lengths), **keys).codes

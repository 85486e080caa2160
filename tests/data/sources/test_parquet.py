"""Parquet files: their rows as plain values, row groups in memory or on the disk, damage."""

from __future__ import annotations

import hashlib
import json
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import datasets
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from engine.data import DataError
from engine.data.sources import parquet
from engine.data.sources.rows import RawRow
from tests.data.sources.conftest import corpus, lines, the_bad_one, values

ROWS: list[Any] = [{"n": number, "turns": [{"role": "user", "content": "x" * number}]} for number in range(10)]


def table(path: Path, rows: list[Any], **options: Any) -> Path:
    pq.write_table(pa.Table.from_pylist(rows), path, **options)
    return path


def test_rows_come_in_order_and_by_number(tmp_path: Path) -> None:
    path = table(tmp_path / "a.parquet", ROWS, row_group_size=3)
    rows = corpus(path, first_row=5)
    assert values(rows) == ROWS and lines(rows) == list(range(1, 11))
    assert [rows.at(row).row for row in (14, 5, 9)] == [14, 5, 9]
    assert [row.row for row in rows.read(7, 12)] == [7, 8, 9, 10, 11]
    assert all(isinstance(row, RawRow) and row.is_columnar for row in rows)
    assert rows.files[0].sha256 == hashlib.sha256(path.read_bytes()).hexdigest()


def test_large_row_groups_are_read_from_the_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parquet, "_LARGE_GROUP", 0)
    rows = corpus(table(tmp_path / "a.parquet", ROWS, row_group_size=4))
    assert values(rows) == ROWS and rows.at(9).line == 10


def test_values_are_what_json_knows(tmp_path: Path) -> None:
    moment = datetime(2024, 2, 29, 12, 30, tzinfo=UTC)
    row = {
        "when": moment,
        "day": date(2024, 2, 29),
        "at": time(9, 5),
        "took": timedelta(minutes=2),
        "price": Decimal("1.50"),
        "count": Decimal("3"),
        "bytes": "é".encode(),
        "image": b"\xff\x00",
        "nothing": None,
        "flag": True,
    }
    (value,) = values(corpus(table(tmp_path / "a.parquet", [row])))
    assert value == {
        "when": "2024-02-29T12:30:00+00:00",
        "day": "2024-02-29",
        "at": "09:05:00",
        "took": 120.0,
        "price": 1.5,
        "count": 3,
        "bytes": "é",
        "image": "ff00",
        "nothing": None,
        "flag": True,
    }
    assert json.dumps(value)


def test_maps_become_objects(tmp_path: Path) -> None:
    column = pa.array([[("city", "Oslo"), ("days", None)]], type=pa.map_(pa.string(), pa.string()))
    pq.write_table(pa.table({"arguments": column}), tmp_path / "a.parquet")
    assert values(corpus(tmp_path / "a.parquet")) == [{"arguments": {"city": "Oslo", "days": None}}]


def test_json_that_datasets_keeps_as_text_is_read(tmp_path: Path) -> None:
    """Tool arguments of many shapes: `datasets` writes them as a column of JSON texts."""
    rows = [
        {"calls": [{"name": "w", "arguments": {"city": "Oslo"}}]},
        {"calls": [{"name": "add", "arguments": {"a": 1, "b": [2]}}]},
    ]
    datasets.Dataset.from_list(rows, on_mixed_types="use_json").to_parquet(tmp_path / "a.parquet")
    assert values(corpus(tmp_path / "a.parquet")) == rows


def test_values_inside_lists_and_structs_are_plain_too(tmp_path: Path) -> None:
    rows = [{"turns": [{"at": date(2024, 1, 2), "by": {"id": b"\xff"}}, None]}, {"turns": None}]
    (first, second) = values(corpus(table(tmp_path / "a.parquet", rows)))
    assert first == {"turns": [{"at": "2024-01-02", "by": {"id": "ff"}}, None]} and second == {"turns": None}


def test_a_text_that_is_not_utf8_is_one_bad_row(tmp_path: Path) -> None:
    offsets, letters = pa.py_buffer(b"\0\0\0\0\2\0\0\0\3\0\0\0\5\0\0\0"), pa.py_buffer(b"ok\xffno")
    broken = pa.Array.from_buffers(pa.string(), 3, [None, offsets, letters])
    pq.write_table(pa.table({"text": broken}), tmp_path / "a.parquet")
    rows = corpus(tmp_path / "a.parquet")
    bad = the_bad_one(rows)
    assert (bad.code, bad.row, bad.line) == ("BAD_VALUE", 1, 2)
    assert values(rows)[::2] == [{"text": "ok"}, {"text": "no"}]


@pytest.mark.parametrize(
    "content", [b"", b"PAR1", b"not parquet at all, but long enough", b"PAR1" + b"x" * 90 + b"PAR1"]
)
def test_what_is_no_parquet_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "a.parquet").write_bytes(content)
    with pytest.raises(DataError, match=r"a\.parquet is no parquet file, or is damaged: "):
        corpus(tmp_path / "a.parquet")


def test_a_damaged_row_group_is_named(tmp_path: Path) -> None:
    path = table(tmp_path / "a.parquet", ROWS, row_group_size=5, compression="zstd")
    content = bytearray(path.read_bytes())
    content[4:40] = b"\x99" * 36
    path.write_bytes(content)
    with pytest.raises(DataError, match=r"a\.parquet: row group 1 cannot be read"):
        list(corpus(path))


def test_two_columns_of_one_name_are_refused(tmp_path: Path) -> None:
    pq.write_table(pa.table([pa.array([1]), pa.array([2])], names=["text", "text"]), tmp_path / "a.parquet")
    with pytest.raises(DataError, match="two columns of the name 'text'"):
        corpus(tmp_path / "a.parquet")

"""JSON Lines: encodings, line ends, broken lines, compressed files, and lines of any length."""

from __future__ import annotations

import gzip
import hashlib
import json
import tracemalloc
from pathlib import Path

import pytest

from engine.data import DataError, prepare
from engine.data.sources.rows import RawRow
from tests.data.conftest import DataSection, byte_tokenizer, chat
from tests.data.sources.conftest import corpus, jsonl, lines, the_bad_one, values

ROWS = [{"n": 1}, {"n": 2}, {"n": 3}]


def written(path: Path, content: bytes) -> Path:
    path.write_bytes(content)
    return path


def test_a_byte_order_mark_is_no_part_of_the_first_row(tmp_path: Path) -> None:
    rows = corpus(written(tmp_path / "a.jsonl", b"\xef\xbb\xbf" + jsonl(*ROWS)))
    assert values(rows) == ROWS and lines(rows) == [1, 2, 3]
    assert rows.files[0].has_bom
    assert rows.files[0].sha256 == hashlib.sha256((tmp_path / "a.jsonl").read_bytes()).hexdigest()


def test_blank_lines_and_windows_line_ends_count_as_lines(tmp_path: Path) -> None:
    content = b'\r\n{"n": 1}\r\n  \t\n\n{"n": 2}\r\n{"n": 3}'
    rows = corpus(written(tmp_path / "a.jsonl", content))
    assert values(rows) == ROWS and lines(rows) == [2, 5, 6]


def test_line_separators_of_other_alphabets_are_text(tmp_path: Path) -> None:
    row = {"text": "a\u2028b\u2029c\u0085d\x0ce"}
    assert values(corpus(written(tmp_path / "a.jsonl", jsonl(row, row)))) == [row, row]


def test_a_file_that_ends_within_a_line_has_one_bad_row(tmp_path: Path) -> None:
    rows = corpus(written(tmp_path / "a.jsonl", b'{"n": 1}\n{"n": "cut o'))
    bad = the_bad_one(rows)
    assert (bad.row, bad.line, bad.column) == (1, 2, 7)
    assert str(bad).endswith("a.jsonl, line 2, column 7: not valid JSON: the string that begins here has no end")


@pytest.mark.parametrize(
    ("line", "column", "reason"),
    [
        (b'{"a": 1,}', 9, "not valid JSON: a comma with nothing behind it"),
        (b'{"a": 1} {"b": 2}', 10, "not valid JSON: a second object in the same line; write one a line"),
        (b"{'a': 1}", 2, "not valid JSON: a key in double quotes should begin here"),
        (b'["a"]', None, "expected a JSON object ({...}) for each row, found an array"),
        (b"null", None, "expected a JSON object ({...}) for each row, found null"),
        ('{"é": "'.encode() + b'\xff"}', 9, "byte 0xff is not UTF-8"),
        (b"\x00\x00\x00", 1, "not valid JSON: a NUL byte, as a crash or a full disk leaves it"),
        (b'{"a": "\x00"}', 8, "not valid JSON: a control character in a string; write it as an escape"),
        (b'\xef\xbb\xbf{"a": 1}', 1, "not valid JSON: a byte-order mark in the middle of the file"),
        (b'{"a": 1}\r{"b": 2}', 10, "not valid JSON: a carriage return alone ends no line"),
        (b'{"a": 1} and more', 10, "not valid JSON: the text goes on after the end of the JSON value"),
        (b'{"a": 1, "a": 2}', None, "the key 'a' stands twice in one object"),
        (b'{"a": [{"b": {"c": 1, "d": 2, "c": 1}}]}', None, "the key 'c' stands twice in one object"),
        (b'{"n": ' + b"9" * 5000 + b"}", None, "a whole number with thousands of digits"),
        (b"[" * 100_000, None, "nested too deeply"),
    ],
)
def test_a_bad_line_is_one_bad_row_with_its_place(tmp_path: Path, line: bytes, column: int | None, reason: str) -> None:
    rows = corpus(written(tmp_path / "a.jsonl", jsonl({"n": 1}) + line + b"\n" + jsonl({"n": 3})))
    bad = the_bad_one(rows)
    assert (bad.code, bad.row, bad.line, bad.column) == ("BAD_JSON", 1, 2, column)
    assert reason in bad.reason
    assert [value for value in values(rows) if isinstance(value, dict)] == [{"n": 1}, {"n": 3}]


def test_a_document_under_the_name_of_json_lines_is_told_what_to_do(tmp_path: Path) -> None:
    rows = corpus(written(tmp_path / "a.jsonl", b'[\n  {"n": 1}\n]\n'))
    assert "needs the suffix .json" in values(rows)[0]


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ('\ufeff{"n": 1}'.encode("utf-16-le"), "is UTF-16 text; save it as UTF-8"),
        ('{"n": 1}'.encode("utf-16-be"), "is UTF-16 text; save it as UTF-8"),
        (b"PAR1....PAR1", "is a binary file: a parquet file"),
        (b"PK\x03\x04....", "is a binary file: a ZIP archive; unpack it"),
        (b"\x28\xb5\x2f\xfd....", "compressed with zstd"),
        (gzip.compress(jsonl(*ROWS), mtime=0)[:-9], "is not a whole gzip file"),
        (b"\x1f\x8bno gzip at all", "is not a whole gzip file"),
    ],
)
def test_files_of_another_kind_are_refused_in_one_sentence(tmp_path: Path, content: bytes, reason: str) -> None:
    with pytest.raises(DataError, match=rf"a\.jsonl.* {reason}"):
        corpus(written(tmp_path / "a.jsonl", content))


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"nowhere\.jsonl: no such file or folder; give a \.jsonl"):
        corpus(tmp_path / "nowhere.jsonl")


@pytest.mark.parametrize("name", ["a.jsonl.gz", "a.json.gz", "a.jsonl"])
def test_compressed_files_are_read_like_plain_ones(tmp_path: Path, name: str) -> None:
    members = gzip.compress(b"\xef\xbb\xbf" + jsonl(*ROWS[:2])) + gzip.compress(jsonl(ROWS[2]))
    rows = corpus(written(tmp_path / name, members))
    assert values(rows) == ROWS and lines(rows) == [1, 2, 3]
    assert [rows.at(number).row for number in (2, 0, 1)] == [2, 0, 1]
    assert rows.files[0].sha256 == hashlib.sha256(members).hexdigest()


def test_a_line_of_200_kb_among_normal_rows_loads_whole(tmp_path: Path) -> None:
    normal = [{"messages": chat("Hi", "Hello")} for _ in range(10)]
    long = {"messages": chat("word " * 40_000, "ok")}
    path = written(tmp_path / "long.jsonl", jsonl(*normal[:5], long, *normal[5:]))
    row = corpus(path).at(5)
    assert isinstance(row, RawRow) and row.value == long and row.line == 6
    data = prepare(DataSection(dataset=[str(path)], max_seq_length=300_000), byte_tokenizer())
    assert (len(data.train), len(data.train[5].input_ids), data.train[5].loss_tokens) == (11, 200_023, 3)


def test_rows_are_read_from_the_disk_and_not_kept(tmp_path: Path) -> None:
    """What is kept of a row is its place, however long the row is."""
    path = written(tmp_path / "a.jsonl", b"".join(json.dumps({"t": "x" * 1000}).encode() + b"\n" for _ in range(2000)))
    tracemalloc.start()
    rows = corpus(path)
    kept, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(rows) == 2000 and kept < path.stat().st_size / 4

"""What becomes of files in the preparation of a run: marks, broken lines, fingerprints (D-01, D-03)."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest

from engine.data import DataError, prepare
from tests.data.conftest import DataSection, byte_tokenizer, chat, write_rows

PERU = b'{"messages":[{"role":"user","content":"Capital of Peru?"},{"role":"assistant","content":"Lima"}]}\n'


def section(path: Path, content: bytes, **keys: object) -> DataSection:
    path.write_bytes(content)
    return DataSection(dataset=[str(path)], **keys)  # type: ignore[arg-type]


def test_a_byte_order_mark_changes_no_token(tmp_path: Path) -> None:
    plain = prepare(section(tmp_path / "plain.jsonl", PERU), byte_tokenizer())
    marked = prepare(section(tmp_path / "bom.jsonl", b"\xef\xbb\xbf" + PERU), byte_tokenizer())
    assert marked.train == plain.train
    assert (len(marked.train[0].input_ids), marked.train[0].loss_tokens) == (41, 5)
    assert [flag.code for flag in marked.report.flags] == ["BYTE_ORDER_MARK"]
    assert plain.report.flags == ()


def broken(tmp_path: Path, **keys: object) -> DataSection:
    lines = [json.dumps({"messages": chat(first, second)}) for first, second in ("ab", "cd", "ef")]
    lines[1] = lines[1][:-1] + ",}"
    return section(tmp_path / "mid.jsonl", "\n".join(lines).encode(), **keys)


def test_a_broken_line_stops_with_its_place(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"mid\.jsonl, line 2, column \d+: not valid JSON: .+"):
        prepare(broken(tmp_path), byte_tokenizer())


def test_a_broken_line_can_be_skipped_and_is_listed(tmp_path: Path) -> None:
    prepared = prepare(broken(tmp_path, on_bad_row="skip"), byte_tokenizer())
    report = prepared.report
    assert [sample.row for sample in prepared.train] == [0, 2]
    assert (report.rows_read, report.rows_kept, report.rows_bad) == (3, 2, 1)
    (bad_row,) = report.bad_rows
    assert (Path(bad_row.file).name, bad_row.line, bad_row.row) == ("mid.jsonl", 2, 1)
    assert "not valid JSON" in bad_row.reason
    assert next(flag.count for flag in report.flags if flag.code == "BAD_ROWS") == 1


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b'["a"]', r"expected a JSON object .* found an array"),
        (b'{"a": "\xff"}', r"line 1, column 8: byte 0xff is not UTF-8"),
        (b"[" * 100_000, r"nested too deeply"),
    ],
)
def test_lines_that_are_no_rows(tmp_path: Path, line: bytes, reason: str) -> None:
    with pytest.raises(DataError, match=reason) as caught:
        prepare(section(tmp_path / "bad.jsonl", line + b"\n" + PERU), byte_tokenizer())
    assert "bad.jsonl, line 1" in str(caught.value)
    skipped = prepare(section(tmp_path / "bad.jsonl", line + b"\n" + PERU, on_bad_row="skip"), byte_tokenizer())
    assert [sample.row for sample in skipped.train] == [1]


def test_rows_count_over_all_files(tmp_path: Path) -> None:
    first = write_rows(tmp_path / "a.jsonl", chat("1", "a"), chat("2", "b"))
    second = write_rows(tmp_path / "b.jsonl", chat("3", "c"))
    prepared = prepare(DataSection(dataset=[first, second]), byte_tokenizer())
    assert [sample.row for sample in prepared.train] == [0, 1, 2]
    assert (Path(prepared.report.places[2].file).name, prepared.report.places[2].line) == ("b.jsonl", 1)
    assert prepared.report.data_hashes == {
        name: hashlib.sha256(Path(name).read_bytes()).hexdigest() for name in (first, second)
    }

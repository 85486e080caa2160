"""Several sources as one row of rows: numbers, spans, fingerprints, and files that change under the reader."""

from __future__ import annotations

import hashlib
import json
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from engine.data import DataError
from engine.data.sources.corpus import Corpus
from engine.data.sources.rows import RawRow, SourceSpec
from engine.data.sources.specs import specs_of
from tests.data.conftest import DataSection
from tests.data.sources.conftest import corpus, jsonl, values


@pytest.fixture
def files(tmp_path: Path) -> list[Path]:
    """Seven rows in four files, one of them without a row."""
    (tmp_path / "a.jsonl").write_bytes(jsonl({"n": 0}, {"n": 1}) + b"broken\n")
    (tmp_path / "b.jsonl").touch()
    (tmp_path / "c.json").write_text(json.dumps([{"n": 3}]))
    pq.write_table(pa.Table.from_pylist([{"n": 4}, {"n": 5}, {"n": 6}]), tmp_path / "d.parquet", row_group_size=2)
    return [tmp_path / name for name in ("a.jsonl", "b.jsonl", "c.json", "d.parquet")]


def test_rows_count_over_all_sources_from_the_first_row_on(files: list[Path]) -> None:
    rows = corpus(*files, first_row=100)
    assert len(rows) == 7 and [row.row for row in rows] == list(range(100, 107))
    assert [rows.at(row).row for row in (106, 100, 103)] == [106, 100, 103]
    assert [row.row for row in rows.read(102, 105)] == [102, 103, 104]
    assert [row.row for row in rows.read(0, 1000)] == list(range(100, 107))
    assert [value["n"] if isinstance(value, dict) else "bad" for value in values(rows)] == [0, 1, "bad", 3, 4, 5, 6]


@pytest.mark.parametrize("row", [-1, 0, 99, 107])
def test_there_is_no_row_outside(files: list[Path], row: int) -> None:
    with pytest.raises(IndexError):
        corpus(*files, first_row=100).at(row)


def test_spans_tell_the_source_of_a_row(files: list[Path]) -> None:
    specs = [SourceSpec(str(files[0]), weight=2.0), SourceSpec(str(files[1])), SourceSpec(str(files[0].parent))]
    rows = Corpus(specs, first_row=10)
    assert [(span.spec, span.start, span.stop) for span in rows.spans] == [
        (specs[0], 10, 13),
        (specs[1], 13, 13),
        (specs[2], 13, 20),
    ]


def test_every_file_has_its_fingerprint(files: list[Path]) -> None:
    found = {file.path: file.sha256 for file in corpus(*files).files}
    assert found == {path: hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def test_no_source_is_no_row() -> None:
    assert len(corpus()) == 0 and list(corpus()) == []


def test_the_reading_tells_how_far_it_is(files: list[Path]) -> None:
    told: list[tuple[str, int, int]] = []
    Corpus([SourceSpec(str(files[0]))], progress=lambda *seen: told.append(seen))
    size = files[0].stat().st_size
    assert told == [("reading data", size, size)]


def rewritten(path: Path, content: bytes) -> None:
    """The file with other bytes, and the same size and time as before."""
    before = path.stat()
    assert len(content) == before.st_size
    path.write_bytes(content)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def test_a_row_that_has_changed_is_an_error_and_no_other_row(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(jsonl({"n": 1}, {"n": 2}))
    rows = corpus(path)
    rewritten(path, jsonl({"n": 1}, {"n": 3}))
    assert isinstance(rows.at(0), RawRow)
    with pytest.raises(DataError, match=r"a\.jsonl has changed since it was opened \(line 2\); start again"):
        rows.at(1)


def test_a_file_that_has_grown_still_gives_the_rows_it_had(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(jsonl({"n": 1}))
    rows = corpus(path)
    path.write_bytes(jsonl({"n": 1}, {"n": 2}))
    assert values(rows) == [{"n": 1}]


@pytest.mark.parametrize("content", [b"", None])
def test_a_file_that_has_lost_its_rows_is_an_error(tmp_path: Path, content: bytes | None) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(jsonl({"n": 1}))
    rows = corpus(path)
    path.unlink()
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(DataError, match=r"a\.jsonl( has changed|: no such file)"):
        rows.at(0)


def test_a_table_that_has_changed_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"n": [1, 2]}), path)
    rows = corpus(path)
    pq.write_table(pa.table({"n": [1, 3]}), path)
    os.utime(path, ns=(0, 0))
    with pytest.raises(DataError, match=r"a\.parquet has changed since it was opened; start again"):
        rows.at(1)


def test_a_table_that_was_only_touched_is_fine(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"n": [1, 2]}), path)
    rows = corpus(path)
    os.utime(path, ns=(0, 0))
    assert values(rows) == [{"n": 1}, {"n": 2}]


def test_many_threads_may_read_at_once(files: list[Path]) -> None:
    rows = corpus(*files)
    expected = [str(row) for row in rows]
    with ThreadPoolExecutor(8) as threads:
        found = list(threads.map(lambda number: str(rows.at(number % 7)), range(700)))
    assert found == [expected[number % 7] for number in range(700)]


@pytest.mark.parametrize("name", ["x" * 300, "a.jsonl/b.jsonl", "nul\0.jsonl"])
def test_paths_that_no_file_can_have_are_refused(files: list[Path], name: str) -> None:
    with pytest.raises(DataError, match=r"cannot be read|no such file"):
        corpus(files[0].parent / name)


def test_the_config_names_the_sources_of_training_and_of_evaluation() -> None:
    train, evaluation = specs_of(DataSection(dataset=["a", "b"], dataset_split="sft", eval_dataset=["c"]))
    assert train == [SourceSpec("a", "sft"), SourceSpec("b", "sft")]
    assert evaluation == [SourceSpec("c", "evaluation")]
    sources = [SourceSpec("a", "x", 2.0), SourceSpec("b")]
    train, evaluation = specs_of(DataSection(sources=sources, eval_split="test"))
    assert train == sources
    assert evaluation == [SourceSpec("a", "test"), SourceSpec("b", "test")]
    assert specs_of(DataSection(dataset=["a"], eval_split=0.1))[1] == []
    assert specs_of(DataSection(dataset=["a"]))[1] == []

"""JSON documents: arrays, objects with one list in them, JSON Lines named .json, and errors with their place."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.data import DataError
from engine.data.sources import json_text
from tests.data.sources.conftest import corpus, jsonl, lines, the_bad_one, values

ROWS: list[Any] = [{"t": "é\n", "n": 1}, {"list": [{"a": "]"}, {"b": "}{"}]}, {}]


def document(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize("indent", [None, 2])
@pytest.mark.parametrize("start", ["", "\ufeff", "\n\n "])
def test_an_array_holds_one_row_an_element(tmp_path: Path, indent: int | None, start: str) -> None:
    text = start + json.dumps(ROWS, indent=indent, ensure_ascii=False) + "\n"
    rows = corpus(document(tmp_path / "a.json", text))
    assert values(rows) == ROWS
    assert [rows.at(number).row for number in (2, 0)] == [2, 0]


def test_a_row_stands_where_its_object_begins(tmp_path: Path) -> None:
    rows = corpus(document(tmp_path / "a.json", '[\n  {"n":\n 1}, {"n": 2},\n\n  {"n": 3}\n]'))
    assert lines(rows) == [2, 3, 5]


def test_an_object_holds_its_rows_in_its_one_list_of_objects(tmp_path: Path) -> None:
    text = json.dumps({"version": 1.5, "tags": ["a"], "nothing": [], "data": ROWS, "by": {"who": [1]}}, indent=1)
    assert values(corpus(document(tmp_path / "a.json", text))) == ROWS


@pytest.mark.parametrize(
    "row",
    [
        {"messages": [{"role": "user", "content": "q"}, {"role": "assistant", "content": "a"}]},
        {"conversations": [{"from": "human", "value": "q"}, {"from": "gpt", "value": "a"}], "id": 7},
        {"instruction": "q", "output": "a"},
    ],
)
def test_a_single_row_is_no_list_of_rows(tmp_path: Path, row: dict[str, Any]) -> None:
    rows = corpus(document(tmp_path / "a.json", "\n" + json.dumps(row, indent=2)))
    assert values(rows) == [row] and lines(rows) == [2]


def test_json_lines_under_the_name_of_json_are_json_lines(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_bytes(jsonl(ROWS[0]) + b"\n" + b'{"n": 2,}\n' + jsonl(ROWS[1]))
    rows = corpus(path)
    assert lines(rows) == [1, 3, 4]
    assert the_bad_one(rows).line == 3


def test_elements_that_are_no_objects_are_bad_rows(tmp_path: Path) -> None:
    rows = corpus(document(tmp_path / "a.json", '[\n{"n": 1},\n"x",\n12]'))
    assert values(rows)[1].endswith("a.json, line 3: expected a JSON object ({...}) for each row, found a string")
    assert [type(value) for value in values(rows)] == [dict, str, str]


@pytest.mark.parametrize("text", ["", "  \n", "[]", "[ \n ]"])
def test_nothing_is_no_row(tmp_path: Path, text: str) -> None:
    assert len(corpus(document(tmp_path / "a.json", text))) == 0


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('[{"a": 1},\n{"a": 2,}]', "line 2, column 9?8?: not valid JSON: "),
        ('[{"a": 1}\n{"a": 2}]', "line 2, column 1: not valid JSON: expected , or ]"),
        ('[{"a": 1},\n', "line 2, column 1: not valid JSON: "),
        ('[{"a": "é', "line 1, column 8: not valid JSON: the string that begins here has no end"),
        ('{"data": [{"a": 1}]', "line 1, column 20: not valid JSON: the file ends too early"),
        ('[{"a": 1}]\nmore', "line 2, column 1: the text goes on after the end"),
        ('{\n"a": 1} {"b": 2}', "line 2, column 9: the text goes on after the end"),
        ("{a: 1}", 'line 1, column 2: not valid JSON: expected "'),
        ("[" * 100_000, "not valid JSON: nested too deeply"),
        ("3", "a.json holds a number; expected an array of objects"),
        ('{"a": [{"x": 1}],\n"a": [{"y": 2}]}', "line 2: the key 'a' stands twice in one object"),
        ('{"a": [{"x": 1}], "b": [{"y": 2}]}', r"has several lists of objects \(a and b\)"),
    ],
)
def test_a_broken_document_is_refused_with_line_and_column(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(DataError, match=said):
        corpus(document(tmp_path / "a.json", text))


def test_bytes_that_are_not_utf8_are_refused(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_bytes(b'[{"a": "\xff"}]')
    with pytest.raises(DataError, match=r"a\.json, after line 1: byte 0xff is not UTF-8; save the file as UTF-8"):
        corpus(tmp_path / "a.json")


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=8,
)


@settings(max_examples=60, deadline=None)
@given(rows=st.lists(st.dictionaries(st.text(max_size=4), ANYTHING, max_size=3), max_size=5), block=st.integers(1, 9))
def test_any_rows_are_found_however_little_is_read_at_once(
    tmp_path_factory: pytest.TempPathFactory, rows: list[Any], block: int
) -> None:
    folder = tmp_path_factory.mktemp("any")
    text = json.dumps(rows, ensure_ascii=False).encode("utf-8", "backslashreplace")
    (folder / "a.json").write_bytes(text)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(json_text, "_BLOCK", block)
        assert values(corpus(folder / "a.json")) == rows

"""Rows of tables, whose structs are filled up with nulls that nobody wrote."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from engine.data import prepare
from engine.data.conversation import Conversation
from tests.data.conftest import DataSection, Prepare, byte_tokenizer
from tests.data.formats.conftest import call, parsed, turns_of


def through_a_table(*rows: dict[str, Any], schema: Any = None) -> list[dict[str, Any]]:
    """The rows as a table gives them back."""
    table: list[dict[str, Any]] = pa.Table.from_pylist(list(rows), schema=schema).to_pylist()
    return table


def asked(arguments: Any, name: str) -> dict[str, Any]:
    call_message = {
        "role": "assistant",
        "content": "",
        "tool_calls": [{"function": {"name": name, "arguments": arguments}}],
    }
    return {"messages": [{"role": "user", "content": "q"}, call_message]}


def arguments_of(row: dict[str, Any]) -> Any:
    return turns_of(row, is_columnar=True)[1].tool_calls[0]["function"]["arguments"]


def test_foreign_arguments_are_left_out() -> None:
    first, second = through_a_table(asked({"city": "Oslo"}, "w"), asked({"a": 1, "b": 2}, "add"))
    assert first["messages"][1]["tool_calls"][0]["function"]["arguments"] == {"city": "Oslo", "a": None, "b": None}
    assert arguments_of(first) == {"city": "Oslo"}
    assert arguments_of(second) == {"a": 1, "b": 2}
    assert turns_of(first, is_columnar=True)[0].message == {"content": "q"}


def test_nested_structs_of_nothing_but_nulls_are_left_out() -> None:
    first, second = through_a_table(
        asked({"where": {"city": "Oslo"}, "days": [{"n": 1}]}, "w"), asked({"when": {"day": {"n": 1}}}, "t")
    )
    assert arguments_of(first) == {"where": {"city": "Oslo"}, "days": [{"n": 1}]}
    assert arguments_of(second) == {"when": {"day": {"n": 1}}}


def test_structs_behind_a_null_lose_their_padding() -> None:
    (row,) = through_a_table(asked({"days": [None, {"n": 1}, {"m": 2}]}, "w"))
    assert arguments_of(row) == {"days": [None, {"n": 1}, {"m": 2}]}


def test_a_call_without_arguments_stays_a_call() -> None:
    first, _ = through_a_table(asked({}, "now"), asked({"a": 1}, "add"))
    assert arguments_of(first) == {}


def test_a_null_inside_a_list_or_a_string_of_json_stays() -> None:
    first, second = through_a_table(asked('{"city": null}', "w"), asked("{}", "now"))
    assert (arguments_of(first), arguments_of(second)) == ({"city": None}, {})
    (third,) = through_a_table(asked({"values": [1, None, 2]}, "add"))
    assert arguments_of(third) == {"values": [1, None, 2]}


@pytest.mark.parametrize(
    "pairs",
    [
        [("city", "Oslo"), ("day", None)],
        [["city", "Oslo"], ["day", None]],
        [{"key": "city", "value": "Oslo"}, {"key": "day", "value": None}],
    ],
)
def test_arguments_kept_as_a_map(pairs: Any) -> None:
    assert arguments_of(asked(pairs, "w")) == {"city": "Oslo"}
    assert arguments_of(asked([], "now")) == {}


def test_tools_lose_foreign_parameters() -> None:
    tools = [
        {"name": "w", "parameters": {"properties": {"city": {"type": "string"}}}},
        {"name": "add", "parameters": {"properties": {"a": {"type": "number"}}}},
    ]
    (row,) = through_a_table({**asked({"city": "Oslo"}, "w"), "tools": tools})
    example = parsed(row, is_columnar=True)
    assert isinstance(example, Conversation)
    assert [tool["function"] for tool in example.tools] == tools


def test_columns_of_other_formats_do_not_matter() -> None:
    written: dict[str, dict[str, Any]] = {
        "messages": {
            "messages": [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b", "weight": 0}]
        },
        "alpaca": {"instruction": "a", "output": "b"},
        "text": {"text": "a"},
        "tokenized": {"input_ids": [1, 2], "labels": [-100, 2]},
    }
    columns = dict.fromkeys(key for row in written.values() for key in row)
    rows = through_a_table(*({**columns, **row} for row in written.values()))
    assert [parsed(row, is_columnar=True).kind for row in rows] == list(written)


def test_nulls_of_jsonl_are_the_datas_own(prepare_rows: Prepare) -> None:
    prepared = prepare_rows([{"role": "user", "content": "q"}, call({"city": None})])
    assert '"arguments": {"city": null}' in prepared.tokenizer.decode(prepared.data.train[0].input_ids)


def test_a_parquet_file_reads_as_it_was_written(tmp_path: Path) -> None:
    path, tokenizer = tmp_path / "tools.parquet", byte_tokenizer()
    pq.write_table(pa.Table.from_pylist([asked({"city": "Oslo"}, "w"), asked({"a": 1, "b": 2}, "add")]), path)
    samples = prepare(DataSection(dataset=[str(path)]), tokenizer).train
    first, second = (tokenizer.decode(sample.input_ids) for sample in samples)
    assert '"arguments": {"city": "Oslo"}}' in first
    assert "null" not in first
    assert '"arguments": {"a": 1, "b": 2}}' in second

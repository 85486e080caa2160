"""Tool calls and the tools of a row, in the ways in which they are written."""

from __future__ import annotations

import json
from typing import Any

import pytest

from engine.data.conversation import Conversation
from tests.data.conftest import Prepare
from tests.data.formats.conftest import asked, call, parsed, refusal, turns_of

OSLO = {"city": "Oslo"}


def test_a_string_of_json_gives_the_same_tokens_as_the_object(prepare_rows: Prepare) -> None:
    prepared = prepare_rows(asked(call(OSLO)), asked(call(json.dumps(OSLO))))
    as_object, as_text = prepared.data.train
    assert as_object.input_ids.tolist() == as_text.input_ids.tolist()
    assert as_object.loss_tokens == as_text.loss_tokens == 75
    assert "\\" not in prepared.tokenizer.decode(as_text.input_ids)


def test_the_call_is_trained_and_the_result_is_not(prepare_rows: Prepare) -> None:
    result, answer = {"role": "tool", "content": '{"mm": 4}'}, {"role": "assistant", "content": "Yes, 4 mm."}
    prepared = prepare_rows(asked(call(OSLO), result, answer))
    (sample,) = prepared.data.train
    assert (len(sample), sample.loss_tokens) == (148, 86)
    assert "Yes, 4 mm.<|im_end|>" in prepared.trained_text()
    assert 'mm"' not in prepared.trained_text()


@pytest.mark.parametrize("arguments", ['{"city": ', "[1]", '"Oslo"', "NaN", "[" * 100_000, [1], 7, True, "\ud800"])
def test_arguments_that_are_no_object_are_refused(arguments: Any) -> None:
    bad_row = refusal(asked(call(arguments)))
    assert (bad_row.code, bad_row.turn) == ("BAD_TOOL_ARGUMENTS", 2)
    assert "'get_rain'" in bad_row.reason


def test_an_argument_that_is_given_twice_is_refused() -> None:
    assert "the key 'city' stands twice" in refusal(asked(call('{"city": "Oslo", "city": "Bergen"}'))).reason


def test_a_function_that_is_no_object_is_told_by_what_it_is() -> None:
    bad_row = refusal(asked({"role": "assistant", "content": "", "tool_calls": [{"function": "get_rain"}]}))
    assert bad_row.reason == "the function of a tool call must be an object with name and arguments, found a string"


@pytest.mark.parametrize("arguments", [{"x": float("nan")}, {"x": {"y": ["\udc00"]}}, {"\ud800": 1}])
def test_arguments_that_no_text_can_hold_are_refused(arguments: Any) -> None:
    assert refusal(asked(call(arguments))).code == "BAD_TOOL_ARGUMENTS"


def test_arguments_nested_without_end_are_refused() -> None:
    nested: dict[str, Any] = {}
    for _ in range(500):
        nested = {"x": nested}
    assert "levels deep" in refusal(asked(call(nested))).reason


@pytest.mark.parametrize(
    ("arguments", "meant"), [(None, {}), ("", {}), ("{}", {}), ({}, {}), ('{"a": null}', {"a": None})]
)
def test_a_call_may_need_no_arguments(arguments: Any, meant: dict[str, Any]) -> None:
    assert turns_of(asked(call(arguments)))[1].tool_calls[0]["function"]["arguments"] == meant


def test_a_null_in_an_argument_was_written_on_purpose() -> None:
    assert turns_of(asked(call({"city": None})))[1].tool_calls[0]["function"]["arguments"] == {"city": None}


@pytest.mark.parametrize(
    "written",
    [
        call(OSLO),
        call(OSLO, content=""),
        {"role": "assistant", "tool_calls": [{"name": "get_rain", "arguments": '{"city": "Oslo"}'}]},
        {"role": "assistant", "content": None, "function_call": {"name": "get_rain", "arguments": OSLO}},
        {
            "role": "assistant",
            "content": "",
            "tool_calls": '[{"function": {"name": "get_rain", "arguments": "{\\"city\\": \\"Oslo\\"}"}}]',
        },
        {"role": "function_call", "content": '{"name": "get_rain", "arguments": {"city": "Oslo"}}'},
        {"from": "function_call", "value": '{"name": "get_rain", "parameters": {"city": "Oslo"}}'},
        {"from": "function_call", "value": '[{"name": "get_rain", "arguments": "{\\"city\\": \\"Oslo\\"}"}]'},
    ],
)
def test_all_ways_to_write_a_call_mean_the_same(written: dict[str, Any]) -> None:
    turn = turns_of(asked(written))[1]
    assert turn.role == "assistant"
    function = {"name": "get_rain", "arguments": OSLO}
    assert turn.message == {"content": "", "tool_calls": [{"type": "function", "function": function}]}


def test_the_id_of_a_call_is_kept() -> None:
    calls = [{"id": "c1", "type": "function", "function": {"name": "get_rain", "arguments": OSLO}}]
    assert turns_of(asked({"role": "assistant", "content": "", "tool_calls": calls}))[1].tool_calls == calls


@pytest.mark.parametrize(
    ("message", "code"),
    [
        ({"role": "assistant", "content": "", "tool_calls": [1]}, "BAD_TOOL_CALL"),
        ({"role": "assistant", "content": "", "tool_calls": "x"}, "BAD_TOOL_ARGUMENTS"),
        ({"role": "assistant", "content": "", "tool_calls": 7}, "BAD_TOOL_CALL"),
        ({"role": "assistant", "content": "", "tool_calls": [{"function": {"arguments": {}}}]}, "BAD_TOOL_CALL"),
        ({"role": "assistant", "content": "", "tool_calls": [{"function": {"name": 7}}]}, "BAD_MESSAGE"),
        ({"role": "assistant", "content": "", "function_call": "auto"}, "BAD_TOOL_ARGUMENTS"),
        ({"from": "function_call", "value": "get_rain(Oslo)"}, "BAD_TOOL_ARGUMENTS"),
        ({"role": "user", "content": "x", "tool_calls": [{"name": "f", "arguments": {}}]}, "BAD_MESSAGE"),
    ],
)
def test_calls_that_break_the_rules(message: dict[str, Any], code: str) -> None:
    assert (refusal(asked(message)).code, refusal(asked(message)).turn) == (code, 2)


FUNCTION = {"name": "get_rain", "parameters": {"type": "object", "properties": {"city": {"type": "string"}}}}
WRAPPED = {"type": "function", "function": FUNCTION}


@pytest.mark.parametrize(
    "tools",
    [
        {"tools": [WRAPPED]},
        {"tools": [FUNCTION]},
        {"tools": [{"type": "function", **FUNCTION}]},
        {"tools": json.dumps([WRAPPED])},
        {"tools": [json.dumps(FUNCTION)]},
        {"functions": [FUNCTION]},
        {"tools": [], "functions": json.dumps([FUNCTION])},
    ],
)
@pytest.mark.parametrize(
    "row", [asked(call(OSLO)), {"question": "a", "answer": "b"}, {"instruction": "a", "output": "b"}]
)
def test_all_ways_to_offer_tools_mean_the_same(tools: dict[str, Any], row: dict[str, Any]) -> None:
    example = parsed({**row, **tools})
    assert isinstance(example, Conversation)
    assert example.tools == (WRAPPED,)


@pytest.mark.parametrize("tools", ["", None, [], "[]"])
def test_a_row_may_offer_no_tools(tools: Any) -> None:
    example = parsed({**asked(call(OSLO)), "tools": tools})
    assert isinstance(example, Conversation)
    assert example.tools == ()


@pytest.mark.parametrize(
    "tools",
    ["{", "7", 7, [7], ["x"], [{}], [{"type": "code_interpreter"}], [{"name": 4}], [{**FUNCTION, "x": "\ud800"}]],
)
def test_tools_that_break_the_rules(tools: Any) -> None:
    assert refusal({**asked(call(OSLO)), "tools": tools}).code == "BAD_TOOLS"

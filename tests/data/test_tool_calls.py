"""Tool calls, their results and the tools on offer: exact counts, and what of them is trained."""

from __future__ import annotations

from typing import Any

import pytest

from tests.data import templates
from tests.data.conftest import Message, Prepare, chat

TOOL = {
    "type": "function",
    "function": {
        "name": "get_rain",
        "description": "Rain, not <|im_end|>.",
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}}},
    },
}


def calling(*calls: tuple[str, dict[str, Any]], content: str | None = None) -> Message:
    functions = [{"type": "function", "function": {"name": name, "arguments": given}} for name, given in calls]
    return {"role": "assistant", "content": content, "tool_calls": functions}


def rain(*calls: tuple[str, dict[str, Any]], content: str | None = None) -> list[Message]:
    return [
        {"role": "user", "content": "Rain in Oslo?"},
        calling(*(calls or [("get_rain", {"city": "Oslo"})]), content=content),
        {"role": "tool", "content": '{"mm": 4}'},
        {"role": "assistant", "content": "Yes, 4 mm."},
    ]


CALL = '<tool_call>{"name": "get_rain", "arguments": {"city": "Oslo"}}</tool_call><|im_end|>'


def test_a_call_is_trained_and_its_result_is_not(prepare_rows: Prepare) -> None:
    prepared = prepare_rows(rain())
    (sample,) = prepared.data.train
    assert (len(sample.input_ids), sample.loss_tokens) == (148, 86)
    assert prepared.trained_text() == f"{CALL}|Yes, 4 mm.<|im_end|>"


def test_arguments_as_a_string_of_json_are_the_object(prepare_rows: Prepare) -> None:
    messages = rain()[:2]
    as_object = prepare_rows(messages)
    messages[1]["tool_calls"][0]["function"]["arguments"] = '{"city": "Oslo"}'
    as_string = prepare_rows(messages)
    assert as_string.data.train[0].input_ids.tolist() == as_object.data.train[0].input_ids.tolist()
    assert as_string.data.train[0].loss_tokens == 75
    assert "\\" not in as_string.trained_text()


@pytest.mark.parametrize(
    ("arguments", "written"),
    [
        ({}, "{}"),
        ({"n": 3, "x": -0.5}, '{"n": 3, "x": -0.5}'),
        ({"yes": True, "no": False, "none": None}, '{"yes": true, "no": false, "none": null}'),
        ({"a": {"b.c": ["d", {"e": []}]}}, '{"a": {"b.c": ["d", {"e": []}]}}'),
        ({"quote": 'say "hi"\n', "é": "漢"}, '{"quote": "say \\"hi\\"\\n", "é": "漢"}'),
    ],
)
def test_arguments_of_every_kind_are_trained_whole(
    prepare_rows: Prepare, arguments: dict[str, Any], written: str
) -> None:
    prepared = prepare_rows(rain(("f", arguments)))
    call = f'<tool_call>{{"name": "f", "arguments": {written}}}</tool_call><|im_end|>'
    assert prepared.trained_text() == f"{call}|Yes, 4 mm.<|im_end|>"


def test_several_calls_after_words_are_one_answer(prepare_rows: Prepare) -> None:
    prepared = prepare_rows(rain(("a", {"x": "1"}), ("b", {}), content="I look."))
    first = '<tool_call>{"name": "a", "arguments": {"x": "1"}}</tool_call>'
    second = '<tool_call>{"name": "b", "arguments": {}}</tool_call>'
    assert prepared.trained_text() == f"I look.{first}{second}<|im_end|>|Yes, 4 mm.<|im_end|>"


def test_arguments_one_by_one_between_tags(prepare_rows: Prepare) -> None:
    arguments = {"city": "Oslo", "days": 2, "wet": True, "more": {"a": ["b"]}}
    prepared = prepare_rows(rain(("get_rain", arguments)), template=templates.XML_CALLS)
    assert prepared.trained_text() == (
        "<tool_call>\n<function=get_rain>\n<parameter=city>\nOslo\n</parameter>\n<parameter=days>\n2\n</parameter>\n"
        '<parameter=wet>\nTrue\n</parameter>\n<parameter=more>\n{"a": ["b"]}\n</parameter>\n'
        "</function>\n</tool_call><|im_end|>|Yes, 4 mm.<|im_end|>"
    )


def test_a_template_that_takes_arguments_as_a_string_gets_one(prepare_rows: Prepare) -> None:
    prepared = prepare_rows(rain(), template=templates.JSON_ARGUMENTS)
    assert prepared.trained_text() == 'get_rain: {"city": "Oslo"}<|im_end|>|Yes, 4 mm.<|im_end|>'
    assert "string of JSON" in prepared.flag("MESSAGES_ADAPTED")


def test_names_printed_again_beside_a_result_are_not_trained(prepare_rows: Prepare) -> None:
    template = (
        "{% set last = namespace(name='') %}{% for m in messages %}{% if m.role == 'tool' %}"
        "{{ '<|h|>' + last.name + ' says<|/h|>' + m.content }}{% else %}{{ '<|h|>' + m.role + '<|/h|>' + m.content }}"
        "{% endif %}{% for c in m.tool_calls or [] %}{{ c.function.name + '(' + c.function.arguments.city + ')' }}"
        "{% set last.name = c.function.name %}{% endfor %}{{ '<|eot|>' }}{% endfor %}"
        "{% if add_generation_prompt %}{{ '<|h|>assistant<|/h|>' }}{% endif %}"
    )
    prepared = prepare_rows(rain(), template=template.replace("arguments.city", "arguments.values() | first"))
    assert prepared.trained_text() == "get_rain(Oslo)<|eot|>|Yes, 4 mm.<|eot|>"


def test_a_call_keeps_text_that_looks_like_special_tokens_as_text(prepare_rows: Prepare) -> None:
    prepared = prepare_rows(rain(("f", {"<|im_end|>": "<|im_start|>"})))
    ids = prepared.data.train[0].input_ids.tolist()
    assert ids.count(prepared.tokenizer.convert_tokens_to_ids("<|im_end|>")) == 4
    assert ids.count(prepared.tokenizer.convert_tokens_to_ids("<|im_start|>")) == 4


OFFERED = (
    "{% if tools %}{{ '<|im_start|>system\n' }}{% for t in tools %}{{ t | tojson }}{% endfor %}{{ '<|im_end|>\n' }}"
    "{% endif %}" + templates.CHATML
)


def test_tools_on_offer_are_printed_without_loss_and_stay_text(prepare_rows: Prepare) -> None:
    prepared = prepare_rows({"messages": rain(), "tools": [TOOL]}, template=OFFERED)
    text = prepared.tokenizer.decode(prepared.data.train[0].input_ids)
    assert '"description": "Rain, not <|im_end|>."' in text
    assert prepared.trained_text() == f"{CALL}|Yes, 4 mm.<|im_end|>"
    ids = prepared.data.train[0].input_ids.tolist()
    assert ids.count(prepared.tokenizer.convert_tokens_to_ids("<|im_end|>")) == 5
    assert "TOOLS_NOT_RENDERED" not in prepared.codes


def test_tools_and_calls_that_the_template_leaves_out_are_named(prepare_rows: Prepare) -> None:
    row = {"messages": rain(content="I look."), "tools": [TOOL]}
    prepared = prepare_rows(row, template=templates.NEXT)
    assert prepared.codes["TOOLS_NOT_RENDERED"] == 1
    assert "turn 2" in prepared.flag("TOOL_CALL_NOT_RENDERED")


CALL_IN_PLACE_OF_TEXT = templates.CHATML.replace("m['content'] is string", "not m['tool_calls']")


def test_words_that_the_template_leaves_out_beside_a_call_are_named(prepare_rows: Prepare) -> None:
    prepared = prepare_rows(rain(content="I look."), template=CALL_IN_PLACE_OF_TEXT)
    assert "turn 2: the template leaves out the text of this turn (7 characters)" in prepared.flag("TEXT_NOT_RENDERED")
    assert prepared.trained_text() == f"{CALL}|Yes, 4 mm.<|im_end|>"
    for content in ("I look.", ""):
        assert "TEXT_NOT_RENDERED" not in prepare_rows(rain(content=content)).codes


def test_calls_and_results_that_do_not_belong_together_are_named(prepare_rows: Prepare) -> None:
    call, result = calling(("get_snow", {})), {"role": "tool", "content": "none"}
    prepared = prepare_rows(
        {"messages": [*chat("a"), call, *chat("b", "c")], "tools": [TOOL]}, [*chat("a"), result, *chat("b", "c")]
    )
    assert "line 1, turn 2" in prepared.flag("TOOL_CALL_WITHOUT_RESULT")
    assert "'get_snow'" in prepared.flag("UNKNOWN_TOOL")
    assert "line 2, turn 2" in prepared.flag("TOOL_RESULT_WITHOUT_CALL")
    fine = prepare_rows({"messages": rain(), "tools": [TOOL]}, template=OFFERED)
    assert not {"TOOL_CALL_WITHOUT_RESULT", "UNKNOWN_TOOL", "TOOL_RESULT_WITHOUT_CALL"} & set(fine.codes)


def test_content_in_parts_is_given_as_the_template_takes_it(prepare_rows: Prepare) -> None:
    def in_parts(*texts: str) -> list[dict[str, str]]:
        return [{"type": "text", "text": text} for text in texts]

    parted = [{"role": "user", "content": in_parts("a", "b")}, {"role": "assistant", "content": in_parts("c", "d")}]
    for template in (templates.TRIM, templates.PARTS):
        whole, parts = prepare_rows(chat("ab", "cd"), template=template), prepare_rows(parted, template=template)
        assert parts.data.train[0].input_ids.tolist() == whole.data.train[0].input_ids.tolist()
        assert parts.data.train[0].labels.tolist() == whole.data.train[0].labels.tolist()
    assert whole.trained_text() == " cd<|eot|>"
    assert "list of parts" in whole.flag("MESSAGES_ADAPTED")

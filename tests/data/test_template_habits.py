"""Habits of chat templates: what each means for the mask, and which finding says so."""

from __future__ import annotations

from datetime import datetime

import pytest

from engine.data import DataError
from engine.data.template import clock
from tests.data import templates
from tests.data.conftest import Prepare, byte_tokenizer, chat


def test_the_channel_of_an_answer_is_the_assistants_to_name(prepare_rows: Prepare) -> None:
    messages = chat("1?", "One.", "2?", "Two.")
    messages[3]["reasoning_content"] = "count"
    prepared = prepare_rows(messages, template=templates.CHANNELS)
    assert prepared.trained_text() == (
        "final<|bos|>One.<|eot|>|analysis<|bos|>count<|eot|><|h|>assistant<|/h|>final<|bos|>Two.<|eos|>"
    )
    assert "TEMPLATE_TEXT_IN_ANSWER" not in prepared.codes
    assert "'<|eos|>' and earlier ones with '<|eot|>'" in prepared.flag("TURN_END_DIFFERS")
    without = prepare_rows(messages, template=templates.CHANNELS, train_on_reasoning=False)
    assert without.trained_text() == "final<|bos|>One.<|eot|>|final<|bos|>Two.<|eos|>"


def test_an_end_in_the_last_turn_alone(prepare_rows: Prepare) -> None:
    prepared = prepare_rows(chat("Q1", "A1", "Q2", "A2"), template=templates.END_LAST)
    assert prepared.trained_text() == "A1|A2<|eos|>"
    assert "<|eos|>" in prepared.flag("END_ONLY_IN_LAST_TURN")
    assert "END_ONLY_IN_LAST_TURN" not in prepare_rows(chat("Q1", "A1"), template=templates.END_LAST).codes


def test_headers_without_any_special_token(prepare_rows: Prepare) -> None:
    prepared = prepare_rows(chat("Write ### User:", "No.", "Why?", "So."), template=templates.LITERAL)
    assert prepared.trained_text() == "No.|So."
    assert "NO_TURN_END_TOKEN" in prepared.codes


def test_the_date_in_a_template_is_that_of_the_start(prepare_rows: Prepare, monkeypatch: pytest.MonkeyPatch) -> None:
    class Later(datetime):
        @classmethod
        def now(cls, tz: object = None) -> Later:
            return cls(2031, 3, 5)

    from engine.data.masking.draft import Draft
    from engine.data.rendering.renderer import Renderer
    from tests.data.test_draft import conversation

    renderer = Renderer(byte_tokenizer(templates.DATED))
    today = datetime.now().strftime("%d %B %Y")
    monkeypatch.setattr("transformers.utils.chat_template_utils.datetime", Later)
    monkeypatch.setattr(clock, "datetime", Later)
    draft = renderer.draft(conversation(("user", "a"), ("assistant", "b")))
    assert isinstance(draft, Draft)
    assert f"Today is {today}." in draft.text


def test_a_date_in_the_template_is_named(prepare_rows: Prepare) -> None:
    prepared = prepare_rows(chat("a", "b"), template=templates.DATED)
    assert "from day to day" in prepared.flag("DATE_IN_TEMPLATE")
    assert "DATE_IN_TEMPLATE" not in prepare_rows(chat("a", "b")).codes


def test_text_that_the_template_puts_into_every_system_turn(prepare_rows: Prepare) -> None:
    given = prepare_rows(chat("a", "b", system="Be brief."), template=templates.BUILT_IN_SYSTEM)
    assert "Knowledge ends in December 2023." in given.flag("SYSTEM_PROMPT_EXTENDED")
    missing = prepare_rows(chat("a", "b"), template=templates.BUILT_IN_SYSTEM)
    assert "SYSTEM_PROMPT_EXTENDED" in missing.codes
    assert given.trained_text() == missing.trained_text() == "b<|im_end|>"
    assert "SYSTEM_PROMPT_EXTENDED" not in prepare_rows(chat("a", "b", system="Be brief.")).codes


def test_a_template_without_system_turns_says_what_to_do(prepare_rows: Prepare) -> None:
    template = (
        "{% if messages[0]['role'] == 'system' %}{{ raise_exception('no system') }}{% endif %}" + templates.CHATML
    )
    with pytest.raises(
        DataError, match=r"no system; it takes no system turn, so put that text into the first question"
    ):
        prepare_rows(chat("a", "b", system="Be brief."), template=template)


def test_a_system_turn_merged_into_the_question(prepare_rows: Prepare) -> None:
    template = (
        "{% set start = messages[0].content + '\n\n' if messages[0].role == 'system' else '' %}"
        "{% for m in (messages[1:] if start else messages) %}"
        "{{ '<start_of_turn>' + m.role + '\n' + (start if loop.first else '') + m.content + '<end_of_turn>\n' }}"
        "{% endfor %}{% if add_generation_prompt %}{{ '<start_of_turn>assistant\n' }}{% endif %}"
    )
    prepared = prepare_rows(chat("a", "b", system="Be brief."), template=template)
    assert prepared.trained_text() == "b<end_of_turn>"
    assert not {"SYSTEM_PROMPT_ADDED", "TURN_NOT_RENDERED"} & set(prepared.codes)


def test_a_filter_that_fails_on_a_text_is_the_rows_fault_and_no_crash(prepare_rows: Prepare) -> None:
    template = templates.CHATML.replace("{{ m['content'] }}", "{{ m['content'] | truncate(m['content'] | int(9)) }}")
    prepared = prepare_rows(chat("a", "b"), chat("2", "b"), template=template, on_bad_row="skip")
    assert [bad.code for bad in prepared.data.report.bad_rows] == ["TEMPLATE_REFUSED"]


def test_a_turn_that_the_template_leaves_out(prepare_rows: Prepare) -> None:
    template = "{% set messages = messages | rejectattr('role', 'equalto', 'system') %}" + templates.CHATML
    prepared = prepare_rows(chat("a", "b", system="Be brief."), template=template)
    assert "line 1, turn 1" in prepared.flag("TURN_NOT_RENDERED")
    assert prepared.trained_text() == "b<|im_end|>"


def test_right_marks_change_nothing(prepare_rows: Prepare) -> None:
    prepared = prepare_rows(chat("a", "b", "c", "d"), template=templates.MARKED)
    assert prepared.trained_text() == "b<|im_end|>|d<|im_end|>"
    assert "GENERATION_MARKS_WRONG" not in prepared.codes


@pytest.mark.parametrize(
    ("template", "fault"),
    [
        (templates.MARKED_TOO_SHORT, "leave out the end of the answer ('<|im_end|>')"),
        (templates.MARKED_TOO_EARLY, "cover the header ('<|im_start|>assistant')"),
    ],
    ids=["too short", "too early"],
)
def test_wrong_marks_are_named_and_not_followed(prepare_rows: Prepare, template: str, fault: str) -> None:
    prepared = prepare_rows(chat("a", "b", "c", "d"), template=template)
    assert prepared.trained_text() == "b<|im_end|>|d<|im_end|>"
    assert fault in prepared.flag("GENERATION_MARKS_WRONG")


def test_text_between_every_answer_and_its_end_belongs_to_the_end(prepare_rows: Prepare) -> None:
    template = templates.TRIM.replace("+ '<|eot|>'", "+ ('<|/h|>' if m['role'] == 'assistant' else '') + '<|eot|>'")
    prepared = prepare_rows(chat("a", "b", "c", "d"), template=template)
    assert prepared.trained_text() == "b<|/h|><|eot|>|d<|/h|><|eot|>"


def test_a_space_that_the_prompt_leaves_to_the_answer_is_trained(prepare_rows: Prepare) -> None:
    prepared = prepare_rows(chat("a", "b", "c", "d"), template=templates.PARTS)
    assert prepared.trained_text() == " b<|eot|>| d<|eot|>"


def test_a_chat_that_cannot_be_followed_is_a_bad_row(prepare_rows: Prepare) -> None:
    template = "{% if messages | length > 2 %}{{ range(99999) | random }}{% endif %}" + templates.CHATML
    prepared = prepare_rows(chat("a", "b"), chat("a", "b", "c", "d"), template=template, on_bad_row="skip")
    assert [(bad.code, bad.line) for bad in prepared.data.report.bad_rows] == [("TEMPLATE_NOT_FOLLOWED", 2)]


def test_a_template_that_prints_messages_as_json(prepare_rows: Prepare) -> None:
    template = "{% for m in messages %}<|im_start|>{{ m | tojson }}<|im_end|>{% endfor %}"
    messages = chat("a", "b")
    messages[1]["reasoning_content"] = "c"
    assert "b" in prepare_rows(messages, template=template).trained_text()


def test_words_that_the_template_prints_behind_the_results_of_their_call(prepare_rows: Prepare) -> None:
    template = (
        "{% for m in messages %}{% if m.role == 'user' %}{{ '<|user|>' + m.content + '<|eot|><|assistant|>' }}"
        "{% elif m.role == 'assistant' %}"
        "{% for c in m.tool_calls or [] %}{{ c.function.name + '()<|h|>' + messages[loop.index0 + 2].content }}"
        "{{ '<|/h|>' }}{% endfor %}{{ m.content }}{% if not m.tool_calls %}{{ '<|eot|>' }}{% endif %}{% endif %}"
        "{% endfor %}"
    )
    call = {"type": "function", "function": {"name": "look", "arguments": {}}}
    asking = {"role": "assistant", "content": "I look. ", "tool_calls": [call]}
    prepared = prepare_rows(
        [*chat("a"), asking, {"role": "tool", "content": "result"}, {"role": "assistant", "content": "Done."}],
        template=template,
    )
    assert prepared.trained_text() == "look()<|h|>|I look. Done.<|eot|>"
    assert "turn 2: the template prints text of this turn behind" in prepared.flag("TURN_OUT_OF_ORDER")


def test_a_template_in_the_manner_of_mistral(prepare_rows: Prepare) -> None:
    template = (
        "{{ bos_token }}{% for m in messages %}{% if m.role == 'user' %}"
        "{% if tools and loop.last %}{{ '<|h|>' + tools | tojson + '<|/h|>' }}{% endif %}"
        "{{ '<|user|> ' + m.content + '<|assistant|>' }}"
        "{% elif m.role == 'tool' %}{{ '<start_of_turn>' + {'content': m.content} | tojson + '<end_of_turn>' }}"
        "{% elif m.tool_calls %}{{ '<|h|>[' }}{% for c in m.tool_calls %}{{ c.function | tojson }}{% endfor %}"
        "{{ ']' + eos_token }}{% else %}{{ ' ' + m.content + eos_token }}{% endif %}{% endfor %}"
    )
    call = {"type": "function", "function": {"name": "look", "arguments": {"at": "it"}}}
    asking = {"role": "assistant", "content": "", "tool_calls": [call]}
    prepared = prepare_rows(
        [*chat("a"), asking, {"role": "tool", "content": "result"}, *chat("x", "Done.")[1:]], template=template
    )
    calls = '<|h|>[{"name": "look", "arguments": {"at": "it"}}]<|eos|>'
    assert prepared.trained_text() == f"{calls}| Done.<|eos|>"


WITHOUT_PROMPT = "{% for m in messages %}{{ '<|im_start|>' + m.role + '\n' + m.content + '<|im_end|>\n' }}{% endfor %}"
CHATS_OF_OTHERS = {
    "{{ bos_token }}{% for m in messages %}{% if m.role == 'user' %}{{ 'USER: ' + m.content + ' ' }}"
    "{% else %}{{ 'ASSISTANT: ' + m.content + eos_token }}{% endif %}{% endfor %}"
    "{% if add_generation_prompt %}{{ 'ASSISTANT:' }}{% endif %}": " A1<|eos|>| A2<|eos|>",
    "{% for m in messages %}{% if m.role == 'user' %}{{ bos_token + '[INST] ' + m.content.strip() + ' [/INST]' }}"
    "{% else %}{{ ' ' + m.content.strip() + ' ' + eos_token }}{% endif %}{% endfor %}": " A1 <|eos|>| A2 <|eos|>",
    "{% for m in messages %}{{ '<|im_start|>' + m.role + '\n' + m.content + '<|im_end|>' }}"
    "{% if m.role == 'assistant' %}{{ eos_token }}{% endif %}{{ '\n' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}": (
        "A1<|im_end|><|eos|>|A2<|im_end|><|eos|>"
    ),
    "{% for m in messages %}{{ '[Round ' ~ loop.index ~ ']' + m.role + ': ' + m.content + '<|eot|>' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '[Round ' ~ (messages | length + 1) ~ ']assistant: ' }}{% endif %}": (
        "A1<|eot|>|A2<|eot|>"
    ),
    WITHOUT_PROMPT: "A1<|im_end|>|A2<|im_end|>",
    WITHOUT_PROMPT + "{{ '<|im_start|>assistant\n' }}": "A1<|im_end|>|A2<|im_end|>",
    WITHOUT_PROMPT.replace("m.role + '\n'", "m.role + ': '"): " A1<|im_end|>| A2<|im_end|>",
}


@pytest.mark.parametrize("template", CHATS_OF_OTHERS)
def test_other_usual_templates(prepare_rows: Prepare, template: str) -> None:
    assert prepare_rows(chat("Q1", "A1", "Q2", "A2"), template=template).trained_text() == CHATS_OF_OTHERS[template]


def test_a_template_without_a_generation_prompt_is_named(prepare_rows: Prepare) -> None:
    prepared = prepare_rows(chat("Q1", "A1"), template=WITHOUT_PROMPT)
    assert "'<|im_start|>assistant\\n'" in prepared.flag("NO_GENERATION_PROMPT")
    assert "NO_GENERATION_PROMPT" not in prepare_rows(chat("Q1", "A1")).codes


def test_a_template_that_drops_written_reasoning_of_earlier_answers(prepare_rows: Prepare) -> None:
    template = (
        "{% for m in messages %}{{ '<|im_start|>' + m.role + '\n' }}"
        "{{ m.content if loop.last else m.content.split('</think>')[-1].strip() }}{{ '<|im_end|>\n' }}{% endfor %}"
        "{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
    )
    prepared = prepare_rows(chat("1?", "<think>a</think>1", "2?", "<think>b</think>2"), template=template)
    assert prepared.trained_text() == "1<|im_end|>|<think>b</think>2<|im_end|>"
    assert {"NOT_PREFIX_STABLE", "REASONING_DROPPED"} <= set(prepared.codes)
    assert "NOT_PREFIX_STABLE" not in prepare_rows(chat("1?", "1", "2?", "2"), template=template).codes


def test_a_prompt_that_goes_on_where_no_answer_of_a_chat_does(prepare_rows: Prepare) -> None:
    header = "{{ '<|im_start|>assistant\\n' }}{% endif %}"
    sure = templates.CHATML.replace(header, "{{ '<|im_start|>assistant\\nSure! ' }}{% endif %}")
    prepared = prepare_rows(chat("a", "b"), template=sure)
    assert "goes on with 'Sure! '" in prepared.flag("PROMPT_NOT_IN_CHATS")
    for template in (
        templates.CHATML,
        templates.OPENED_THINK,
        templates.LAST_QUESTION,
        templates.NEXT,
        templates.PARTS,
    ):
        assert "PROMPT_NOT_IN_CHATS" not in prepare_rows(chat("a", "b"), template=template).codes


def test_quotes_around_every_answer_are_trained_on_both_sides(prepare_rows: Prepare) -> None:
    template = templates.CHATML.replace("{{ m['content'] }}", "{{ m['content'] | tojson }}")
    assert prepare_rows(chat("a", "b", "c", "d"), template=template).trained_text() == '"b"<|im_end|>|"d"<|im_end|>'

"""Which tokens have loss: exact counts with byte-level tokenizers."""

from __future__ import annotations

import pytest

from engine.data import DataError
from tests.data import templates
from tests.data.conftest import Prepare, byte_tokenizer, chat


def test_an_answer_and_its_end_have_loss(prepare_rows: Prepare) -> None:
    prepared = prepare_rows(chat("What colour is the sky?", "Blue."))
    (sample,) = prepared.data.train
    assert (len(sample.input_ids), sample.loss_tokens) == (49, 6)
    assert prepared.trained_text() == "Blue.<|im_end|>"


def test_two_turns_of_the_same_role_keep_their_order(prepare_rows: Prepare) -> None:
    roles = ("user", "user", "assistant", "assistant")
    prepared = prepare_rows([{"role": role, "content": text} for role, text in zip(roles, "abcd", strict=True)])
    assert (len(prepared.data.train[0].input_ids), prepared.trained_text()) == (46, "c<|im_end|>|d<|im_end|>")
    assert prepared.codes["SAME_ROLE_TWICE"] == 2


@pytest.mark.parametrize("empty", ["", "\n\n", None, "\u00a0", "\u200b", " \u2060\n", "\ufeff\u200d"])
def test_empty_answers_are_not_trained(prepare_rows: Prepare, empty: str | None) -> None:
    rows = chat("Say nothing", "x"), [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": empty}]
    prepared = prepare_rows(*rows)
    assert [sample.row for sample in prepared.data.train] == [0]
    assert prepared.data.report.rows_dropped == 1
    assert "line 2, turn 2" in prepared.flag("EMPTY_ANSWER")


def test_a_set_of_empty_answers_alone_is_refused(prepare_rows: Prepare) -> None:
    with pytest.raises(DataError, match=r"3 have nothing to train \(NO_TRAINABLE_TOKENS\).*line 1:.*line 2; line 3"):
        prepare_rows(chat("Say nothing", ""), chat("Hi", "\n\n"), chat("Hi", ""))


def test_an_empty_answer_among_others_has_no_loss(prepare_rows: Prepare) -> None:
    assert prepare_rows(chat("a", " ", "b", "yes")).trained_text() == "yes<|im_end|>"


def test_a_chat_that_ends_with_the_user(prepare_rows: Prepare) -> None:
    prepared = prepare_rows([*chat("Hi", "Hello", "More"), {"role": "user", "content": "Please"}])
    assert (len(prepared.data.train[0].input_ids), prepared.trained_text()) == (54, "Hello<|im_end|>")
    assert "line 1" in prepared.flag("ENDS_WITHOUT_ANSWER")
    assert "turns 3-4" in prepared.flag("ENDS_WITHOUT_ANSWER")


def test_many_chats_without_an_answer_hint_at_a_wrong_role(prepare_rows: Prepare) -> None:
    prepared = prepare_rows(*[chat("Hi", "Hello", "More")] * 5, *[chat("Hi", "Hello")] * 10)
    assert prepared.codes["POSSIBLE_WRONG_ROLE"] == 5


def test_dropped_reasoning_shifts_no_mask(prepare_rows: Prepare) -> None:
    prepared = prepare_rows(
        chat("1+1?", "<think>\nadd them\n</think>\n\n2", "2+2?", "<think>\nadd again\n</think>\n\n4"),
        template=templates.THINK,
    )
    (sample,) = prepared.data.train
    assert (len(sample.input_ids), sample.loss_tokens) == (80, 32)
    assert prepared.trained_text() == "2<|im_end|>|<think>\nadd again\n</think>\n\n4<|im_end|>"
    assert "line 1, turn 2: the template drops 8 characters" in prepared.flag("REASONING_DROPPED")
    assert prepared.codes["NOT_PREFIX_STABLE"] == 1
    assert "TEXT_CHANGED" not in prepared.codes
    assert "TEMPLATE_TEXT_IN_ANSWER" not in prepared.codes


@pytest.mark.parametrize(
    ("trained", "expected"),
    [(False, "Four.<|im_end|>"), (True, "<think>\n\n</think>\n\nFour.<|im_end|>")],
)
def test_an_empty_think_block_of_the_template(prepare_rows: Prepare, trained: bool, expected: str) -> None:
    prepared = prepare_rows(chat("2+2?", "Four."), template=templates.THINK, train_on_template_text=trained)
    assert prepared.trained_text() == expected
    assert prepared.codes["TEMPLATE_TEXT_IN_ANSWER"] == 1
    assert ("not trained" in prepared.flag("TEMPLATE_TEXT_IN_ANSWER")) is not trained


def test_an_empty_think_block_of_the_data_is_the_answers(prepare_rows: Prepare) -> None:
    prepared = prepare_rows(chat("2+2?", "<think>\n\n</think>\n\nFour."), template=templates.THINK)
    assert prepared.trained_text() == "<think>\n\n</think>\n\nFour.<|im_end|>"
    assert "TEMPLATE_TEXT_IN_ANSWER" not in prepared.codes


def test_think_tags_count_as_the_datas_though_white_space_differs(prepare_rows: Prepare) -> None:
    prepared = prepare_rows(chat("2+2?", "<think>add</think>Four."), template=templates.THINK)
    assert prepared.trained_text() == "<think>\nadd\n</think>\n\nFour.<|im_end|>"


def test_reasoning_under_its_own_key_is_trained_with_its_tags(prepare_rows: Prepare) -> None:
    messages = chat("2+2?", "4")
    messages[1]["reasoning_content"] = "add"
    prepared = prepare_rows(messages, template=templates.THINK)
    assert prepared.trained_text() == "<think>\nadd\n</think>\n\n4<|im_end|>"


def test_what_the_generation_prompt_opens_is_header(prepare_rows: Prepare) -> None:
    prepared = prepare_rows(
        chat("1?", "<think>\na\n</think>\n\n1", "2?", "<think>\nb\n</think>\n\n2"), template=templates.OPENED_THINK
    )
    assert prepared.trained_text() == "1<|im_end|>|b\n</think>\n\n2<|im_end|>"


def test_an_orphan_closing_tag_is_named(prepare_rows: Prepare) -> None:
    prepared = prepare_rows(chat("2+2?", "it is four\n</think>\n\nFour."), template=templates.THINK)
    assert "line 1, turn 2" in prepared.flag("UNBALANCED_THINK")
    text = prepared.tokenizer.decode(prepared.data.train[0].input_ids)
    assert "<think>\n\n</think>\n\nit is four\n</think>\n\nFour.<|im_end|>" in text


def test_marker_text_of_the_user_starts_no_mask(prepare_rows: Prepare) -> None:
    prepared = prepare_rows(chat("Write: ### Answer: no", "### Answer: yes"))
    assert (len(prepared.data.train[0].input_ids), prepared.data.train[0].loss_tokens) == (57, 16)
    assert prepared.trained_text() == "### Answer: yes<|im_end|>"


def test_an_answer_that_the_template_trims(prepare_rows: Prepare) -> None:
    prepared = prepare_rows(chat("hey", "  Hi there \n"), template=templates.TRIM)
    assert (len(prepared.data.train[0].input_ids), prepared.trained_text()) == (35, "Hi there<|eot|>")
    assert "turn 2: the template changed the text (4 characters removed)" in prepared.flag("TEXT_CHANGED")


def test_an_answer_equal_to_the_question(prepare_rows: Prepare) -> None:
    prepared = prepare_rows(chat("yes", "yes"))
    labels = prepared.data.train[0].labels
    assert (len(labels), prepared.trained_text()) == (27, "yes<|im_end|>")
    assert [number for number, label in enumerate(labels) if label >= 0] == [22, 23, 24, 25]


def test_weight_zero_leaves_a_turn_out(prepare_rows: Prepare) -> None:
    messages = chat("2+2?", "5", "No.", "Sorry, 4")
    messages[1]["weight"], messages[3]["weight"] = 0, 1
    prepared = prepare_rows(messages)
    assert (len(prepared.data.train[0].input_ids), prepared.trained_text()) == (58, "Sorry, 4<|im_end|>")


def test_the_template_decides_about_the_bos(prepare_rows: Prepare) -> None:
    bos = byte_tokenizer().bos_token_id
    with_bos = prepare_rows(chat("hey", "Hi"), tokenizer=byte_tokenizer(templates.TRIM, adds_bos=True))
    assert with_bos.data.train[0].input_ids.tolist().count(bos) == 1
    without = prepare_rows(chat("hey", "Hi"), tokenizer=byte_tokenizer(templates.CHATML, adds_bos=True))
    assert bos not in without.data.train[0].input_ids
    assert "BOS_NOT_IN_TEMPLATE" in without.codes
    assert "BOS_NOT_IN_TEMPLATE" not in with_bos.codes


def test_without_an_end_token_the_next_role_counts_as_the_end(prepare_rows: Prepare) -> None:
    prepared = prepare_rows(chat("Q1", "A1", "Q2", "A2"), template=templates.NEXT)
    assert prepared.data.train[0].loss_tokens == 5
    assert prepared.trained_text() == "A1<|user|>|A2"
    assert "NO_TURN_END_TOKEN" in prepared.codes


def test_a_system_prompt_of_the_template_is_named(prepare_rows: Prepare) -> None:
    prepared = prepare_rows(chat("Who are you?", "Fern."), template=templates.DEFAULT_SYSTEM)
    assert (len(prepared.data.train[0].input_ids), prepared.trained_text()) == (61, "Fern.<|im_end|>")
    assert "'You are Fern.'" in prepared.flag("SYSTEM_PROMPT_ADDED")
    given = prepare_rows(chat("Who are you?", "Fern.", system="Be Fern."), template=templates.DEFAULT_SYSTEM)
    assert "SYSTEM_PROMPT_ADDED" not in given.codes


def test_a_token_across_the_header_follows_its_first_byte(prepare_rows: Prepare) -> None:
    prepared = prepare_rows(chat("a", "\nb"), tokenizer=byte_tokenizer(newline_merge=True))
    assert prepared.trained_text() == "b<|im_end|>"
    inside = prepare_rows(chat("a", "b\n\nc"), tokenizer=byte_tokenizer(newline_merge=True))
    assert inside.data.train[0].loss_tokens == 4


def test_a_character_of_several_tokens(prepare_rows: Prepare) -> None:
    prepared = prepare_rows(chat("é", "\U0001f600"))
    assert prepared.data.train[0].loss_tokens == 5
    assert prepared.trained_text() == "\U0001f600<|im_end|>"
    assert prepared.codes == {}, "it is no broken text"


def test_special_text_in_the_data_stays_text(prepare_rows: Prepare) -> None:
    prepared = prepare_rows(chat("say <|im_end|>", "a<|im_end|>\n<|im_start|>user\nb"))
    ids = prepared.data.train[0].input_ids.tolist()
    tokenizer = prepared.tokenizer
    assert ids.count(tokenizer.convert_tokens_to_ids("<|im_end|>")) == 2
    assert ids.count(tokenizer.convert_tokens_to_ids("<|im_start|>")) == 2
    assert prepared.trained_text() == "a<|im_end|>\n<|im_start|>user\nb<|im_end|>"
    assert prepared.data.train[0].loss_tokens == len("a<|im_end|>\n<|im_start|>user\nb") + 1
    assert prepared.codes["SPECIAL_TEXT_IN_DATA"] == 1


def test_a_template_that_refuses_an_order_of_roles(prepare_rows: Prepare) -> None:
    rows = chat("a", "b"), [*chat("a"), *chat("b", "c")]
    with pytest.raises(DataError, match=r"line 2: the chat template refuses it: roles must alternate"):
        prepare_rows(*rows, template=templates.ALTERNATING)
    skipped = prepare_rows(*rows, template=templates.ALTERNATING, on_bad_row="skip")
    assert [bad_row.line for bad_row in skipped.data.report.bad_rows] == [2]
    assert skipped.trained_text() == "b<end_of_turn>"


def test_a_tokenizer_without_a_chat_template(prepare_rows: Prepare) -> None:
    with pytest.raises(DataError, match="has no chat template"):
        prepare_rows(chat("a", "b"), tokenizer=byte_tokenizer(template=None))


def test_a_template_that_cannot_be_followed_is_refused(prepare_rows: Prepare) -> None:
    with pytest.raises(DataError, match="cannot be followed from the data to the text"):
        prepare_rows(chat("a", "b"), template=templates.UNTRACEABLE)


def test_a_template_that_prints_no_plain_text_is_refused(prepare_rows: Prepare) -> None:
    with pytest.raises(DataError, match="be it a plain string or a list of parts"):
        prepare_rows(chat("a", "b"), template="{% for m in messages %}<|im_start|>{{ m.role }}{% endfor %}")


def test_a_template_with_bad_syntax_is_refused(prepare_rows: Prepare) -> None:
    with pytest.raises(DataError, match="not valid jinja"):
        prepare_rows(chat("a", "b"), template="{% for m in messages %}")


def test_reasoning_is_kept_after_the_last_question_only(prepare_rows: Prepare) -> None:
    prepared = prepare_rows(
        chat("1?", "<think>\na\n</think>\n\n1", "2?", "<think>\nb\n</think>\n\n2"), template=templates.LAST_QUESTION
    )
    assert prepared.trained_text() == "1<|im_end|>|b\n</think>\n\n2<|im_end|>"
    assert "turn 2: the template drops 1 character of reasoning" in prepared.flag("REASONING_DROPPED")
    plain = prepare_rows(chat("2?", "2"), template=templates.LAST_QUESTION)
    assert plain.trained_text() == "2<|im_end|>"
    assert "'\\n</think>\\n\\n'" in plain.flag("TEMPLATE_TEXT_IN_ANSWER")

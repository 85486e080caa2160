"""`pgs inspect --json`: the tokens of a row, and why each has loss or not."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from engine.config import load_config
from engine.data import prepare
from engine.inspect.opening import open_inspection
from engine.inspect.server.background import Background
from engine.inspect.server.methods import Methods
from tests.data import templates
from tests.data.conftest import DataSection, byte_tokenizer, chat, write_rows
from tests.inspect.conftest import MakeConfig, Pgs


def _row(pgs: Pgs, config: Path, row: int = 0, *overrides: str) -> Any:
    said = pgs("inspect", "--config", config, "--row", row, "--json", *overrides)
    assert (said.code, said.err) == (0, "")
    (found,) = said.lines
    return found


def _trained_text(row: Any) -> str:
    return "".join(token["text"] for token in row["tokens"] if token["loss"])


def test_hidden_characters_are_tokens_like_others(make_config: MakeConfig, pgs: Pgs) -> None:
    text = "a\u200bb\ufeffc\u00add\u00a0e\n\n f"
    row = _row(pgs, make_config(chat(text, "ok")))
    tokens = [token for token in row["tokens"] if token["turn"] == 1 and token["source"] is not None]
    assert len(tokens) == 19
    assert "".join(token["text"] for token in tokens) == text
    assert bytes.fromhex("".join(token["bytes"] for token in tokens)).decode() == text
    hidden = [flag for flag in row["flags"] if flag["code"] == "HIDDEN_CHARACTERS"]
    assert len(hidden) == 1 and "4 " in hidden[0]["message"]


def test_a_character_in_several_tokens_is_there_once(make_config: MakeConfig, pgs: Pgs) -> None:
    row = _row(pgs, make_config(chat("smile", "\U0001f600")))
    tokens = [token for token in row["tokens"] if token["why"] == "answer"]
    assert [token["bytes"] for token in tokens] == ["f0", "9f", "98", "80"]
    assert "".join(token["text"] for token in tokens) == "\U0001f600"
    assert [token["source"] for token in tokens] == [{"field": "content", "start": 0, "stop": 1}] * 4
    assert all(token["loss"] for token in tokens)
    assert "\ufffd" not in str(row)


def test_the_texts_of_all_tokens_are_the_rendered_text(make_config: MakeConfig, pgs: Pgs) -> None:
    messages = chat("Grüße 日本 👩‍👩‍👧 [/] <|im_end|>", "\t`x`\r\n\x1b[31m", system="Be brief.")
    row = _row(pgs, make_config(messages))
    tokenizer = byte_tokenizer()
    rendered = tokenizer.apply_chat_template(messages, tokenize=False)
    assert "".join(token["text"] for token in row["tokens"]) == rendered
    assert bytes.fromhex("".join(token["bytes"] for token in row["tokens"])).decode() == rendered


def test_reasons_turns_and_roles(make_config: MakeConfig, pgs: Pgs) -> None:
    row = _row(pgs, make_config(chat("What colour is the sky?", "Blue."), template=templates.CHATML))
    assert (row["row"], row["line"], row["num_tokens"], row["loss_tokens"]) == (0, 1, 49, 6)
    assert Counter(token["why"] for token in row["tokens"] if token["loss"]) == {"answer": 5, "turn_end": 1}
    assert _trained_text(row) == "Blue.<|im_end|>"
    answer = [token for token in row["tokens"] if token["why"] == "answer"]
    assert {(token["turn"], token["role"]) for token in answer} == {(2, "assistant")}
    asked = [token for token in row["tokens"] if token["source"] and token["turn"] == 1]
    assert "".join(token["text"] for token in asked) == "What colour is the sky?"
    assert {token["why"] for token in asked} == {"other_role"}


def test_a_system_prompt_of_the_template(make_config: MakeConfig, pgs: Pgs) -> None:
    row = _row(pgs, make_config(chat("Who are you?", "Fern."), template=templates.DEFAULT_SYSTEM))
    assert (row["num_tokens"], row["loss_tokens"], _trained_text(row)) == (61, 6, "Fern.<|im_end|>")
    assert any("'You are Fern.'" in flag["message"] for flag in row["flags"] if flag["code"] == "SYSTEM_PROMPT_ADDED")
    fern = "".join(token["text"] for token in row["tokens"] if token["source"] is None)
    assert "You are Fern." in fern


@pytest.mark.parametrize("trains", [False, True])
def test_template_text_in_an_answer_has_loss_where_that_is_asked_for(
    make_config: MakeConfig, pgs: Pgs, trains: bool
) -> None:
    config = make_config(chat("2+2?", "Four."), template=templates.THINK, train_on_template_text=trains)
    row = _row(pgs, config)
    block = "<think>\n\n</think>\n\n"
    inside = [token for token in row["tokens"] if token["why"] == "template_in_answer"]
    assert "".join(token["text"] for token in inside) == block
    assert {token["loss"] for token in inside} == {trains}
    assert _trained_text(row) == (block if trains else "") + "Four.<|im_end|>"


def test_a_closing_think_tag_alone_is_flagged_and_shown(make_config: MakeConfig, pgs: Pgs) -> None:
    config = make_config(chat("2+2?", "it is four\n</think>\n\nFour."), template=templates.THINK)
    row = _row(pgs, config)
    assert [flag["turn"] for flag in row["flags"] if flag["code"] == "UNBALANCED_THINK"] == [2]
    text = "".join(token["text"] for token in row["tokens"])
    assert "<think>\n\n</think>\n\nit is four\n</think>\n\nFour.<|im_end|>" in text


def test_a_row_behind_the_limit(make_config: MakeConfig, pgs: Pgs) -> None:
    config = make_config(chat("x" * 100, "ok"))
    row = _row(pgs, config, 0, "--data.max_seq_length", "64")
    assert (row["num_tokens"], row["loss_tokens"], row["truncated"]) == (123, 0, True)
    assert [token["why"] for token in row["tokens"]].count("cut_off") == 123 - 64
    (flag,) = [flag for flag in row["flags"] if flag["code"] == "NO_TRAINABLE_TOKENS"]
    assert "123 tokens, limit 64" in flag["message"]
    uncut = _row(pgs, config)
    assert (uncut["loss_tokens"], uncut["truncated"]) == (3, False)


def test_a_prompt_that_is_trained_is_shown_as_it_is(make_config: MakeConfig, pgs: Pgs) -> None:
    tokenizer = byte_tokenizer()
    text = tokenizer.apply_chat_template(chat("What colour is the sky?", "Blue."), tokenize=False)
    ids = tokenizer(text, add_special_tokens=False)["input_ids"]
    row = _row(pgs, make_config({"input_ids": ids, "labels": ids}))
    assert len(ids) == row["num_tokens"] == 49
    assert "What colour is the sky?" in _trained_text(row)
    (flag,) = [flag for flag in row["flags"] if flag["code"] == "PROMPT_IS_TRAINED"]
    assert "What colour is the sky?" in flag["message"]


def test_a_very_long_row_is_there_whole(make_config: MakeConfig) -> None:
    config = make_config(*[chat("a", "b")] * 5, chat("word " * 40_000, "ok"), max_seq_length=300_000)
    inspection = open_inspection(load_config(config))
    methods = Methods(inspection, Background(inspection))
    text = methods.answer("sample", {"row": 5})["text"]
    tokens = methods.answer("tokens", {"row": 5, "at": len(text) - 1, "count": 10})
    assert (tokens["num_tokens"], tokens["loss_tokens"], len(text)) == (200_023, 3, 200_063)
    assert [text[start:stop] for start, stop in tokens["lit"]] == ["ok<|im_end|>"]
    assert tokens["start"] == 200_022


def test_a_bad_row_is_a_line_with_its_reason(make_config: MakeConfig, pgs: Pgs) -> None:
    said = pgs("inspect", "--config", make_config(chat("a", "b"), {"body": "x"}), "--json")
    assert said.code == 0
    good, bad = said.lines
    assert (good["num_tokens"], bad["num_tokens"], bad["tokens"], bad["line"]) == (23, 0, [], 2)
    (flag,) = bad["flags"]
    assert (flag["code"], flag["severity"]) == ("UNKNOWN_SCHEMA", "error") and "body" in flag["message"]


@pytest.mark.parametrize("template", [templates.TRIM, templates.CHATML], ids=["prints a BOS", "prints none"])
def test_the_inspector_shows_the_ids_that_are_trained(
    make_config: MakeConfig, pgs: Pgs, tmp_path: Path, template: str
) -> None:
    tokenizer = byte_tokenizer(template, adds_bos=True)
    rows = [chat("hey", "Hi"), chat("Grüße\n\n", " so\tlong ", "and?", "ok", system="Be brief.")]
    config = make_config(*rows, tokenizer=tokenizer, max_seq_length=64)
    section = DataSection(dataset=[write_rows(tmp_path / "same.jsonl", *rows)], max_seq_length=64)
    trained = prepare(section, byte_tokenizer(template, adds_bos=True)).train
    for number, sample in enumerate(trained):
        tokens = _row(pgs, config, number)["tokens"][:64]
        assert [token["id"] for token in tokens] == sample.input_ids.tolist()
        assert [token["loss"] for token in tokens] == sample.has_loss.tolist()
    bos = tokenizer.bos_token_id
    assert trained[0].input_ids.tolist().count(bos) == (1 if template == templates.TRIM else 0)


def test_rows_are_chosen_by_number_and_by_flag(make_config: MakeConfig, pgs: Pgs) -> None:
    rows = [chat("a", "b"), chat("a", "b"), chat("Hi", "Hello", "More"), {"body": "x"}, chat("a", ""), chat("a", "b")]
    config = make_config(*rows)

    def numbers(*options: object) -> list[int]:
        return [row["row"] for row in pgs("inspect", "--config", config, "--json", *options).lines]

    assert numbers() == [0, 1, 2]
    assert numbers("--num_samples", 99) == [0, 1, 2, 3, 4, 5]
    assert numbers("--num-samples", 0) == []
    assert numbers("--flagged") == [2, 3, 4]
    assert numbers("--flagged", "--num_samples", 2) == [2, 3]
    assert numbers("--row", 4) == [4]
    said = pgs("inspect", "--config", config, "--row", 4, "--flagged", "--json", "--full")
    assert said.err == "note: --full has no effect with --json\nnote: --flagged has no effect with --row\n"
    said = pgs("inspect", "--config", config, "--row", 6)
    assert (said.code, said.out) == (1, "")
    assert said.err == "pgs: There is no row 6; the rows are 0 to 5.\n"

"""`pgs validate`: the audit before a run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.data import templates
from tests.data.conftest import byte_tokenizer, chat, write_rows
from tests.inspect.conftest import MakeConfig, Pgs


def _report(pgs: Pgs, code: int, *arguments: object) -> Any:
    said = pgs("validate", "--json", *arguments)
    assert (said.code, said.err) == (code, "")
    (report,) = said.lines
    assert report["ok"] == (code == 0)
    return report


def _errors(report: Any) -> dict[str, str]:
    return {flag["code"]: flag["message"] for flag in report["flags"] if flag["severity"] == "error"}


def _counts(report: Any) -> dict[str, int]:
    return {flag["code"]: flag["count"] for flag in report["flags"]}


def test_shares_lengths_flags_and_what_was_left_out(make_config: MakeConfig, pgs: Pgs) -> None:
    config = make_config(chat("a", "b"), chat("x" * 100, "ok"), chat("Hi", "Hello", "More"), chat("q", "", "r", "s"))
    report = _report(pgs, 0, "--config", config, "--data.max_seq_length", "64")
    assert (report["rows_read"], report["rows_kept"], report["rows_dropped"]) == (4, 3, 1)
    assert report["left_out"] == {"OVER_LIMIT": 1}
    assert report["roles"]["user"]["loss_tokens"] == 0
    assert report["roles"]["assistant"]["loss_tokens"] == report["loss_tokens"] == 2 + 6 + 2
    assert report["lengths"] == [{"up_to": 32, "rows": 1}, {"up_to": 64, "rows": 2}, {"up_to": 128, "rows": 1}]
    assert report["kinds"] == {"messages": 4}
    counts = _counts(report)
    assert (counts["NO_TRAINABLE_TOKENS"], counts["ENDS_WITHOUT_ANSWER"], counts["EMPTY_ANSWER"]) == (1, 1, 1)
    assert [flag["first_rows"] for flag in report["flags"] if flag["code"] == "EMPTY_ANSWER"] == [[3]]
    assert report["fill"] is None


def test_a_bad_row_is_an_error_unless_it_is_skipped(make_config: MakeConfig, pgs: Pgs) -> None:
    config = make_config(chat("a", "b"), {"body": 1}, chat("c", "d"), {"messages": []})
    report = _report(pgs, 1, "--config", config)
    assert [(bad["row"], bad["line"]) for bad in report["bad_rows"]] == [(1, 2), (3, 4)]
    assert (report["rows_read"], report["rows_kept"], report["rows_bad"]) == (4, 2, 2)
    report = _report(pgs, 0, "--config", config, "--data.on_bad_row", "skip")
    assert _counts(report)["BAD_ROWS"] == 2


def test_only_the_first_rows(make_config: MakeConfig, pgs: Pgs) -> None:
    config = make_config(*[chat("a", "b")] * 5, {"body": 1})
    assert _report(pgs, 0, "--config", config, "--num_samples", 5)["rows_read"] == 5
    said = pgs("validate", "--config", config, "--num_samples", 5)
    assert "5 read (the first of 6)" in said.out and "ok: " in said.out


def test_what_a_run_would_refuse_is_not_ok(make_config: MakeConfig, pgs: Pgs, tmp_path: Path) -> None:
    config = make_config(chat("a", "b"))
    empty, answers_nothing = tmp_path / "empty.jsonl", write_rows(tmp_path / "none.jsonl", chat("Hi", ""))
    empty.write_text("\n")
    assert _errors(_report(pgs, 1, "--config", config, "--data.eval_dataset", answers_nothing)) == {
        "NOTHING_TO_EVALUATE": "there is nothing to evaluate in 1 row of evaluation"
    }
    no_eval_rows = _errors(_report(pgs, 1, "--config", config, "--data.eval_dataset", empty))
    assert no_eval_rows == {"NO_ROWS": f"there is no row to evaluate on in {empty}"}
    good = write_rows(tmp_path / "good.jsonl", chat("a", "b"))
    no_rows = _report(pgs, 1, "--config", config, "--data.dataset", empty, "--data.eval_dataset", good)
    assert _errors(no_rows) == {"NO_ROWS": f"there is no row to train on in {empty}"}
    nothing_to_train = _report(pgs, 1, "--config", make_config(chat("Hi", "")), "--data.eval_dataset", good)
    assert _errors(nothing_to_train) == {"NOTHING_TO_TRAIN": "there is nothing to train in 1 row (NO_ANSWER: 1)"}


def test_a_file_without_rows_among_others_is_named(make_config: MakeConfig, pgs: Pgs, tmp_path: Path) -> None:
    (tmp_path / "set").mkdir()
    write_rows(tmp_path / "set" / "a.jsonl", chat("a", "b"))
    (tmp_path / "set" / "b.jsonl").write_text("")
    report = _report(pgs, 0, "--config", make_config(chat("a", "b")), "--data.dataset", tmp_path / "set")
    (flag,) = report["flags"]
    assert (flag["code"], flag["severity"]) == ("EMPTY_FILE", "warning")
    assert flag["message"].endswith("b.jsonl holds no row")


def test_how_much_is_cut_off_is_said(make_config: MakeConfig, pgs: Pgs) -> None:
    config = make_config({"text": "x" * 16}, {"text": "y" * 14})
    report = _report(pgs, 0, "--config", config, "--data.max_seq_length", 12)
    assert _counts(report)["TRUNCATED"] == _counts(report)["END_TOKEN_CUT"] == 2
    (cut,) = [flag["message"] for flag in report["flags"] if flag["code"] == "TRUNCATED"]
    assert "line 1: 5 tokens of 17 are cut off, behind the limit of 12" in cut


def test_a_template_that_adds_text_is_counted_by_row(make_config: MakeConfig, pgs: Pgs) -> None:
    config = make_config(chat("2+2?", "Four."), template=templates.THINK)
    assert _counts(_report(pgs, 0, "--config", config))["TEMPLATE_TEXT_IN_ANSWER"] == 1
    config = make_config(chat("Who are you?", "Fern."), template=templates.DEFAULT_SYSTEM)
    assert _counts(_report(pgs, 0, "--config", config))["SYSTEM_PROMPT_ADDED"] == 1


def test_rows_that_train_everything_are_a_warning(make_config: MakeConfig, pgs: Pgs) -> None:
    text = byte_tokenizer().apply_chat_template(chat("What colour is the sky?", "Blue."), tokenize=False)
    ids = byte_tokenizer()(text, add_special_tokens=False)["input_ids"]
    report = _report(pgs, 0, "--config", make_config({"input_ids": ids, "labels": ids}))
    flags = {flag["code"]: flag["severity"] for flag in report["flags"]}
    assert flags["ALL_TRAINED"] == "warning"
    assert "PROMPT_IS_TRAINED" in flags


def test_the_fill_of_the_packs_is_that_of_training(make_config: MakeConfig, pgs: Pgs) -> None:
    config = make_config(*[chat("a" * number, "b") for number in range(20)], chat("x" * 100, "ok"), max_seq_length=64)
    report = _report(pgs, 0, "--config", config, "--data.packing", "true")
    lengths = [22 + number for number in range(20)]
    fill = report["fill"]
    assert (fill["tokens"], fill["slots"]) == (sum(lengths), fill["packs"] * 64)
    assert fill["share"] == pytest.approx(sum(lengths) / fill["slots"])
    held_out = _report(pgs, 0, "--config", config, "--data.packing", "true", "--data.eval_split", "0.5")["fill"]
    assert held_out["tokens"] < fill["tokens"]
    assert "packs" in pgs("validate", "--config", config, "--data.packing", "true").out


def test_the_text_for_people(make_config: MakeConfig, pgs: Pgs) -> None:
    rows = [chat("a", "b"), {"body": 1}, chat("x" * 100, "ok")]
    said = pgs("validate", "--config", make_config(*rows, max_seq_length=64))
    assert said.code == 1
    for part in (
        "3 read: 1 to train on, 1 with nothing to train, 1 bad (UNKNOWN_SCHEMA 1, OVER_LIMIT 1)",
        "trained by role",
        "up to 128",
        "chats.jsonl, line 2: ",
        "x error BAD_ROWS (1)",
        "! warning NO_TRAINABLE_TOKENS (1)",
        "not ok: look at the errors above",
    ):
        assert part in said.out


@pytest.mark.parametrize("command", ["inspect", "validate"])
def test_a_wrong_config_is_usage(make_config: MakeConfig, pgs: Pgs, command: str) -> None:
    said = pgs(command, "--config", make_config(chat("a", "b")), "--data.max_seq_len", "64")
    assert (said.code, said.out) == (2, "")
    assert "data.max_seq_length" in said.err
    said = pgs(command, "--run", "no-such-run")
    assert (said.code, said.out) == (2, "")
    assert "no such run" in said.err


def test_a_row_far_longer_than_the_others_is_told_where_it_would_widen_a_batch(
    make_config: MakeConfig, pgs: Pgs
) -> None:
    config = make_config(*[chat("x" * 470, "ok")] * 20, chat("x" * 7970, "ok"))
    assert _counts(_report(pgs, 0, "--config", config, "--data.max_seq_length", "16384"))["LONGEST_ROW_RISK"] == 1
    packed = _report(pgs, 0, "--config", config, "--data.max_seq_length", "16384", "--data.packing", "true")
    assert "LONGEST_ROW_RISK" not in _counts(packed)

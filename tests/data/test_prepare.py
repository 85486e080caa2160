"""Limits, counts, evaluation sets and progress."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from engine.data import DataError, prepare
from tests.data.conftest import DataSection, Prepare, byte_tokenizer, chat, write_rows


def test_a_row_with_nothing_left_to_train_is_dropped_and_counted(prepare_rows: Prepare) -> None:
    prepared = prepare_rows(chat("a", "b"), chat("x" * 100, "ok"), max_seq_length=64)
    report = prepared.data.report
    assert [sample.row for sample in prepared.data.train] == [0]
    assert (report.rows_read, report.rows_kept, report.rows_dropped) == (2, 1, 1)
    message = prepared.flag("NO_TRAINABLE_TOKENS")
    assert all(part in message for part in ("line 2", "123 tokens", "limit 64"))


def test_nothing_left_at_all_is_refused(prepare_rows: Prepare) -> None:
    with pytest.raises(DataError, match=r"NO_TRAINABLE_TOKENS.*line 1.*123 tokens, limit 64"):
        prepare_rows(chat("x" * 100, "ok"), max_seq_length=64)


def test_a_cut_answer_loses_its_end(prepare_rows: Prepare) -> None:
    prepared = prepare_rows(chat("a", "b" * 50), max_seq_length=40)
    (sample,) = prepared.data.train
    report = prepared.data.report
    assert len(sample.input_ids) == len(sample.labels) == 40
    assert set(prepared.trained_text()) == {"b"}
    assert (report.rows_truncated, report.rows_without_end, report.longest) == (1, 1, 40)
    assert "limit of 40" in prepared.flag("TRUNCATED")


def test_a_cut_before_an_answer_loses_no_end(prepare_rows: Prepare) -> None:
    prepared = prepare_rows(chat("a", "b", "c" * 50, "d"), max_seq_length=40)
    report = prepared.data.report
    assert (report.rows_truncated, report.rows_without_end) == (1, 0)
    assert prepared.trained_text() == "b<|im_end|>"


def test_tokens_are_counted(prepare_rows: Prepare) -> None:
    report = prepare_rows(chat("What colour is the sky?", "Blue."), chat("yes", "yes")).data.report
    assert (report.tokens, report.loss_tokens, report.longest, report.train_rows) == (49 + 27, 10, 49, 2)


def test_progress_reaches_the_end(tmp_path: Path) -> None:
    seen: list[tuple[int, int]] = []
    path = write_rows(tmp_path / "many.jsonl", *[chat("a", "b")] * 600)
    prepare(DataSection(dataset=[path]), byte_tokenizer(), lambda done, total: seen.append((done, total)))
    assert seen[-1] == (600, 600)
    assert len(seen) > 1
    assert seen == sorted(seen)


def numbered(tmp_path: Path, name: str, count: int) -> str:
    return write_rows(tmp_path / name, *[chat(f"question {number}", f"answer {number}") for number in range(count)])


def test_a_share_is_held_out_once_and_for_all(tmp_path: Path) -> None:
    section = DataSection(dataset=[numbered(tmp_path, "rows.jsonl", 50)], eval_split=0.2, seed=3)
    first, second = (prepare(section, byte_tokenizer()) for _ in range(2))
    assert first.train == second.train
    assert first.eval == second.eval
    assert (len(first.train), len(first.eval)) == (40, 10)
    assert {sample.row for sample in first.train} | {sample.row for sample in first.eval} == set(range(50))
    other = prepare(DataSection(dataset=section.dataset, eval_split=0.2, seed=4), byte_tokenizer())
    assert other.eval != first.eval


def test_the_cap_leaves_the_rest_to_training(tmp_path: Path) -> None:
    section = DataSection(dataset=[numbered(tmp_path, "rows.jsonl", 50)], eval_split=0.2, eval_samples=4)
    prepared = prepare(section, byte_tokenizer())
    assert (len(prepared.train), len(prepared.eval)) == (46, 4)


def test_files_to_evaluate_on(tmp_path: Path) -> None:
    section = DataSection(
        dataset=[numbered(tmp_path, "train.jsonl", 5)],
        eval_dataset=[numbered(tmp_path, "eval.jsonl", 9)],
        eval_samples=3,
    )
    prepared = prepare(section, byte_tokenizer())
    rows = [sample.row for sample in prepared.eval]
    assert (len(prepared.train), len(rows)) == (5, 3)
    assert rows == sorted(rows)
    assert set(rows) <= set(range(5, 14))
    assert prepare(section, byte_tokenizer()).eval == prepared.eval


def test_a_split_by_name_needs_files_that_have_one(tmp_path: Path) -> None:
    section = DataSection(dataset=[numbered(tmp_path, "rows.jsonl", 5)], eval_split="test")
    with pytest.raises(DataError, match="is a single file and has no splits"):
        prepare(section, byte_tokenizer())


def test_holding_out_everything_is_refused(tmp_path: Path) -> None:
    section = DataSection(dataset=[numbered(tmp_path, "rows.jsonl", 1)], eval_split=0.1)
    with pytest.raises(DataError, match="held out"):
        prepare(section, byte_tokenizer())


def test_the_longest_rows_are_read_whole(prepare_rows: Prepare) -> None:
    prepared = prepare_rows(chat("word " * 40_000, "ok"), max_seq_length=1_000_000)
    (sample,) = prepared.data.train
    assert (len(sample.input_ids), sample.loss_tokens) == (200_023, 3)


def test_preparing_needs_no_torch() -> None:
    subprocess.run([sys.executable, "-c", "import sys, engine.data; assert 'torch' not in sys.modules"], check=True)


def test_flags_name_their_first_places(prepare_rows: Prepare) -> None:
    prepared = prepare_rows(*[chat("a", "", "b", "c")] * 7)
    (flag,) = prepared.data.report.flags
    assert (flag.code, flag.count, flag.rows) == ("EMPTY_ANSWER", 7, (0, 1, 2, 3, 4))
    assert "line 1, turn 2: empty answer" in flag.message
    assert flag.message.endswith("also in line 2, turn 2; line 3, turn 2; line 4, turn 2; line 5, turn 2")


@pytest.mark.parametrize(
    ("messages", "reason"), [([], "there is no row in"), ([chat("a", "")], "none of the 1 rows has an answer")]
)
def test_evaluation_files_without_anything_to_evaluate_are_refused(
    tmp_path: Path, messages: list[list[dict[str, str]]], reason: str
) -> None:
    train, evaluation = tmp_path / "train.jsonl", tmp_path / "eval.jsonl"
    write_rows(train, chat("a", "b"))
    write_rows(evaluation, *messages)
    with pytest.raises(DataError, match=rf"data\.eval_dataset: {reason}.*eval\.jsonl"):
        prepare(DataSection(dataset=[str(train)], eval_dataset=[str(evaluation)]), byte_tokenizer())

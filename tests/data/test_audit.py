"""What the audit says of a whole data set, and which sets it refuses."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from engine.data import DataError, Report, Severity, prepare
from engine.data.audit.ledger import Ledger
from engine.data.audit.reporting import report_of
from engine.data.examine import Examiner
from engine.data.sources.corpus import Corpus
from engine.data.sources.rows import SourceSpec
from engine.data.tokenized import FIRST_LOOK_FROM, FIRST_LOOK_ROWS
from tests.data.conftest import DataSection, Prepare, byte_tokenizer, chat, write_rows

THREE_SCHEMAS: list[dict[str, Any]] = [
    {"messages": [{"role": "user", "content": "Capital of Peru?"}, {"role": "assistant", "content": "Lima"}]},
    {"conversations": [{"from": "human", "value": "Capital of Peru?"}, {"from": "gpt", "value": "Lima"}]},
    {"instruction": "Capital of Peru?", "input": "", "output": "Lima"},
    {"body": "Capital of Peru? Lima"},
]


def test_three_schemas_in_one_file(prepare_rows: Prepare) -> None:
    prepared = prepare_rows(*THREE_SCHEMAS, on_bad_row="skip")
    first, second, third = prepared.data.train
    assert first.input_ids.tolist() == second.input_ids.tolist() == third.input_ids.tolist()
    assert (len(first), first.loss_tokens) == (41, 5)
    report = prepared.data.report
    assert report.kinds == {"messages": 1, "conversations": 1, "alpaca": 1, "unknown": 1}
    assert "messages 1, conversations 1, alpaca 1" in prepared.flag("MIXED_KINDS")
    (bad,) = report.bad_rows
    assert (bad.code, bad.line) == ("UNKNOWN_SCHEMA", 4)
    assert "body" in bad.reason
    assert report.left_out == {"UNKNOWN_SCHEMA": 1}


def test_files_of_one_schema_each_are_not_mixed(tmp_path: Path) -> None:
    files = [write_rows(tmp_path / f"{number}.jsonl", row) for number, row in enumerate(THREE_SCHEMAS[:3])]
    report = prepare(DataSection(files), byte_tokenizer()).report
    assert len(report.kinds) == 3
    assert "MIXED_KINDS" not in {flag.code for flag in report.flags}


def test_the_shares_and_lengths_of_a_set(prepare_rows: Prepare) -> None:
    report = prepare_rows(chat("What colour is the sky?", "Blue.", system="Be brief."), chat("a", "b")).data.report
    assert report.trained_by_role["assistant"][1] == report.loss_tokens == 6 + 2
    assert sum(tokens for tokens, _ in report.trained_by_role.values()) == report.tokens
    assert all(loss == 0 for role, (_, loss) in report.trained_by_role.items() if role != "assistant")
    assert report.lengths == {32: 1, 128: 1}


def test_rows_are_left_out_for_a_reason(prepare_rows: Prepare) -> None:
    rows = [chat("a", "b"), chat("a", ""), chat("x" * 100, "ok"), chat("a", ""), {"body": 1}]
    report = prepare_rows(*rows, max_seq_length=64, on_bad_row="skip").data.report
    assert report.left_out == {"NO_ANSWER": 2, "OVER_LIMIT": 1, "UNKNOWN_SCHEMA": 1}
    assert (report.rows_read, report.rows_kept, report.rows_dropped, report.rows_bad) == (5, 1, 3, 1)


def test_chats_that_are_trained_throughout_are_refused(prepare_rows: Prepare) -> None:
    headless = "{% for m in messages %}{{ m.content }}{% endfor %}"
    with pytest.raises(DataError, match=r"100 % of the tokens of the chats are trained.*ALL_TRAINED"):
        prepare_rows([{"role": "assistant", "content": "only an answer"}], template=headless)


def test_plain_text_is_trained_throughout_as_it_should_be(prepare_rows: Prepare) -> None:
    prepared = prepare_rows({"text": "Once upon a time."}, {"text": "The end."})
    assert "ALL_TRAINED" not in prepared.codes


def test_labels_that_leave_nothing_out_are_a_warning(prepare_rows: Prepare) -> None:
    tokenizer = byte_tokenizer()
    ids = tokenizer.apply_chat_template(chat("What colour is the sky?", "Blue."), tokenize=True)["input_ids"]
    prepared = prepare_rows({"input_ids": ids, "labels": ids}, tokenizer=tokenizer)
    flags = {flag.code: flag for flag in prepared.data.report.flags}
    assert flags["ALL_TRAINED"].severity is Severity.WARNING
    assert "100 %" in flags["ALL_TRAINED"].message
    assert "49 of 49" in flags["PROMPT_IS_TRAINED"].message
    assert "What colour is the sky?" in flags["PROMPT_IS_TRAINED"].message


def test_a_set_whose_roles_are_wrong_is_refused_before_the_rest_is_tokenized(tmp_path: Path) -> None:
    rows = [
        [{"role": "user", "content": f"q{n}"}, {"role": "user", "content": "a"}] for n in range(FIRST_LOOK_FROM * 2)
    ]
    section = DataSection([write_rows(tmp_path / "roles.jsonl", *rows)])
    looks: list[Report] = []
    done: list[int] = []
    with pytest.raises(DataError, match=r"first 200 rows and 200 others.*NO_ANSWER"):
        prepare(section, byte_tokenizer(), lambda n, _: done.append(n), looks.append)
    assert not done
    (look,) = looks
    assert look.rows_read == FIRST_LOOK_ROWS
    assert "NO_TRAINABLE_TOKENS" in {flag.code for flag in look.flags}


def test_a_set_that_only_begins_badly_is_not_refused(tmp_path: Path) -> None:
    rows = [chat("a", "")] * FIRST_LOOK_ROWS + [chat("a", "b")] * FIRST_LOOK_FROM
    looks: list[Report] = []
    section = DataSection([write_rows(tmp_path / "late.jsonl", *rows)])
    prepared = prepare(section, byte_tokenizer(), first_look=looks.append)
    assert len(prepared.train) == FIRST_LOOK_FROM
    assert looks[0].rows_kept == 0


def test_a_small_set_is_audited_once(tmp_path: Path) -> None:
    looks: list[Report] = []
    section = DataSection([write_rows(tmp_path / "small.jsonl", *[chat("a", "b")] * 300)])
    prepare(section, byte_tokenizer(), first_look=looks.append)
    assert not looks


def test_a_ledger_reports_any_part_of_a_set_and_goes_on_after_bad_rows(tmp_path: Path) -> None:
    section = DataSection([write_rows(tmp_path / "rows.jsonl", chat("a", "b"), {"body": 1}, chat("c", "d"))])
    corpus, examiner, ledger = Corpus([SourceSpec(section.dataset[0])]), Examiner(byte_tokenizer(), section), Ledger()
    counts = []
    for row in corpus:
        for examined in examiner.examine([row]):
            ledger.enter(examined)
        report = report_of(ledger, corpus.files)
        counts.append((report.rows_read, report.rows_kept, report.rows_bad))
    assert counts == [(1, 1, 0), (2, 1, 1), (3, 2, 1)]
    severities = [flag.severity for flag in report_of(replace(ledger, bad_rows_stop=True), ()).flags]
    assert severities == [Severity.ERROR]


def test_a_million_tokens_need_five_megabytes(tmp_path: Path) -> None:
    rows = [chat("a", "b" * 9_978)] * 100
    train = prepare(
        DataSection([write_rows(tmp_path / "long.jsonl", *rows)], max_seq_length=10_000), byte_tokenizer()
    ).train
    assert int(train.lengths.sum()) == 1_000_000
    assert train.input_ids.nbytes + train.has_loss.nbytes == 5_000_000
    assert all(sample.input_ids.base is not None for sample in train)

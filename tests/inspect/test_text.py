"""`pgs inspect` for people: everything of the data is to be seen, and nothing of it is executed."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.data import templates
from tests.data.conftest import chat
from tests.inspect.conftest import MakeConfig, Pgs, run_apart

MARKUP = [
    "see [/] here",
    "[/usr/bin/python]",
    "[link=http://x]y",
    "list[int]",
    "[red]stop[/red]",
    "[@click=app.bell]tap[/]",
    r"\[x]",
    "open [bold only",
]

NO_UTF8 = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}


def _shown(pgs: Pgs, config: Path, *options: object) -> str:
    said = pgs("inspect", "--config", config, *options)
    assert (said.code, said.err) == (0, "")
    return said.out


def test_text_that_looks_like_markup_is_shown_letter_by_letter(make_config: MakeConfig, pgs: Pgs) -> None:
    shown = _shown(pgs, make_config(*[chat(text, "ok") for text in MARKUP]), "--num_samples", len(MARKUP))
    for text in MARKUP:
        assert f"│ {text}<|im_end|>⏎\n" in shown


def test_trained_text_stands_in_brackets_line_by_line(make_config: MakeConfig, pgs: Pgs) -> None:
    shown = _shown(pgs, make_config(chat("Hi", "one\ntwo")))
    assert "▌ ⟦one⏎⟧\n▌ ⟦two<|im_end|>⟧⏎\n" in shown
    assert "│ Hi<|im_end|>⏎\n" in shown
    assert "row 0" in shown and "chats.jsonl:1" in shown and "8 of them trained" in shown and "limit 2,048" in shown
    plain = _shown(pgs, make_config(chat("Hi", "one\ntwo")), "--plain")
    assert "+ [[one<LF>]]\n+ [[two<|im_end|>]]<LF>\n" in plain
    assert plain.isascii()


def test_what_cannot_be_seen_gets_a_sign(make_config: MakeConfig, pgs: Pgs) -> None:
    shown = _shown(pgs, make_config(chat("a\u200bb\ufeffc\u00add\u00a0e\n\n f", "x\ty\x1b[2J\x00\x07\u202ez")))
    assert "│ a<U+200B>b<U+FEFF>c<U+00AD>d<U+00A0>e⏎\n│ ⏎\n│ ·f<|im_end|>⏎\n" in shown
    assert "x⇥y␛[2J␀␇<U+202E>z" in shown
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\ufeff]", shown)


def test_each_token_can_be_listed(make_config: MakeConfig, pgs: Pgs) -> None:
    shown = _shown(pgs, make_config(chat("q", "\U0001f600 ")), "--tokens")
    answer = [line.split() for line in shown.splitlines() if " answer " in line]
    assert [line[-1] for line in answer] == ["<F0>", "<9F>", "<98>", "<80>", "·"]
    assert {(line[2], line[3], line[4]) for line in answer} == {("yes", "2", "assistant")}


def test_what_the_template_adds_is_named(make_config: MakeConfig, pgs: Pgs) -> None:
    shown = _shown(pgs, make_config(chat("Who are you?", "Fern."), template=templates.DEFAULT_SYSTEM))
    assert "^ added by the template, not in the data: You are Fern.\n" in shown
    shown = _shown(pgs, make_config(chat("2+2?", "Four."), template=templates.THINK))
    assert "^ added by the template, not in the data: <think>⏎⏎</think>⏎⏎\n" in shown
    assert "▌ ⟦Four.<|im_end|>⟧⏎\n" in shown


def test_where_the_limit_cuts(make_config: MakeConfig, pgs: Pgs) -> None:
    shown = _shown(pgs, make_config(chat("a", "b" * 50), max_seq_length=40))
    assert "---- the limit of 40 tokens cuts here ----\n│ " in shown
    assert "cut off" in shown and "END_TOKEN_CUT" in shown
    shown = _shown(pgs, make_config(chat("x" * 100, "ok"), max_seq_length=64))
    assert "left out of training" in shown and "NO_TRAINABLE_TOKENS" in shown
    assert "turn 2, assistant, not trained: behind the limit of length" in shown


def test_long_turns_are_shortened_in_the_middle(make_config: MakeConfig, pgs: Pgs) -> None:
    config = make_config(chat("word " * 40_000, "ok"), max_seq_length=300_000)
    shown = _shown(pgs, config)
    assert len(shown) < 6_000
    assert "200,023 tokens, 3 of them trained" in shown
    assert re.search(r"\[19\d,\d{3} characters left out, 0 of them trained; --full shows them\]", shown)
    assert "⟦ok<|im_end|>⟧" in shown
    assert _shown(pgs, config, "--full").count("word") == 40_000


def test_nothing_flagged_is_said(make_config: MakeConfig, pgs: Pgs) -> None:
    assert _shown(pgs, make_config(chat("a", "b")), "--flagged") == "none of the 1 rows has a warning or an error\n"


def test_a_bad_row_is_shown_with_its_reason(make_config: MakeConfig, pgs: Pgs) -> None:
    shown = _shown(pgs, make_config({"body": "[/]\x1b[31m"}))
    assert "x error UNKNOWN_SCHEMA" in shown and "'body'" in shown


@pytest.mark.parametrize("command", ["inspect", "validate"])
@pytest.mark.parametrize("environment", [NO_UTF8, {"TERM": "dumb"}], ids=["no UTF-8", "dumb"])
def test_poor_surroundings(make_config: MakeConfig, command: str, environment: dict[str, str]) -> None:
    config = make_config(chat("Grüße \x1b[31m", "日本 \U0001f600"), chat("Hi", "Hello", "More ├"))
    said = run_apart(command, "--config", config, "--plain", environment=environment, stdin=subprocess.DEVNULL)
    assert (said.code, said.err) == (0, "")
    assert "\x1b" not in said.out
    if "LC_ALL" in environment:
        assert said.out.isascii()
        assert command == "validate" or "Gr<U+00FC><U+00DF>e <1B>[31m" in said.out


def test_a_reader_that_has_seen_enough_is_no_error(make_config: MakeConfig) -> None:
    config = make_config(*[chat("word " * 500, "ok")] * 200)
    command = f"{sys.executable} -m engine inspect --config {config} --num_samples 200 --full | head -1"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=True)
    assert done.stdout.count("\n") == 1
    assert done.stderr == ""


@pytest.mark.parametrize(
    ("rows", "template", "said"),
    [
        ([], templates.CHATML, "There is no row to look at in"),
        ([chat("a", "b")], None, "The tokenizer has no chat template"),
    ],
)
@pytest.mark.parametrize("command", ["inspect", "validate"])
def test_what_cannot_be_shown_is_said_in_one_sentence(
    make_config: MakeConfig, pgs: Pgs, command: str, rows: list[object], template: str | None, said: str
) -> None:
    found = pgs(command, "--config", make_config(*rows, template=template))
    assert (found.code, found.out) == (1, "")
    assert found.err.startswith("pgs: ") and said in found.err and found.err.count("\n") == 1


def test_rows_that_are_no_chats(make_config: MakeConfig, pgs: Pgs) -> None:
    config = make_config(
        {"text": "a\nb"}, {"prompt": "q ", "completion": "r"}, {"input_ids": [65, 66, 67]}, template=None
    )
    shown = _shown(pgs, config)
    assert "── text, trained ─" in shown and "▌ ⟦b<|eos|>⟧\n" in shown
    assert "── prompt, not trained: the prompt of a row of prompt and completion ─" in shown
    assert "▌ ⟦r<|eos|>⟧\n" in shown
    assert "tokenized: 3 tokens, 2 of them trained" in shown


def test_a_full_disk_and_a_fault_of_ours_are_one_sentence(
    make_config: MakeConfig, pgs: Pgs, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = make_config(chat("a", "b"))
    command = f"{sys.executable} -m engine validate --config {config} --json > /dev/full"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (4, "pgs: The disk is full; what was to be printed is not all there.\n")

    def broken(*given: object) -> None:
        raise KeyError("nobody thought of this")

    monkeypatch.setattr("engine.inspect.command.audit", broken)
    said = pgs("validate", "--config", config)
    assert said.code == 1
    assert said.err == "pgs: Unexpected KeyError: 'nobody thought of this' (PGS_TRACEBACK=1 shows where)\n"

"""The inspector's process, as the screen sees it."""

from __future__ import annotations

import json
import queue
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from pgs_tui.inspection.client import Answer, Ended, Inspector, command_of
from pgs_tui.inspection.shapes import Hello, RowsWindow, Sample, TokenFacts, Tokens

FAKE = Path(__file__).parents[1] / "fake_inspector.py"
ROWS = [{"turns": [["user", f"question {number}"], ["assistant", f"answer {number}"]]} for number in range(5)]
PATIENCE = 30.0

Start = Callable[..., tuple[Inspector, "queue.Queue[Answer | Ended]"]]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    rows = tmp_path / "rows.json"
    rows.write_text(json.dumps(ROWS))
    started: list[Inspector] = []

    def begin(*options: str, command: tuple[str, ...] = ()) -> tuple[Inspector, queue.Queue[Answer | Ended]]:
        news: queue.Queue[Answer | Ended] = queue.Queue()
        started.append(Inspector(command or (sys.executable, str(FAKE), str(rows), *options), news.put))
        return started[-1], news

    yield begin
    for inspector in started:
        inspector.close()


def answer(news: queue.Queue[Answer | Ended]) -> Answer:
    got = news.get(timeout=PATIENCE)
    assert isinstance(got, Answer), got
    return got


def end(news: queue.Queue[Answer | Ended]) -> Ended:
    while not isinstance(got := news.get(timeout=PATIENCE), Ended):
        pass
    return got


def test_answers_have_their_shapes(start: Start) -> None:
    inspector, news = start()
    inspector.want("hello", "hello")
    assert isinstance(answer(news).result, Hello)
    inspector.want("rows", "rows", start=1, count=2)
    window = answer(news).result
    assert isinstance(window, RowsWindow)
    assert [row.row for row in window.rows] == [1, 2]
    inspector.want("sample", "sample", row=1)
    assert isinstance(sample := answer(news).result, Sample)
    assert "answer 1" in sample.text
    inspector.want("tokens", "tokens", row=1, at=0, count=3)
    assert isinstance(tokens := answer(news).result, Tokens)
    assert len(tokens.ids) == 3
    inspector.want("token", "token", row=1, token=0)
    assert isinstance(facts := answer(news).result, TokenFacts)
    assert facts.octets == b"<|im_start|>user"


def test_the_answer_for_a_row_that_was_passed_is_dropped(start: Start) -> None:
    inspector, news = start("--slow", "sample", "0.2")
    for row in range(5):
        inspector.want("sample", "sample", row=row)
    assert answer(news).result.row == 4
    time.sleep(0.5)
    assert news.empty()


def test_an_error_is_a_sentence(start: Start) -> None:
    inspector, news = start()
    inspector.want("sample", "sample", row=99)
    assert answer(news).error == "There is no row 99."


def test_an_answer_of_another_shape_is_an_error_and_no_crash(start: Start, tmp_path: Path) -> None:
    script = tmp_path / "odd.py"
    script.write_text(
        "import sys\nprint('chatter')\nfor text in sys.stdin:\n    print('{\"id\": 1, \"result\": {}}', flush=True)\n"
    )
    inspector, news = start(command=(sys.executable, str(script)))
    inspector.want("hello", "hello")
    assert "makes no sense" in answer(news).error


def test_a_death_is_told_once_with_the_last_words(start: Start) -> None:
    inspector, news = start("--die-after", "1", "--say", "pgs: the disk is on fire", "--exit", "3")
    inspector.want("hello", "hello")
    inspector.want("audit", "audit")
    ended = end(news)
    assert ended.sentence == "the inspector ended with exit code 3: pgs: the disk is on fire"
    assert ended.reason == "pgs: the disk is on fire"
    inspector.want("hello", "hello")
    time.sleep(0.1)
    assert news.empty()


def test_the_reason_of_an_unexpected_fault_is_no_traceback(start: Start) -> None:
    _, news = start(command=(sys.executable, "-c", "raise SystemError('odd')"))
    assert end(news).reason == "the inspector ended with exit code 1: SystemError: odd"


def test_closing_ends_the_process_without_a_word(start: Start) -> None:
    inspector, news = start("--slow", "audit", "60")
    inspector.want("hello", "hello")
    answer(news)
    inspector.want("audit", "audit")
    process = psutil.Process(inspector.pid)
    inspector.close()
    process.wait(PATIENCE)
    assert news.empty()


def test_a_folder_named_engine_does_not_get_in_the_way(
    start: Start, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "engine").mkdir()
    (tmp_path / "engine" / "__init__.py").write_text("raise SystemExit('wrong engine')")
    monkeypatch.chdir(tmp_path)
    _, news = start(command=command_of("--config", "nowhere.yaml"))
    assert "nowhere.yaml" in end(news).reason

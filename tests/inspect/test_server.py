"""The server as the screen sees it: a process that answers lines."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.data.conftest import chat, write_rows
from tests.inspect.conftest import MakeConfig
from tests.inspect.serving import Server, open_server

ROWS = [
    chat("What colour is the sky?", "Blue."),
    chat("x" * 100, "ok"),
    {"messages": "nothing"},
    chat("Hi", "Hello", "More", system="Be brief."),
    *[chat(f"question {number}", f"answer {number}") for number in range(60)],
]


@pytest.fixture
def server(make_config: MakeConfig) -> Iterator[Server]:
    config = make_config(*ROWS, max_seq_length=64)
    write_rows(config.parent / "later.jsonl", chat("Any news?", "None."))
    server = open_server(config, "--data.eval_dataset", str(config.parent / "later.jsonl"))
    yield server
    assert server.leave()[0] == 0


def test_a_session(server: Server) -> None:
    hello = server.ask("hello")
    assert (hello["protocol"], hello["config"], hello["limit"], hello["rows"]) == (1, "small", 64, 65)
    assert [(source["use"], source["first_row"], source["rows"]) for source in hello["sources"]] == [
        ("training", 0, 64),
        ("evaluation", 64, 1),
    ]
    audit = server.wait_for_audit()
    assert (audit["done"], audit["total"], audit["error"]) == (65, 65, None)
    assert (audit["counts"]["rows_dropped"], audit["counts"]["rows_bad"]) == (1, 1)
    _rows_and_filters(server)
    _one_row(server)
    _bad_requests(server)


def _numbers(server: Server, **wanted: Any) -> list[int]:
    server.wait_for_audit()
    answer = server.ask("rows", **wanted)
    while answer["scanned"] < answer["total"]:
        answer = server.ask("rows", **wanted)
    return [row["row"] for row in answer["rows"]]


def _rows_and_filters(server: Server) -> None:
    answer = server.ask("rows", start=1, count=2)
    assert (answer["total"], answer["matched"]) == (65, 65)
    long, bad = answer["rows"]
    assert (long["num_tokens"], long["loss_tokens"], long["truncated"], long["severity"]) == (123, 0, True, "warning")
    assert (bad["kind"], bad["severity"], bad["line"]) == ("unknown", "error", 3)
    assert "messages" in bad["preview"]
    assert _numbers(server, flagged=True) == [1, 2, 3]
    assert _numbers(server, flag="ENDS_WITHOUT_ANSWER") == [3]
    assert _numbers(server, flag="NO_SUCH_FLAG") == []
    assert _numbers(server, role="system") == [3]
    assert _numbers(server, text="QUESTION 5") == [9, *range(54, 64)]
    assert _numbers(server, text="hello", role="system", flagged=True) == [3]
    assert server.ask("rows", flagged=True, start=1, count=1)["rows"][0]["row"] == 2
    assert server.ask("next", row=1, flagged=True) == {"row": 2, "position": 1}
    assert server.ask("next", row=3, flagged=True) == {"row": None, "position": None}
    assert server.ask("next", row=3, flagged=True, forward=False) == {"row": 2, "position": 1}
    assert server.ask("next", row=None, flagged=True, forward=False) == {"row": 3, "position": 2}
    assert server.ask("next", row=7) == {"row": 8, "position": 8}


def _one_row(server: Server) -> None:
    sample = server.ask("sample", row=0)
    assert sample["text"].startswith("<|im_start|>user\nWhat colour is the sky?<|im_end|>")
    assert sample["segments"][0][0] == 0 and sample["segments"][-1][1] == len(sample["text"])
    tokens = server.ask("tokens", row=0, start=0, count=5)
    assert (tokens["num_tokens"], tokens["loss_tokens"], tokens["kept"]) == (49, 6, 49)
    ((start, stop),) = tokens["lit"]
    assert sample["text"][start:stop] == "Blue.<|im_end|>"
    assert len(tokens["ids"]) == len(tokens["starts"]) == 5
    window = server.ask("tokens", row=0, at=start, count=2)
    assert (window["start"], window["starts"][0]) == (42, start)
    token = server.ask("token", row=0, token=42)
    assert (token["text"], token["bytes"], token["loss"], token["why"]) == ("B", "42", True, "answer")
    assert (token["turn"], token["role"], token["position"]) == (2, "assistant", 42)
    assert token["source"] == {"field": "content", "start": 0, "stop": 1}
    cut = server.ask("tokens", row=1)
    assert (cut["num_tokens"], cut["loss_tokens"], cut["kept"], cut["lit"]) == (123, 0, 0, [])
    assert cut["kept_stop"] < len(server.ask("sample", row=1)["text"])
    bad = server.ask("sample", row=2)
    assert (bad["text"], bad["segments"], [flag["severity"] for flag in bad["flags"]]) == ("", [], ["error"])
    assert server.ask("tokens", row=2)["num_tokens"] == 0


def _bad_requests(server: Server) -> None:
    for method, params, said in [
        ("shout", {}, "unknown method 'shout'; known are opening, hello"),
        ("sample", {"row": 65}, "There is no row 65; the rows are 0 to 64"),
        ("sample", {"row": -1}, "row must be a whole number from 0 on"),
        ("sample", {"row": "x"}, "row must be a whole number from 0 on"),
        ("sample", {}, "row must be a whole number from 0 on"),
        ("token", {"row": 0, "token": 49}, "there is no token 49; the row has 49"),
        ("rows", {"flagged": "yes"}, "flagged must be true or false"),
        ("rows", {"colour": "red"}, "unknown params: colour"),
        ("spike", {"step": 3}, "start the server with --run RUN"),
    ]:
        with pytest.raises(LookupError, match=said):
            server.ask(method, **params)
    assert server.say("{nope")["id"] is None
    assert "not valid JSON" in server.say("{nope")["error"]["message"]
    assert server.say('{"id": 7, "method": 3}') == {
        "id": 7,
        "error": {"message": "method must be a text and params an object"},
    }
    assert server.ask("rows", count=0)["rows"] == []


def test_it_needs_no_torch_and_keeps_stdout_for_its_answers(make_config: MakeConfig) -> None:
    config = make_config(chat("Hi", "Hello"))
    program = (
        "import os, sys\n"
        "from engine.cli import main\n"
        "import engine.inspect.server.methods as methods\n"
        "real = methods.Methods.hello\n"
        "methods.Methods.hello = lambda *given: (print('chatter'), os.write(1, b'more\\n'), real(*given))[2]\n"
        f"code = main(['inspect', '--config', {str(config)!r}, '--serve'])\n"
        "print('torch' in sys.modules and sys.modules['torch'], file=sys.stderr)\n"
        "raise SystemExit(code)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        input='{"id": 1, "method": "hello"}\n',
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0
    assert done.stdout.startswith('{"id": 1, "result"') and done.stdout.count("\n") == 1
    assert "chatter" in done.stderr and "more" in done.stderr
    assert done.stderr.rstrip().endswith("None"), "torch is hidden, not imported"


def test_it_leaves_when_nobody_reads(make_config: MakeConfig) -> None:
    server = open_server(make_config(chat("Hi", "Hello")))
    server.ask("hello")
    assert server.process.stdin is not None and server.process.stdout is not None
    server.process.stdout.close()
    server.process.stdin.write('{"id": 2, "method": "hello"}\n')
    server.process.stdin.flush()
    assert server.process.wait(20) == 0
    assert server.process.stderr is not None
    with server.process.stderr as stderr:
        assert stderr.read() == ""


def test_what_cannot_be_opened_is_said_in_one_line(make_config: MakeConfig, tmp_path: Path) -> None:
    config = make_config(chat("a", "b"))
    (tmp_path / "chats.jsonl").write_text("")
    server = open_server(config)
    out, err = server.process.communicate('{"id": 1, "method": "hello"}\n')
    assert (server.process.returncode, out) == (1, "")
    assert "There is no row to look at in" in err and err.count("\n") == 1


def test_how_far_the_opening_is_can_be_asked_while_everything_else_waits(make_config: MakeConfig) -> None:
    config = make_config(chat("Hi", "Hello"))
    program = (
        "import sys, threading\n"
        "import engine.inspect.command as command\n"
        "real, asked = command.open_inspection, threading.Event()\n"
        "def slow(loaded, needs_rows, progress):\n"
        "    progress('reading data', 300, 1000)\n"
        "    asked.wait(20)\n"
        "    return real(loaded, needs_rows, progress)\n"
        "command.open_inspection = slow\n"
        "import engine.inspect.server.opener as opener\n"
        "state = opener.Opener.state\n"
        "def told(self):\n"
        "    while self._progress[0] == 'starting':\n"
        "        pass\n"
        "    asked.set()\n"
        "    return state(self)\n"
        "opener.Opener.state = told\n"
        "from engine.cli import main\n"
        f"raise SystemExit(main(['inspect', '--config', {str(config)!r}, '--serve']))\n"
    )
    questions = ["hello", "opening", "rows"]
    said = "".join(f'{{"id": {number}, "method": "{method}"}}\n' for number, method in enumerate(questions))
    done = subprocess.run(
        [sys.executable, "-c", program], input=said, capture_output=True, text=True, check=False, timeout=60
    )
    assert (done.returncode, done.stderr) == (0, "")
    opening, hello, rows = map(json.loads, done.stdout.splitlines())
    assert opening == {
        "id": 1,
        "result": {"finished": False, "name": "reading data", "done": 300, "total": 1000, "unit": "bytes"},
    }
    assert (hello["id"], hello["result"]["rows"], rows["id"], len(rows["result"]["rows"])) == (0, 1, 2, 1)


def test_opening_is_answered_when_all_is_open(server: Server) -> None:
    server.ask("hello")
    assert server.ask("opening") == {"finished": True, "name": "open", "done": 0, "total": 0, "unit": "bytes"}

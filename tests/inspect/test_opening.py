"""Tokenizers that want more than others, and data that changes under the inspector's hands."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

from engine.config import load_config
from engine.inspect.opening import open_inspection
from engine.inspect.validation import audit
from tests.data.conftest import chat, write_rows
from tests.inspect.conftest import MakeConfig, run_apart
from tests.inspect.serving import Server, open_server

OWN_CODE = """
import torch
from transformers import PreTrainedTokenizerFast


class OwnTokenizer(PreTrainedTokenizerFast):
    zeros = torch.zeros(1)
"""


@pytest.fixture
def config_with_own_code(make_config: MakeConfig, tmp_path: Path) -> Path:
    config = make_config(chat("Hi", "Hello"))
    model = tmp_path / "model"
    (model / "own.py").write_text(OWN_CODE)
    described = json.loads((model / "tokenizer_config.json").read_text())
    described |= {"auto_map": {"AutoTokenizer": [None, "own.OwnTokenizer"]}, "tokenizer_class": "OwnTokenizer"}
    (model / "tokenizer_config.json").write_text(json.dumps(described))
    return config


def test_a_tokenizer_whose_code_asks_for_torch_gets_it(config_with_own_code: Path, tmp_path: Path) -> None:
    environment = {"HF_MODULES_CACHE": str(tmp_path / "modules")}
    options = ("--config", config_with_own_code, "--json", "--model.trust_remote_code", "true")
    said = run_apart("inspect", *options, environment=environment)
    assert (said.code, said.err) == (0, "")
    assert said.lines[0]["loss_tokens"] == 6


def test_code_of_a_tokenizer_is_not_run_unasked(config_with_own_code: Path) -> None:
    said = run_apart("inspect", "--config", config_with_own_code, stdin=-3)
    assert said.code == 1
    assert "set model.trust_remote_code: true to let it run" in said.err and said.err.count("\n") == 1


def test_a_file_that_changes_is_said_and_the_server_goes_on(make_config: MakeConfig, tmp_path: Path) -> None:
    server = open_server(make_config(*[chat("a", "b")] * 3))
    try:
        server.wait_for_audit()
        time.sleep(0.01)
        write_rows(tmp_path / "chats.jsonl", *[chat("other", "words")] * 9)
        with pytest.raises(LookupError, match="has changed"):
            server.ask("sample", row=2)
        with pytest.raises(LookupError, match="has changed"):
            _search(server, "words")
        assert server.ask("hello")["rows"] == 3
    finally:
        assert server.leave()[0] == 0


def _search(server: Server, text: str) -> None:
    for _ in range(100):
        server.ask("rows", text=text, count=0)
        time.sleep(0.02)


def test_a_template_that_refuses_rows_is_the_fault_of_the_rows(make_config: MakeConfig) -> None:
    template = "{% for m in messages %}{% if m.role == 'tool' %}{{ raise_exception('no tools') }}{% endif %}"
    template += "<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
    rows = [chat("a", "b"), {"messages": [*chat("a", "b"), {"role": "tool", "content": "x"}]}, chat("c", "d")]
    inspection = open_inspection(load_config(make_config(*rows, template=template)))
    report, _ = audit(inspection, 3, lambda done, total: None)
    assert (report.rows_kept, report.rows_bad) == (2, 1)
    (bad,) = report.bad_rows
    assert (bad.row, bad.code) == (1, "TEMPLATE_REFUSED") and "no tools" in bad.reason


def test_the_opening_tells_what_it_does_and_of_how_many_bytes(make_config: MakeConfig) -> None:
    config = make_config(*[chat("a", "b")] * 3)
    size = (config.parent / "chats.jsonl").stat().st_size
    told: list[tuple[str, int, int]] = []
    open_inspection(load_config(config), progress=lambda *said: told.append(said))
    assert ("reading data", size, size) in told
    assert told[-1] == ("loading the tokenizer", 0, 0)

"""What programs get has the very keys that docs/json.md promises."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from engine.config import load_config
from engine.inspect.opening import open_inspection
from engine.inspect.server.background import Background
from engine.inspect.server.methods import Methods
from engine.rundir import RunDir
from engine.serving.line import to_line
from tests.data.conftest import chat
from tests.inspect.conftest import MakeConfig, Pgs
from tests.inspect.shapes import assert_shape, shape_behind

ROWS = [chat("What colour is the sky?", "Blue."), {"body": 1}, chat("x" * 100, "ok"), {"text": "plain"}]


@pytest.fixture
def config(make_config: MakeConfig) -> Path:
    return make_config(*ROWS, max_seq_length=64, on_bad_row="skip")


@pytest.fixture
def methods(config: Path, tmp_path: Path) -> Iterator[Methods]:
    inspection = open_inspection(load_config(config))
    background = Background(inspection)
    (tmp_path / "spikes").mkdir()
    recorded = '{"row": 0, "input_ids": [300, 65], "has_loss": [false, true], "losses": [0, 2.5]}'.replace("300", "66")
    record = '{"v": 1, "step": 3, "loss": 2.5, "grad_norm": 1, "rows": [' + recorded + "]}"
    (tmp_path / "spikes/step-3.json").write_text(record)
    background.start()
    while not background.is_finished:
        pass
    yield Methods(inspection, background, RunDir(tmp_path))
    background.stop()


@pytest.mark.parametrize(
    ("method", "params", "words"),
    [
        ("hello", {}, "- `hello` `{}` ->"),
        ("audit", {}, "- `audit` `{}` ->"),
        ("rows", {}, "(all optional) ->"),
        ("rows", {"flagged": True}, "(all optional) ->"),
        ("next", {"row": 0, "flagged": True}, '- `next` `{"row", "forward", "text", "flag", "role", "flagged"}` ->'),
        ("next", {"row": 3}, '- `next` `{"row", "forward", "text", "flag", "role", "flagged"}` ->'),
        *[("sample", {"row": row}, '- `sample` `{"row"}` ->') for row in range(4)],
        *[("tokens", {"row": row}, '`{"row", "at", "count"}` ->') for row in range(4)],
        ("spike", {"step": 3}, '- `spike` `{"step"}` ->'),
        ("spike_sample", {"step": 3, "index": 0}, '- `spike_sample` `{"step", "index"}` ->'),
    ],
)
def test_the_server(methods: Methods, method: str, params: dict[str, Any], words: str) -> None:
    answer = json.loads(to_line(methods.answer(method, params)))
    assert_shape(answer, shape_behind(words), method)


def test_a_token_is_one_of_inspect_with_its_position(methods: Methods) -> None:
    shape = shape_behind("## `pgs inspect --json`")["tokens"][0]
    assert_shape(methods.answer("token", {"row": 0, "token": 45}), {**shape, "position": None}, "token")


def test_inspect(config: Path, pgs: Pgs) -> None:
    shape = shape_behind("## `pgs inspect --json`")
    for row in pgs("inspect", "--config", config, "--num_samples", 4, "--json").lines:
        assert_shape(row, shape, "row")


def test_validate(config: Path, pgs: Pgs) -> None:
    (report,) = pgs("validate", "--config", config, "--json").lines
    assert_shape(report, shape_behind("## `pgs validate --json`"), "report")

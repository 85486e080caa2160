"""The row below and the one above are tokenized before anybody asks for them."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import pytest

from engine.config import load_config
from engine.inspect.opening import open_inspection
from engine.inspect.server.background import Background
from engine.inspect.server.methods import Methods
from tests.data.conftest import chat
from tests.inspect.conftest import MakeConfig


def _until(true: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 30
    while not true():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.01)


@pytest.mark.parametrize(("wanted", "expected"), [({}, {4, 3, 5}), ({"text": "even"}, {4, 2, 6})])
def test_the_neighbours_in_the_list_are_ready(
    make_config: MakeConfig, wanted: dict[str, Any], expected: set[int]
) -> None:
    rows = [chat(f"{'odd' if number % 2 else 'even'} {number}", "ok") for number in range(9)]
    inspection = open_inspection(load_config(make_config(*rows)))
    background = Background(inspection)
    methods = Methods(inspection, background)
    background.start()
    try:
        _until(lambda: background.is_finished)
        _until(lambda: methods.answer("rows", wanted)["scanned"] == 9)
        examined: list[int] = []
        honest = inspection.examiner.examine

        def counting(batch: Any) -> Any:
            examined.extend(row.row for row in batch)
            return honest(batch)

        inspection.examiner.examine = counting  # type: ignore[method-assign]
        methods.answer("rows", wanted)
        methods.answer("sample", {"row": 4})
        _until(lambda: set(examined) == expected)
        for row in expected:
            assert methods.answer("tokens", {"row": row})["loss_tokens"] == len("ok") + 1
        assert len(examined) == 3, "nothing was worked out twice"
    finally:
        background.stop()


def test_at_the_ends_of_the_data_there_is_nothing_to_foresee(make_config: MakeConfig) -> None:
    inspection = open_inspection(load_config(make_config(chat("a", "b"))))
    background = Background(inspection)
    methods = Methods(inspection, background)
    background.start()
    try:
        methods.answer("sample", {"row": 0})
        _until(lambda: background.is_finished)
        assert methods.answer("tokens", {"row": 0})["num_tokens"]
    finally:
        background.stop()

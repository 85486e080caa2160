"""Chats that no plan describes are compared with transformers now and then, and what differs is never trained."""

from __future__ import annotations

from typing import Any

import pytest

from engine.data import DataError
from tests.data import templates
from tests.data.conftest import Prepare, chat

DICE = "{% if 'dice' in messages[0].content %}{{ range(99999) | random }}{% endif %}" + templates.CHATML
TOOL = {"type": "function", "function": {"name": "look", "description": "Look."}}


def row(question: str, answer: str = "b", tools: int = 1) -> dict[str, Any]:
    return {"messages": chat(question, answer), "tools": [TOOL] * tools}


def test_a_chat_that_differs_among_the_first_is_a_bad_row(prepare_rows: Prepare) -> None:
    rows = [row("dice" if number in (30, 60) else "a") for number in range(80)]
    bad = prepare_rows(*rows, template=DICE, on_bad_row="skip").data.report.bad_rows
    assert [(one.code, one.line) for one in bad] == [("TEMPLATE_NOT_FOLLOWED", 31), ("TEMPLATE_NOT_FOLLOWED", 61)]


def test_a_new_kind_of_chat_is_compared_however_late_it_comes(prepare_rows: Prepare) -> None:
    rows = [*(row("a") for _ in range(160)), row("dice", "<think>b</think>c", tools=0)]
    bad = prepare_rows(*rows, template=DICE, on_bad_row="skip").data.report.bad_rows
    assert [(one.code, one.line) for one in bad] == [("TEMPLATE_NOT_FOLLOWED", 161)]


def test_a_late_difference_in_a_kind_that_was_trusted_stops_the_run(prepare_rows: Prepare) -> None:
    rows = [row("dice" if number == 149 else "a") for number in range(160)]
    with pytest.raises(DataError, match="line 150: the chat template does not do the same for chats of the same kind"):
        prepare_rows(*rows, template=DICE, on_bad_row="skip")

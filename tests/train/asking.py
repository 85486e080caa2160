"""Lets a training in this process find commands after one of its steps."""

from __future__ import annotations

import pytest

from engine.events.control_line import Command
from engine.session.control import ControlInbox
from engine.train.commands import CommandDesk


def ask_after(monkeypatch: pytest.MonkeyPatch, step: int, *looks: list[Command]) -> None:
    """The first look after `step` finds the first of the lists, the next one the second."""
    waiting: list[list[Command]] = []
    obey_all = CommandDesk.obey_all

    def obey(desk: CommandDesk) -> None:
        if desk._trainer.progress.step == step:
            waiting.extend(looks)
        obey_all(desk)

    monkeypatch.setattr(CommandDesk, "obey_all", obey)
    monkeypatch.setattr(ControlInbox, "poll", lambda inbox: waiting.pop(0) if waiting else [])

"""What people ask of a run's engine and what it answers: from here, and from everywhere else."""

from __future__ import annotations

from collections.abc import Iterator
from threading import Lock
from typing import TYPE_CHECKING

from engine.events import Ack
from pgs_tui.drawing.lines import Role
from pgs_tui.format import plain

if TYPE_CHECKING:
    from engine.events.control_line import CommandName
    from pgs_tui.runs.source import Source

NAMES = {"checkpoint": "checkpoint", "evaluate": "evaluation"}
"""What is put before an answer that does not say itself what was asked."""
MOST_KNOWN = 1000
"""Answers that are remembered, so that none is told twice."""


class Commands:
    """`ask` from any thread; `hear` and `told` from the screen's."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._asked: dict[str, CommandName] = {}
        self._promised: dict[str, CommandName] = {}
        self._known: dict[tuple[str, bool], None] = {}
        self._heard: list[Ack] = []
        self._on_their_way = 0
        self._lock = Lock()

    def ask(self, command: CommandName, **args: float) -> None:
        """Send a command to the engine. May wait. Raises OSError."""
        with self._lock:
            self._on_their_way += 1
        try:
            command_id = self._source.send(command, **args)
            with self._lock:
                self._asked[command_id] = command
        finally:
            with self._lock:
                self._on_their_way -= 1

    def hear(self, ack: Ack) -> None:
        """The engine has answered somebody. What it has answered before is not told again."""
        if ack.id and (ack.id, ack.later) in self._known:
            return
        self._known[ack.id, ack.later] = None
        if len(self._known) > MOST_KNOWN:
            del self._known[next(iter(self._known))]
        self._heard.append(ack)

    @property
    def unanswered(self) -> CommandName | None:
        """The first command from here that has been neither done, refused nor promised."""
        with self._lock:
            return next(iter(self._asked.values()), None)

    def told(self) -> Iterator[tuple[str, Role]]:
        """What the engine has answered since the last time, to whom it may be."""
        with self._lock:  # an answer may be quicker than the news that its command has arrived
            ready = [ack for ack in self._heard if not self._on_their_way or self._is_from_here(ack)]
            self._heard = [ack for ack in self._heard if ack not in ready]
            told = [(_words(ack, self._name_of(ack)), ack.ok) for ack in ready]
        for words, ok in told:
            yield words, "good" if ok else "bad"

    def _is_from_here(self, ack: Ack) -> bool:
        return ack.id in self._asked or ack.id in self._promised

    def _name_of(self, ack: Ack) -> CommandName | None:
        """The command from here that is answered; one that is promised is answered once more."""
        name = self._asked.pop(ack.id, None) or self._promised.pop(ack.id, None)
        if ack.later and name is not None:
            self._promised[ack.id] = name
        return name


def _words(ack: Ack, from_here: CommandName | None) -> str:
    """`pause: pauses after step 40` to the one who asked, `lena@box: pauses after step 40` to the others."""
    if from_here is not None and from_here != "scale_lr":  # its answer begins with "learning rate"
        return f"{from_here}: {plain(ack.message)}"
    asked = f"{NAMES[ack.cmd]}: " if ack.cmd in NAMES else ""
    who = f"{plain(ack.by)}: " if ack.by and from_here is None else ""
    return f"{who}{asked}{plain(ack.message)}"

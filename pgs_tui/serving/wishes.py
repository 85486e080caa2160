"""Of several wishes for the same thing only the newest counts: one request on its way, the newest one waiting."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Wish:
    """A method of the process and its params, under the name of what it is wanted for."""

    topic: str
    method: str
    params: dict[str, Any] = field(default_factory=dict)


class Wishes:
    """Holding a key down asks many times a second; this keeps the process from answering what nobody wants any more."""

    def __init__(self) -> None:
        self._on_its_way: dict[str, Wish] = {}
        self._waiting: dict[str, Wish | None] = {}  # None: the answer on its way is not wanted any more

    def add(self, wish: Wish) -> Wish | None:
        """Take note of a wish; returns it if it is to be sent now."""
        if wish.topic in self._on_its_way:
            if wish == self._on_its_way[wish.topic]:
                self._waiting.pop(wish.topic, None)
            else:
                self._waiting[wish.topic] = wish
            return None
        self._on_its_way[wish.topic] = wish
        return wish

    def answered(self, topic: str) -> tuple[bool, Wish | None]:
        """The wish on its way was answered: whether the answer is still wanted, and what to send next."""
        self._on_its_way.pop(topic, None)
        if topic not in self._waiting:
            return True, None
        following = self._waiting.pop(topic)
        if following is not None:
            self._on_its_way[topic] = following
        return False, following

    def forget(self, topic: str) -> None:
        """No more interest in the topic: what is on its way will be dropped."""
        if topic in self._on_its_way:
            self._waiting[topic] = None

"""Which chats transformers renders as well, to compare.

Each text is rendered with the origin of its characters. That it is the text of transformers is proved by rendering it
twice, which takes as long again; chats alike in all that templates look at are compared at first and now and then.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from engine.data.conversation import CONTENT, Conversation, Turn
from engine.data.masking.think import THINK_CLOSE, THINK_OPEN

_FIRST_ROWS = 100
_FIRST_OF_A_KIND = 3
_EVERY = 50
_MOST_KINDS = 5000  # chats of further kinds are all compared

Kind = tuple[Any, ...]


class Comparisons:
    """Decides which chats are compared, and remembers of which kinds some were not."""

    def __init__(self) -> None:
        self._chats = 0
        self._seen: Counter[Kind] = Counter()
        self._passed: set[Kind] = set()
        self._differing: set[Kind] = set()

    def is_due(self, conversation: Conversation) -> bool:
        """Whether this chat, the next one, is to be compared."""
        kind = _kind_of(conversation)
        self._chats += 1
        if kind not in self._seen and len(self._seen) >= _MOST_KINDS:
            return True
        self._seen[kind] += 1
        is_first = self._chats <= _FIRST_ROWS or self._seen[kind] <= _FIRST_OF_A_KIND
        if is_first or self._chats % _EVERY == 0 or kind in self._differing:
            return True
        self._passed.add(kind)
        return False

    def found_different(self, conversation: Conversation) -> bool:
        """Compare all chats of this one's kind from now on; whether all were, so far."""
        kind = _kind_of(conversation)
        self._differing.add(kind)
        return kind not in self._passed


def _kind_of(conversation: Conversation) -> Kind:
    return (bool(conversation.tools), *map(_kind_of_turn, conversation.turns))


def _kind_of_turn(turn: Turn) -> Kind:
    """Role, keys, and what templates look for in the text."""
    content = turn.message.get(CONTENT)
    marks = (THINK_OPEN in turn.content, THINK_CLOSE in turn.content) if turn.is_answer else ()
    return (turn.role, type(content), bool(turn.content.strip()), len(turn.tool_calls), *turn.message, *marks)

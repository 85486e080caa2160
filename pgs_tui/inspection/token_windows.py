"""The tokens of one row, as far as they have been fetched: windows of ids and of places in the text."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from typing import NamedTuple

from pgs_tui.inspection.shapes import Tokens

KEPT_WINDOWS = 32


class Token(NamedTuple):
    """A token: its number in the row, its id, and the characters that it covers.

    Tokens that are parts of one character all cover that character; `part` of `parts` says which of them this is.
    """

    number: int
    id: int
    start: int
    stop: int
    part: int = 1
    parts: int = 1
    loss: float | None = None


class TokenWindows:
    """Fill it with `add`. Whatever is not there yet is None; `text_stop` is the length of the text."""

    def __init__(self, text_stop: int) -> None:
        self._text_stop = text_stop
        self._windows: list[Tokens] = []

    @property
    def newest(self) -> Tokens | None:
        """The window that came last, which also speaks for the row as a whole."""
        return self._windows[-1] if self._windows else None

    def add(self, window: Tokens) -> None:
        """Keep a window, and forget the oldest one when there are many."""
        self._windows = [one for one in self._windows if one.start != window.start or one.ids != window.ids]
        self._windows = [*self._windows[-KEPT_WINDOWS + 1 :], window]

    def token(self, number: int) -> Token | None:
        """The token of this number."""
        for window in reversed(self._windows):
            place = number - window.start
            if 0 <= place < len(window.ids) and self._is_whole(window, place):
                return self._token(window, place)
        return None

    def token_at(self, position: int) -> Token | None:
        """The first token that covers the character."""
        for window in reversed(self._windows):
            place = bisect_right(window.starts, position) - 1
            if place < 0 or not self._is_whole(window, place):
                continue
            return self._token(window, bisect_left(window.starts, window.starts[place]))
        return None

    def between(self, start: int, stop: int) -> list[Token] | None:
        """The tokens that cover the characters `start` up to `stop`."""
        if start >= stop:
            return []
        for window in reversed(self._windows):
            first, last = bisect_right(window.starts, start) - 1, bisect_left(window.starts, stop) - 1
            if first >= 0 and self._is_whole(window, last):
                first = bisect_left(window.starts, window.starts[first])
                return [self._token(window, place) for place in range(first, last + 1)]
        return None

    def _is_whole(self, window: Tokens, place: int) -> bool:
        """Whether the window says where the token ends: it goes on behind it, or it is the last one of all."""
        if window.start + len(window.ids) >= window.num_tokens:
            return place < len(window.ids)
        return window.starts[place] < window.starts[-1]

    def _token(self, window: Tokens, place: int) -> Token:
        start = window.starts[place]
        first, behind = bisect_left(window.starts, start), bisect_right(window.starts, start)
        stop = window.starts[behind] if behind < len(window.starts) else self._text_stop
        parts = behind - first
        loss = window.losses[place] if place < len(window.losses) else None
        return Token(window.start + place, window.ids[place], start, stop, place - first + 1, parts, loss)

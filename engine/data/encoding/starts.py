"""Where in the text tokens begin, without a Python object for each token."""

from __future__ import annotations

from abc import ABC, abstractmethod
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any, overload

from tokenizers import Encoding


class Starts(Sequence[int], ABC):
    """The place in the text where each token begins, in ascending order; listed when first needed."""

    @abstractmethod
    def _listed(self) -> list[int]:
        """All places."""

    @cached_property
    def _all(self) -> list[int]:
        return self._listed()

    @overload
    def __getitem__(self, index: int) -> int: ...
    @overload
    def __getitem__(self, index: slice) -> list[int]: ...
    def __getitem__(self, index: int | slice) -> int | list[int]:
        return self._all[index]

    def __iter__(self) -> Iterator[int]:
        return iter(self._all)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Starts | list) and self._all == list(other)

    __hash__ = None  # type: ignore[assignment]  # as a list


class TokenStarts(Starts):
    """The places of the tokens of an encoding.

    To divide the tokens among stretches of the text takes a
    look at a few tokens only.
    """

    def __init__(self, encoding: Encoding) -> None:
        self._encoding = encoding

    def _listed(self) -> list[int]:
        return [start for start, _ in self._encoding.offsets]

    def __len__(self) -> int:
        return len(self._encoding)

    def tokens_before(self, place: int) -> int:
        """How many tokens begin before a place in the text: `bisect_left` over all the starts."""
        token = self._encoding.char_to_token(place)
        place_of_token: Any = self._encoding.token_to_chars  # asked often, so without a function around it
        if token is None:
            is_behind_all = len(self) == 0 or place > place_of(self._encoding, len(self) - 1)[0]
            return len(self) if is_behind_all else bisect_left(self._all, place)
        if place_of_token(token)[0] == place and (token == 0 or place_of_token(token - 1)[0] < place):
            return int(token)
        return bisect_left(self._all, place)


def place_of(encoding: Encoding, token: int) -> tuple[int, int]:
    """Start and stop of a token in the text."""
    place: tuple[int, int] | None = encoding.token_to_chars(token)
    assert place is not None, "every token of a text that was encoded alone has its place there"
    return place

"""What a request asks for, checked."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


class RequestError(ValueError):
    """A request that cannot be answered; the message is for the one who asks."""


class Params:
    """The params of one request. Every getter raises RequestError when the value is of another type."""

    def __init__(self, given: Mapping[str, Any], known: tuple[str, ...]) -> None:
        unknown = sorted(set(given) - set(known))
        if unknown:
            raise RequestError(f"unknown params: {', '.join(unknown)}; known are {', '.join(known) or 'none'}")
        self._given = given

    def count(self, name: str, default: int | None = None, most: int | None = None) -> int:
        """A whole number from 0 on; larger ones than `most` are taken as `most`."""
        value = self._given.get(name, default)
        if isinstance(value, bool) or not isinstance(value, int) or value < 0:
            raise RequestError(f"{name} must be a whole number from 0 on, found {value!r}")
        return value if most is None else min(value, most)

    def optional_count(self, name: str) -> int | None:
        return None if self._given.get(name) is None else self.count(name)

    def text(self, name: str) -> str | None:
        """A text, None for an empty one or none."""
        value = self._given.get(name)
        if value is not None and not isinstance(value, str):
            raise RequestError(f"{name} must be a text, found {value!r}")
        return value or None

    def flag(self, name: str, default: bool = False) -> bool:
        value = self._given.get(name)
        if value is not None and not isinstance(value, bool):
            raise RequestError(f"{name} must be true or false, found {value!r}")
        return default if value is None else value

    def needed_text(self, name: str) -> str:
        """A text that must be there."""
        value = self.text(name)
        if value is None:
            raise RequestError(f"{name} is needed, a text")
        return value

    def size(self, name: str) -> float | None:
        """A number above 0, None for none."""
        value = self._given.get(name)
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < float("inf"):
            raise RequestError(f"{name} must be a number above 0, found {value!r}")
        return float(value)

    def mapping(self, name: str) -> Mapping[str, Any]:
        """An object, empty for none."""
        value = self._given.get(name)
        if value is not None and not isinstance(value, dict):
            raise RequestError(f"{name} must be an object, found {value!r}")
        return value or {}

"""The shapes that docs/json.md promises, and whether a value has one of them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

DOC = (Path(__file__).parents[2] / "docs/json.md").read_text(encoding="utf-8")


def _names(text: str) -> frozenset[str]:
    return frozenset(re.findall(r"\w+", text))


TEXTS = _names("file code severity message text bytes kind preview config model path split use reason why")
COUNTS = _names(
    """row line num_tokens loss_tokens id total matched scanned rows_read kept start protocol limit first_row done count
    kept_stop position longest up_to index step"""
)
FLAGS = _names("truncated finished ok")
MAY_BE_NULL = _names(
    """turn role source fill error severity num_tokens loss_tokens truncated column row position file line mean_loss
    num_tokens"""
)


def shape_behind(words: str) -> Any:
    """The first shape in the documentation behind these words."""
    start = DOC.index(words) + len(words)
    start = DOC.index("`{", start) + 1
    text = " ".join(DOC[start : DOC.index("`", start)].split())
    tokens = re.findall(r'"[^"]+"|[\w.]+|[{}\[\]:,]', text)
    return _value(tokens)


def _value(tokens: list[str]) -> Any:
    """Objects as dicts (key "*" for any key), lists as lists of one, all else as None."""
    token = tokens.pop(0)
    if token == "{":
        found: dict[str, Any] = {}
        while tokens[0] != "}":
            key = tokens.pop(0)
            key = key.strip('"') if key.startswith('"') else "*"
            found[key] = None
            if tokens[0] == ":":
                tokens.pop(0)
                found[key] = _value(tokens)
            if tokens[0] == ",":
                tokens.pop(0)
        tokens.pop(0)
        return found
    if token == "[":
        inner = []
        while tokens[0] != "]":
            if tokens[0] == "," or tokens[0] == "...":
                tokens.pop(0)
            else:
                inner.append(_value(tokens))
        tokens.pop(0)
        return inner
    return None


def assert_shape(value: Any, shape: Any, name: str = "answer") -> None:
    """The value has the keys of the shape, no others, and the types that their names promise."""
    if isinstance(shape, dict) and value is None and name in MAY_BE_NULL:
        return
    if isinstance(shape, dict):
        assert isinstance(value, dict), name
        if list(shape) == ["*"]:
            for key, item in value.items():
                assert isinstance(key, str)
                assert_shape(item, shape["*"], name)
            return
        assert list(value) == list(shape), f"{name}: {list(value)} instead of {list(shape)}"
        for key, item in value.items():
            assert_shape(item, shape[key], key)
    elif isinstance(shape, list):
        assert isinstance(value, list), name
        for item in value:
            if len(shape) == 1:
                assert_shape(item, shape[0], f"one of {name}")
            elif shape:
                assert len(item) == len(shape) if isinstance(item, list) else True, name
    else:
        _assert_type(value, name)


def _assert_type(value: Any, name: str) -> None:
    if value is None:
        assert name in MAY_BE_NULL or name.startswith("one of"), f"{name} is null"
    elif name in TEXTS:
        assert isinstance(value, str), f"{name}: {value!r}"
    elif name in FLAGS:
        assert isinstance(value, bool), f"{name}: {value!r}"
    elif name in COUNTS:
        assert isinstance(value, int) and not isinstance(value, bool), f"{name}: {value!r}"

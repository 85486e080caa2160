"""Names for the strings inside a message or a tool: `content`, `content.0.text`, `tool_calls.0.function.name`.

A dot, a hash or a backslash that belongs to a key is written with a backslash before it, so that a path means one
place. A hash at the end names the key itself: `tool_calls.0.function.arguments.city#` is the word `city`. Only keys
that the data chooses have such a path: those of arguments and of tools.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

ARGUMENTS = "arguments"

_WITH_A_MEANING = re.compile(r"[\\.#]")


def child_path(path: str, key: Any) -> str:
    """The path of what stands under `key` in the value at `path`."""
    name = str(key)
    if _WITH_A_MEANING.search(name):
        name = _WITH_A_MEANING.sub(r"\\\g<0>", name)
    return f"{path}.{name}" if path else name


def mapped_strings(value: Any, change: Callable[[str, str], str], path: str = "", keys: bool = False) -> Any:
    """A copy of `value` in which each string became `change(string, path)`; with `keys` those of mappings as well."""
    if isinstance(value, str):
        return change(value, path)
    if isinstance(value, Mapping):
        return {
            change(key, f"{child_path(path, key)}#") if keys and isinstance(key, str) else key: mapped_strings(
                item, change, child_path(path, key), keys or key == ARGUMENTS
            )
            for key, item in value.items()
        }
    if isinstance(value, list | tuple):
        return [mapped_strings(item, change, child_path(path, number), keys) for number, item in enumerate(value)]
    return value


def strings_of(value: Any, path: str = "", keys: bool = False) -> Iterator[tuple[str, str]]:
    """Each string in `value` with its path, and with `keys` the keys of mappings as well."""
    if isinstance(value, str):
        yield path, value
    elif isinstance(value, Mapping):
        for key, item in value.items():
            below = child_path(path, key)
            if keys:
                yield f"{below}#", str(key)
            yield from strings_of(item, below, keys or key == ARGUMENTS)
    elif isinstance(value, list | tuple):
        for number, item in enumerate(value):
            yield from strings_of(item, child_path(path, number), keys)

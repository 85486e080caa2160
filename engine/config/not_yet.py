"""Keys whose machinery does not exist yet. They are refused at any value but the neutral one, never silently ignored.

A row leaves this table in the change that brings its machinery.
"""

from __future__ import annotations

from collections.abc import Iterator
from textwrap import shorten

from engine.config.errors import Problem
from engine.config.schema import Config
from engine.config.wording import yaml_text

LONGEST_FOUND = 60

# Key -> the values that are available now.
AVAILABLE_NOW: dict[str, tuple[object, ...]] = {
    "parallel.fsdp": (False,),
    "logging.trackers": ((),),
}


def is_available(key: str) -> bool:
    """Whether the machinery behind a key exists in full."""
    return key not in AVAILABLE_NOW


def not_available(key: str, found: str | None = None) -> Problem:
    """The refusal of a value whose machinery does not exist yet."""
    found = shorten(found, LONGEST_FOUND, placeholder=" ...]") if found else None
    subject = f"{found} is" if found else "this is"
    return Problem(key, f"{subject} not available yet", found=found, allowed=allowed_now(key))


def allowed_now(key: str) -> str | None:
    """What a key takes now, where that is less than its type allows."""
    return " or ".join(yaml_text(value) for value in AVAILABLE_NOW.get(key, ())) or None


def find_not_available(config: Config) -> Iterator[Problem]:
    """A refusal for every value that asks for machinery which does not exist yet."""
    for key, neutral in AVAILABLE_NOW.items():
        value = value_of(config, key)
        if value not in neutral:
            yield not_available(key, yaml_text(value))


def value_of(config: Config, key: str) -> object:
    """The value behind a full key path."""
    section, _, name = key.partition(".")
    return getattr(getattr(config, section), name)

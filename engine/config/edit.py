"""Changes values in the YAML text of a config; every other line, comment and space stays as its author wrote it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from engine.config.collect import ALTERNATIVES, unknown_key
from engine.config.editing.change import new_node, says_nothing, values_of, with_value
from engine.config.editing.files import free_name, rebased, write_text
from engine.config.errors import ConfigError
from engine.config.kinds import kinds
from engine.config.load import load_text
from engine.config.yaml_source import read_text

__all__ = ["changed_text", "free_name", "save_changed"]

_UNNAMED = Path("config.yaml")


def changed_text(text: str, changes: Mapping[str, object], path: Path = _UNNAMED) -> str:
    """The YAML text with new values for full keys such as `train.learning_rate`; None is written as null.

    A value keeps the comment behind it; a key that is not there comes at the end of its section, or where the section
    has it commented out; a section that is not there at the end of the text. As with flags, a key replaces the other
    one that says the same thing (`train.warmup_steps` and `train.warmup_ratio`). `path` is what messages call it, and
    its folder where relative paths start.

    Raises ConfigError for a text that is no config, for an unknown key, and when the result would not load (whether the
    files that it names exist is not asked).
    """
    if unknown := [unknown_key(key, None) for key in changes if key not in kinds()]:
        raise ConfigError(unknown)
    for key, value in (_given_way(text, changes, str(path)) | dict(changes)).items():
        text = with_value(text, key, value, str(path))
    load_text(text, path)
    return text


def save_changed(path: Path, changes: Mapping[str, object], target: Path, overwrite: bool = False) -> Path:
    """Writes the config at `path` with new values (see `changed_text`) to `target`, and returns that path.

    Relative paths in it, and that of the JSON schema for editors, are written anew where `target` lies in another
    folder. The file appears in one move. Raises ConfigError when the result would not load, cannot be written, or when
    `target` exists and `overwrite` is false.
    """
    text = rebased(read_text(path), path, target)
    write_text(target, changed_text(text, changes, target), overwrite)
    return target


def _given_way(text: str, changes: Mapping[str, object], source: str) -> dict[str, object]:
    """The keys that have to be null now because a changed one says the same thing in another way."""
    written = values_of(text, source)
    return {
        other: None
        for key, value in changes.items()
        if (other := ALTERNATIVES.get(key)) is not None
        and other in written
        and other not in changes
        and not says_nothing(written[other])
        and not says_nothing(new_node(key, value))
    }

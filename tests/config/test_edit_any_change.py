"""Any change of any shipped config: the new text loads to what flags would have given, and all else stays as it was."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from engine.config import ConfigError, load_config
from engine.config.collect import ALTERNATIVES
from engine.config.edit import changed_text
from engine.config.kinds import Kind, kinds
from engine.config.load import load_text
from engine.config.not_yet import AVAILABLE_NOW
from tests.config.test_dump import NASTY_TEXTS

SHIPPED = sorted(Path("configs").rglob("*.yaml"))
TEXTS = st.sampled_from([f"/data/{text}" for text in NASTY_TEXTS])


def values_of(kind: Kind) -> st.SearchStrategy[object]:
    """Values in Python that a key of this kind takes."""
    if kind.item and kind.item.section:
        return st.lists(st.fixed_dictionaries({"path": TEXTS}, optional={"weight": st.sampled_from([0.5, 2.0])}))
    if kind.item and kind.length:
        return st.lists(st.sampled_from([0.9, 0.95, 0.999]), min_size=kind.length, max_size=kind.length)
    numbers = st.sampled_from([1e-5, 3e-7, 0.1, 0.05, 1e-4, 0.3])
    alternatives: list[st.SearchStrategy[object]] = [
        *([st.none()] if kind.nullable else []),
        *([st.sampled_from(kind.choices)] if kind.choices else []),
        *([st.booleans()] if kind.boolean else []),
        *([st.integers(int(kind.bounds.least or 1), 9000)] if kind.whole else []),
        *([numbers] if kind.number else []),
        *([TEXTS] if kind.text else []),
        *([st.lists(TEXTS, max_size=3)] if kind.item else []),
    ]
    return st.one_of(alternatives)


def changes() -> st.SearchStrategy[dict[str, object]]:
    keys = [key for key in kinds() if key not in AVAILABLE_NOW]
    return st.lists(st.sampled_from(keys), min_size=1, max_size=3, unique=True).flatmap(
        lambda chosen: st.fixed_dictionaries({key: values_of(kinds()[key]) for key in chosen})
    )


def flags_of(changes: dict[str, object]) -> list[str]:
    return [f"--{key}={json.dumps(value)}" for key, value in changes.items()]


def lines_left_alone(text: str, changes: dict[str, object]) -> list[str]:
    """The lines that speak of none of the changed keys, nor of those that give way to them."""
    keys = {*changes, *(ALTERNATIVES[key] for key in changes if key in ALTERNATIVES)}
    about_them = re.compile(rf"\s*(# *)?({'|'.join(key.partition('.')[2] for key in keys)}):")
    return [line for line in text.splitlines(keepends=True) if not about_them.match(line)]


def is_in_order(lines: list[str], among: list[str]) -> bool:
    rest = iter(among)
    return all(line in rest for line in lines)


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.stem)
@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(changes=changes())
def test_a_changed_config_is_what_flags_would_make_of_it(path: Path, changes: dict[str, object]) -> None:
    text = path.read_text()
    try:
        wanted = load_config(path, flags_of(changes), check_files=False).config
    except ConfigError:
        with pytest.raises(ConfigError):
            changed_text(text, changes, path)
        return
    changed = changed_text(text, changes, path)
    assert load_text(changed, path).config == wanted
    assert is_in_order(lines_left_alone(text, changes), changed.splitlines(keepends=True))
    assert len(changed.splitlines()) <= len(text.splitlines()) + 3 * len(changes), "a line a key, a new section takes 3"
    assert changed_text(changed, changes, path) == changed, "what is said already is not said again"

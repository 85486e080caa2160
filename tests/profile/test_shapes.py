"""What programs get has the very keys that docs/json.md promises."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from engine.profile.as_json import profile_as_json
from engine.profile.document import Profile
from engine.profile.server.methods import Methods
from engine.serving.line import to_line
from tests.inspect.shapes import DOC, shape_behind
from tests.profile.small_profile import write_config
from tests.profile.test_as_text import ALL, PROFILE

NAMED_BY_CONTENT = {"parts", "components", "keys"}


def assert_keys(value: Any, shape: Any, name: str = "answer") -> None:
    """The keys of the shape in its order, and no others; null may stand for any object."""
    if isinstance(shape, dict) and isinstance(value, dict):
        if name in NAMED_BY_CONTENT:
            return
        assert list(value) == list(shape), name
        for key, item in value.items():
            assert_keys(item, shape[key], key)
    elif isinstance(shape, list):
        assert isinstance(value, list), name
        for item in value:
            assert_keys(item, shape[0], name)
    else:
        assert not isinstance(value, dict | list), name


@pytest.mark.parametrize("profile", [*ALL, replace(PROFILE, changes=())])
def test_the_profile(profile: Profile) -> None:
    shape = shape_behind("## `pgs profile --json`")
    found = profile_as_json(profile)
    assert_keys(found, shape)
    assert set(shape["gpu"]) >= {"name", "total_gib", "free_gib", "others", "note"}
    to_line(found)  # strict JSON


@pytest.mark.usefixtures("no_gpu")
def test_the_server(tmp_path: Path) -> None:
    methods = Methods()
    for method in ("measuring", "stop_measuring"):
        assert_keys(methods.answer(method, {}), shape_behind("- `measuring` `{}` ->"))
    assert '- `gpus` `{}` -> `[{"name", "memory_gib", "here"}]`' in DOC
    assert all(list(gpu) == ["name", "memory_gib", "here"] for gpu in methods.answer("gpus", {}))
    found = methods.answer("estimate", {"config": str(write_config(tmp_path)), "gpu": "4090"})
    assert_keys(found, shape_behind("## `pgs profile --json`"))
    methods.close()

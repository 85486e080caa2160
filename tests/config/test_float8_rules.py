"""What float8 allows beside it."""

from __future__ import annotations

import pytest

from engine.config import ConfigError
from tests.config.conftest import Load

FLOAT8 = "--memory.float8_training=true"


def test_float32_weights_are_refused(load: Load) -> None:
    with pytest.raises(ConfigError) as error:
        load("", FLOAT8, "--model.torch_dtype=float32")
    assert "memory.float8_training" in str(error.value) and "stands in for bfloat16" in str(error.value)
    assert "set model.torch_dtype: bfloat16" in str(error.value)


def test_it_is_said_that_it_pays_when_compiled(load: Load) -> None:
    [note] = [note for note in load("", FLOAT8).notes if "memory.float8_training" in note]
    assert "set model.compile: true" in note
    assert not [note for note in load("").notes if "memory.float8_training" in note]

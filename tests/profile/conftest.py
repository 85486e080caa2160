"""Configs over small data, and ways to ask about them: those of `pgs inspect`."""

from __future__ import annotations

import pytest

from engine.profile.cards import Cards
from tests.inspect.conftest import make_config, pgs

__all__ = ["make_config", "no_gpu", "pgs"]


@pytest.fixture
def no_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    """As on a machine without a driver."""
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    monkeypatch.setattr("engine.profile.command.look", lambda: Cards((), "no GPU is known here: there is no driver"))

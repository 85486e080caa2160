"""Configs over small data, and ways to ask about them: those of `pgs inspect`."""

from tests.inspect.conftest import make_config, pgs

__all__ = ["make_config", "pgs"]

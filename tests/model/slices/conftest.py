"""The small models of the tests of recomputation."""

from tests.model.recompute.conftest import build, one_thread

__all__ = ["build", "one_thread"]

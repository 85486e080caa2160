from __future__ import annotations

import pytest

from tests.bench.training.utilisation import utilisation


def test_utilisation_is_a_share_of_the_peak() -> None:
    assert utilisation(25e9, 18_000, 900e12) == pytest.approx(0.5)
    assert utilisation(None, 18_000, 900e12) is None
    assert utilisation(25e9, 18_000, None) is None

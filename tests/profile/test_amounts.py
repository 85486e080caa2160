from __future__ import annotations

import pytest

from engine.profile.amounts import dollars, duration, operations, setting
from engine.profile.flags import flags_of


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0.314, "0.31 s"),
        (9.96, "10 s"),
        (42.4, "42 s"),
        (59.9, "1 min"),
        (61, "1 min 1 s"),
        (3600, "1 h"),
        (3661, "1 h 1 min"),
        (90_000, "1 d 1 h"),
        (9_000_000, "104 d 4 h"),
    ],
)
def test_durations(seconds: float, words: str) -> None:
    assert duration(seconds) == words


def test_operations_and_money() -> None:
    assert operations(1.06e14) == "106 TFLOP"
    assert operations(2.1e15) == "2.1 PFLOP"
    assert operations(42) == "0.042 kFLOP"
    assert (dollars(0.123), dollars(99.999), dollars(1234.5)) == ("$0.12", "$100.00", "$1,234")


def test_values_are_written_as_a_config_has_them() -> None:
    assert [setting(value) for value in (True, None, 3e-6, "full")] == ["true", "null", "3e-06", "full"]
    assert flags_of({"train.epochs": 2, "data.dataset": ["a", "b"]}) == [
        "--train.epochs=2",
        '--data.dataset=["a", "b"]',
    ]

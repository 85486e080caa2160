"""Runs of one config have names that a person can tell apart."""

from __future__ import annotations

from pathlib import Path

from pgs_tui.listing.row import RunRow
from pgs_tui.listing.told_apart import told_apart
from tests.listing.test_filtering import row


def started(folder: str, name: str) -> RunRow:
    return row(name, path=Path("runs") / folder)


def names(*rows: RunRow) -> list[str]:
    return list(told_apart(rows).values())


def test_a_name_that_is_there_once_is_left_as_it_is() -> None:
    runs = (started("20261130-171300-tiny", "tiny"), started("20261130-171400-large", "large"))
    assert names(*runs) == ["tiny", "large"]


def test_of_one_day_the_time_tells_them_apart() -> None:
    runs = (started("20261130-171300-tiny", "tiny"), started("20261130-090501-tiny", "tiny"))
    assert names(*runs) == ["tiny 17:13", "tiny 09:05"]


def test_of_several_days_the_day_too() -> None:
    runs = (started("20261130-171300-tiny", "tiny"), started("20261129-171300-tiny", "tiny"))
    assert names(*runs) == ["tiny 11-30 17:13", "tiny 11-29 17:13"]


def test_a_folder_of_another_form_is_told_by_its_name() -> None:
    runs = (started("20261130-171300-tiny", "tiny"), started("second try", "tiny"))
    assert names(*runs)[1] == "second try"

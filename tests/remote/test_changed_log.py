"""A log on another machine that is torn, emptied, replaced or written anew is read as one here would be."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from engine.events import Alert
from engine.events.growing import RESTARTED
from pgs_tui.remote import fetching, live_log
from pgs_tui.remote.facts import FileFacts
from pgs_tui.remote.mirror import Mirror
from pgs_tui.remote.same_log import change_of
from tests.remote.watching import FarRun, Watched, line_of, steps

Watch = Callable[[Path], Watched]


@pytest.fixture(autouse=True)
def _looks_often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fetching, "CHECK_SECONDS", 0.2)


@pytest.fixture
def far(tmp_path: Path) -> FarRun:
    return FarRun(tmp_path / "run", steps(1, 3))


@pytest.fixture
def seen(far: FarRun, watch: Watch) -> Watched:
    watched = watch(far.run.path)
    watched.until(lambda: watched.steps == [1, 2, 3])
    return watched


def test_a_line_read_while_it_is_written_is_one_event(far: FarRun, seen: Watched) -> None:
    torn = steps(4, 4)
    far.write(torn[:40])
    seen.until(lambda: seen.source._fetching._log._live.received == far.run.events.stat().st_size)
    assert seen.steps == [1, 2, 3]
    far.write(torn[40:] + steps(5, 5))
    seen.until(lambda: seen.steps == [1, 2, 3, 4, 5])
    assert seen.notes == []


def test_a_letter_may_be_cut_anywhere(far: FarRun, seen: Watched) -> None:
    alert = Alert(id="a", state="open", code="SPIKE", severity="warning", meaning="café 漢")
    for byte in line_of(alert):
        far.write(bytes([byte]))
    seen.until(lambda: len(seen.events) == 4)
    told = seen.events[-1].event
    assert isinstance(told, Alert) and told.meaning == "café 漢"


def test_a_log_that_is_emptied_in_place_is_read_from_its_start(far: FarRun, seen: Watched) -> None:
    os.truncate(far.run.events, 0)
    far.write(steps(7, 8))
    seen.until(lambda: seen.steps == [1, 2, 3, 7, 8])
    assert seen.notes == [RESTARTED["emptied"]]
    assert sum(update.restarted for update in seen.updates) == 1
    far.write(steps(9, 9))
    seen.until(lambda: seen.steps[-1] == 9)


def test_a_log_that_grows_past_the_old_place_at_once_shows_no_wrong_event(far: FarRun, seen: Watched) -> None:
    far.run.events.write_bytes(steps(11, 30))
    seen.until(lambda: seen.steps[-20:] == list(range(11, 31)))
    assert seen.notes[-1] in (RESTARTED["emptied"], RESTARTED["rewritten"])
    assert all("skipped a line" in note for note in seen.notes[:-1]), "the rest of a line of the new log"
    assert set(seen.steps) == {1, 2, 3, *range(11, 31)}


def test_a_log_that_is_replaced_is_read_anew(far: FarRun, seen: Watched) -> None:
    other = far.run.path / "other"
    other.write_bytes(steps(21, 29))
    other.replace(far.run.events)
    seen.until(lambda: seen.steps == [1, 2, 3, *range(21, 30)])
    assert seen.notes == [RESTARTED["replaced"]]
    far.write(steps(30, 30))
    seen.until(lambda: seen.steps[-1] == 30)


def test_a_copy_in_place_of_the_log_is_the_same_log(far: FarRun, seen: Watched) -> None:
    other = far.run.path / "other"
    shutil.copy(far.run.events, other)
    other.replace(far.run.events)
    far.write(steps(4, 5))
    seen.until(lambda: seen.steps == [1, 2, 3, 4, 5])
    assert seen.notes == []


def test_a_log_that_is_taken_away_is_trouble_until_it_is_back(far: FarRun, seen: Watched) -> None:
    aside = far.run.path / "aside"
    far.run.events.rename(aside)
    seen.until(lambda: seen.now.trouble is not None)
    assert seen.now.trouble == f"No such file or directory: {far.run.events}"
    aside.rename(far.run.events)
    far.write(steps(4, 4))
    seen.until(lambda: seen.now.trouble is None and seen.steps == [1, 2, 3, 4])


def test_a_log_that_is_emptied_while_its_past_is_fetched(tmp_path: Path, watch: Watch) -> None:
    far = FarRun(tmp_path / "long", steps(1, 3000))
    seen = watch(far.run.path)
    seen.until(lambda: bool(seen.shown))
    os.truncate(far.run.events, 0)
    far.write(steps(5001, 5003))
    seen.until(lambda: seen.steps[-3:] == [5001, 5002, 5003] and not seen.now.loading)
    assert RESTARTED["emptied"] in seen.notes
    read_before = seen.steps[:-3]
    assert read_before == list(range(1, len(read_before) + 1))


def test_what_no_event_begins_with_is_read_once_the_log_was_found_to_be_the_same(far: FarRun, seen: Watched) -> None:
    far.write(b"\0\0\0\n" + steps(4, 4))
    seen.until(lambda: seen.steps == [1, 2, 3, 4])
    (note,) = seen.notes
    assert note.startswith("skipped a line that is no event")


def test_many_lines_that_no_event_begins_with_need_one_look(far: FarRun, seen: Watched) -> None:
    before = seen.source._fetching._log._live
    far.write(b"a line\n" * 5000 + steps(4, 4))
    seen.until(lambda: seen.steps == [1, 2, 3, 4])
    assert seen.source._fetching._log._live is not before


def test_a_line_without_an_end_does_not_fill_the_memory(
    far: FarRun, seen: Watched, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(live_log, "LONGEST_LINE", 300_000)
    long = line_of(Alert(id="a", state="open", code="SPIKE", severity="warning", meaning="x" * 250_000))
    far.write(long + steps(4, 4))
    seen.until(lambda: seen.steps == [1, 2, 3, 4])
    far.write(b'{"x": "' + b"x" * 400_000)
    seen.until(lambda: seen.states[-1] == "refused")
    assert seen.now.link is not None and "a line of its log is longer than" in seen.now.link.why


def test_what_came_while_it_was_looked_at_is_no_sign_of_a_change(tmp_path: Path) -> None:
    mirror = Mirror(tmp_path)
    mirror.put(0, b"0123456789")
    looked_at_before = FileFacts(size=7, inode=None)
    assert change_of(mirror, 5, looked_at_before, [(0, b"01234")]) is None
    assert change_of(mirror, 8, looked_at_before, [(0, b"01234")]) == "emptied"
    assert change_of(mirror, 5, looked_at_before, [(0, b"01x34")]) == "rewritten"
    mirror.close()

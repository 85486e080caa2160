"""The mirror of a log: every byte at its own place, and what is not there is known not to be."""

import errno
import os
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.events import Batch, EventReader, encode
from engine.events.growing import RESTARTED, Restart
from pgs_tui.remote.address import Address
from pgs_tui.remote.mirror import Mirror, Original
from pgs_tui.remote.mirrors import own_mirror
from pgs_tui.remote.ranges import Ranges
from tests.pgs_tui.making import step

ORIGINAL = Original(7, b'{"v":1')


@given(st.lists(st.tuples(st.integers(0, 40), st.integers(0, 40)), max_size=12))
def test_ranges_are_the_set_of_what_was_added(added: list[tuple[int, int]]) -> None:
    ranges = Ranges()
    there: set[int] = set()
    for begin, end in added:
        ranges.add(begin, end)
        there |= set(range(begin, end))
    assert {place for begin, end in ranges for place in range(begin, end)} == there
    found = list(ranges)
    assert all(one[1] < next_one[0] for one, next_one in pairwise(found))
    for place in range(42):
        missing = next(one for one in range(place, 99) if one not in there)
        assert ranges.end_of(place) == missing
        assert ranges.next_after(place) == min((one for one in there if one >= place), default=None)
        assert ranges.have(0, place) == (set(range(place)) <= there)


def test_bytes_stand_at_their_own_places(tmp_path: Path) -> None:
    mirror = Mirror(tmp_path / "m")
    mirror.put(100, b"live")
    mirror.put(0, b"head")
    assert (mirror.size, mirror.complete) == (104, 4)
    assert mirror.read(100, 104) == b"live" and not mirror.have(50, 101)
    assert mirror.hole_after(0) == (4, 100) and mirror.hole_after(101) == (104, 104)
    mirror.put(4, b"x" * 96)
    assert mirror.complete == 104
    mirror.close()


def test_nobody_else_may_read_it(tmp_path: Path) -> None:
    mirror = Mirror(tmp_path / "m")
    mirror.write(mirror.run.run_json, b"{}")
    mirror.append(mirror.run.console_log, b"a line\n")
    mirror.write(mirror.run.spike(3), b"{}")
    mirror.close()
    modes = {path.name: path.stat().st_mode & 0o777 for path in [tmp_path / "m", *(tmp_path / "m").rglob("*")]}
    assert {mode for name, mode in modes.items() if name not in ("m", "spikes")} == {0o600}
    assert modes["m"] == modes["spikes"] == 0o700


def test_what_was_fetched_is_there_the_next_time(tmp_path: Path) -> None:
    first = Mirror(tmp_path)
    first.original = ORIGINAL
    first.put(0, b'{"v":1,"t":2}\n')
    first.put(50, b"more\n")
    first.close()
    again = Mirror(tmp_path)
    assert again.original == ORIGINAL
    assert (again.complete, again.size) == (14, 55)
    again.close()


@pytest.mark.parametrize("harm", ["shorter", "other bytes", "no notes", "odd notes"])
def test_a_damaged_mirror_begins_anew(tmp_path: Path, harm: str) -> None:
    first = Mirror(tmp_path)
    first.original = ORIGINAL
    first.put(0, b'{"v":1,"t":2}\n')
    first.close()
    notes = tmp_path / "mirror.json"
    if harm == "shorter":
        os.truncate(tmp_path / "events.jsonl", 5)
    elif harm == "other bytes":
        (tmp_path / "events.jsonl").write_bytes(b"\0" * 14)
    elif harm == "no notes":
        notes.unlink()
    else:
        notes.write_text('{"v": 1, "have": [[-3, "a"]], "inode": null}')
    again = Mirror(tmp_path)
    assert (again.original, again.complete, again.size) == (None, 0, 0)
    again.close()


@pytest.mark.parametrize("how", ["emptied", "replaced", "rewritten"])
def test_who_reads_the_mirror_is_told_of_a_new_beginning_over_there(tmp_path: Path, how: Restart) -> None:
    def line(number: int) -> bytes:
        return encode(step(number), 1000.0 + number).encode() + b"\n"

    mirror = Mirror(tmp_path)
    mirror.put(0, line(1) + line(2))
    reader = EventReader(mirror.run.events)
    assert len(reader.poll().events) == 2
    mirror.begin_anew(how, None)
    mirror.put(0, line(7) if how == "emptied" else line(7) + line(8) + line(9))
    batch: Batch = reader.poll()
    assert batch.restarted and batch.notes[0] == RESTARTED[how]
    assert len(batch.events) == (1 if how == "emptied" else 3)
    mirror.close()


def test_a_full_disk_does_not_hinder_leaving(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(file: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    own = own_mirror(Address("box", "/runs/a"), tmp_path)
    own.mirror.put(0, b"12345")
    monkeypatch.setattr(os, "fdatasync", full)
    own.close()
    monkeypatch.undo()
    again = own_mirror(Address("box", "/runs/a"), tmp_path)
    assert again.is_kept and again.mirror.size == 0
    again.close()

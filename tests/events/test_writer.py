import errno
import os
from pathlib import Path

import pytest

from engine.events import Alert, EventReader, EventWriter, Phase


class FullDisk:
    """Stands in for os.write on a disk that takes `room` more bytes."""

    def __init__(self, room: int) -> None:
        self.room = room
        self._write = os.write

    def __call__(self, descriptor: int, data: bytes) -> int:
        if self.room == 0:
            raise OSError(errno.ENOSPC, "No space left on device")
        written = self._write(descriptor, data[: self.room])
        self.room -= written
        return written


def test_the_log_outlives_a_full_disk_and_says_so_afterwards(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter(float(second) for second in range(100))
    writer = EventWriter(tmp_path / "events.jsonl", now=lambda: next(clock))
    disk = FullDisk(room=100)
    monkeypatch.setattr(os, "write", disk)
    for index in range(5):
        writer.write(Phase(name=f"phase {index}"))
    assert writer.stalled
    disk.room = 10**6
    writer.write(Phase(name="space is back"))
    assert not writer.stalled
    writer.close()
    batch = EventReader(tmp_path / "events.jsonl").poll()
    assert batch.bad_lines == 0
    kept = [stamped.event.name for stamped in batch.events if isinstance(stamped.event, Phase)]
    assert kept == [*(f"phase {index}" for index in range(5)), "space is back"]
    alert = batch.events[-1].event
    assert isinstance(alert, Alert) and alert.code == "LOG_DISK_FULL" and "no event was lost" in alert.meaning


def test_other_errors_of_the_disk_are_raised(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    writer = EventWriter(tmp_path / "events.jsonl")

    def broken(descriptor: int, data: bytes) -> int:
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(os, "write", broken)
    with pytest.raises(OSError, match="Input/output"):
        writer.write(Phase(name="x"))


def test_a_line_torn_by_a_killed_writer_does_not_spoil_the_next(tmp_path: Path) -> None:
    log = tmp_path / "events.jsonl"
    log.write_bytes(b'{"v": 1, "t": 1, "event": "pha')
    writer = EventWriter(log)
    writer.write(Phase(name="after the resume"))
    writer.close()
    batch = EventReader(log).poll()
    assert batch.bad_lines == 1
    assert [stamped.event for stamped in batch.events] == [Phase(name="after the resume")]


def test_writing_after_closing_is_ignored(tmp_path: Path) -> None:
    writer = EventWriter(tmp_path / "events.jsonl")
    writer.close()
    writer.write(Phase(name="late"))
    writer.close()
    assert (tmp_path / "events.jsonl").read_bytes() == b""

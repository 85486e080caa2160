"""The log-tail cases: lines and letters cut between two reads, and logs that are emptied or replaced."""

from pathlib import Path

import pytest

from engine.events import Batch, EventReader, Phase, decode, encode
from engine.events.growing import Position


def line(name: str, t: float = 1.0) -> bytes:
    return (encode(Phase(name=name), t) + "\n").encode()


def names(batch: Batch) -> list[str]:
    return [stamped.event.name for stamped in batch.events if isinstance(stamped.event, Phase)]


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "events.jsonl"


def append(log: Path, data: bytes) -> None:
    with log.open("ab") as file:
        file.write(data)


def test_a_log_that_is_not_there_yet_is_waited_for(log: Path) -> None:
    reader = EventReader(log)
    assert not reader.poll()
    append(log, line("a"))
    assert names(reader.poll()) == ["a"]
    assert not reader.poll()


def test_a_torn_last_line_waits_for_its_newline(log: Path) -> None:
    reader, second = EventReader(log), line("two")
    append(log, line("one") + second[:20])
    first_batch = reader.poll()
    assert (names(first_batch), first_batch.bad_lines, first_batch.notes) == (["one"], 0, ())
    assert reader.offset == len(line("one"))
    append(log, second[20:])
    second_batch = reader.poll()
    assert (names(second_batch), second_batch.bad_lines) == (["two"], 0)


def test_letters_cut_between_two_reads_stay_whole(log: Path) -> None:
    reader, seen = EventReader(log), []
    for index in range(len(data := line("café 漢"))):
        append(log, data[index : index + 1])
        seen += names(reader.poll())
    assert seen == ["café 漢"]


def test_a_log_emptied_in_place_is_read_from_its_start(log: Path) -> None:
    reader = EventReader(log)
    append(log, line("old") * 8)
    reader.poll()
    log.write_bytes(line("new 1") + line("new 2"))
    batch = reader.poll()
    assert names(batch) == ["new 1", "new 2"]
    assert batch.restarted and "emptied" in batch.notes[0]


@pytest.mark.parametrize("same_beginning", [False, True])
def test_a_log_emptied_and_grown_past_the_old_position_is_noticed(log: Path, same_beginning: bool) -> None:
    reader = EventReader(log)
    append(log, line("first") + line("old") * 5)
    reader.poll()
    inode = log.stat().st_ino
    fresh = [line("first" if same_beginning else "other"), *[line("longer than before")] * 9]
    with log.open("r+b") as file:
        file.truncate(0)
        file.write(b"".join(fresh))
    assert log.stat().st_ino == inode
    batch = reader.poll()
    assert batch.restarted and batch.bad_lines == 0 and len(batch.events) == 10


def test_a_replaced_log_is_read_from_its_start(log: Path, tmp_path: Path) -> None:
    reader = EventReader(log)
    append(log, line("old"))
    reader.poll()
    (tmp_path / "next").write_bytes(line("other") + line("new"))
    (tmp_path / "next").replace(log)
    batch = reader.poll()
    assert batch.restarted and names(batch) == ["other", "new"]


def test_a_newer_copy_of_the_log_in_its_place_is_read_on(log: Path, tmp_path: Path) -> None:
    """As `rsync` brings it, again and again."""
    reader = EventReader(log)
    append(log, line("old"))
    reader.poll()
    (tmp_path / "next").write_bytes(line("old") + line("new"))
    (tmp_path / "next").replace(log)
    batch = reader.poll()
    assert names(batch) == ["new"] and not batch.restarted and batch.notes == ()


def test_lines_that_are_no_events_are_counted_and_passed_over(log: Path) -> None:
    reader = EventReader(log)
    append(log, b"hello\n\n" + line("a") + b'\xff\xfe\n{"event": "step", "t": 1}\n' + line("b"))
    batch = reader.poll()
    assert (names(batch), batch.bad_lines) == (["a", "b"], 3)
    assert len(batch.notes) == 3


def test_a_long_log_arrives_in_portions_and_a_line_longer_than_a_portion_whole(log: Path) -> None:
    reader = EventReader(log, chunk_bytes=256)
    expected = [f"phase {index}" for index in range(50)] + ["x" * 2000, "last"]
    append(log, b"".join(line(name) for name in expected))
    seen: list[str] = []
    while batch := reader.poll():
        seen += names(batch)
    assert seen == expected


def test_each_event_is_found_again_by_its_offset(log: Path) -> None:
    reader = EventReader(log, chunk_bytes=128)
    append(log, line("one") + b"no event\n\n" + line("two") + line("café"))
    found: dict[str, str] = {}
    while batch := reader.poll():
        for name, offset in zip(names(batch), batch.offsets, strict=True):
            found[name] = names_at(log, offset)
    assert found == {"one": "one", "two": "two", "café": "café"}


def names_at(log: Path, offset: int) -> str:
    with log.open("rb") as file:
        file.seek(offset)
        stamped = decode(file.readline())
    assert stamped is not None and isinstance(stamped.event, Phase)
    return stamped.event.name


def test_reading_goes_on_where_another_reader_stopped(log: Path) -> None:
    append(log, line("read by another") + line("new"))
    read = line("read by another")
    at = Position(len(read), log.stat().st_ino, read[:64], read[-64:])
    reader = EventReader(log, at=at)
    assert names(reader.poll()) == ["new"]
    log.write_bytes(line("another run"))
    batch = reader.poll()
    assert batch.restarted and names(batch) == ["another run"]


def test_a_log_that_changed_since_another_reader_stopped_is_read_from_its_start(log: Path) -> None:
    append(log, line("a") + line("b"))
    at = Position(len(line("a")), log.stat().st_ino, line("z")[:64], line("z")[-64:])
    batch = EventReader(log, at=at).poll()
    assert batch.restarted and names(batch) == ["a", "b"]


def test_a_log_that_is_gone_is_told_and_waited_for(log: Path) -> None:
    reader = EventReader(log)
    append(log, line("a"))
    reader.poll()
    away = log.rename(log.with_name("away"))
    for _ in range(2):
        with pytest.raises(FileNotFoundError):
            reader.poll()
    append(away, line("b"))
    away.rename(log)
    batch = reader.poll()
    assert names(batch) == ["b"] and not batch.restarted


def test_a_line_longer_than_all_before_it_in_a_portion_is_not_forgotten(log: Path) -> None:
    reader = EventReader(log, chunk_bytes=256)
    append(log, line("short") + line("x" * 400))
    seen: list[str] = []
    while (batch := reader.poll()) or batch.more:
        seen += names(batch)
    assert seen == ["short", "x" * 400]

"""TensorBoard's event files: values, several files, growth, and damage."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.events import Resume, Step
from engine.events.foreign.recognised import recognised
from engine.events.foreign.scalars import told_in
from engine.events.foreign.tensorboard import EventFiles
from engine.events.foreign.tfrecord import crc32c
from engine.events.foreign.wire import WireError
from engine.foreign.judged import ForeignEvents
from tests.foreign.samples import BOARD, STATE, TENSORS, evals_of, events_of, news, scalar, steps_of

NAME = "events.out.tfevents.1700000000.box.1.0"


def test_the_checksum_is_the_one_of_the_standard() -> None:
    """RFC 3720, B.4: 32 bytes of zeros, and the bytes from 0 to 31."""
    assert crc32c(bytes(32)) == 0x8A9136AA
    assert crc32c(bytes(range(32))) == 0x46DD794E


def test_a_real_folder_tells_what_the_trainer_kept() -> None:
    board, state = events_of(BOARD), events_of(STATE)
    assert [step.step for step in steps_of(board)] == [step.step for step in steps_of(state)]
    for told, kept in zip(steps_of(board), steps_of(state), strict=True):
        assert told.loss == pytest.approx(kept.loss, rel=1e-6)
        assert told.grad_norm == pytest.approx(kept.grad_norm, rel=1e-6)
        assert (told.lr, told.tokens) == (pytest.approx(kept.lr, rel=1e-6), kept.tokens)
    assert [one.step for one in evals_of(board)][:5] == [10, 20, 30, 40, 50]


def test_each_step_has_its_time() -> None:
    batch = ForeignEvents(recognised(BOARD)).poll()
    times = [one.t for one in batch.events if isinstance(one.event, Step)]
    assert times == sorted(set(times))
    assert times[0] == pytest.approx(1796058081.26, abs=0.01)


def test_values_as_tensors_are_read() -> None:
    steps = steps_of(events_of(TENSORS))
    assert [step.step for step in steps] == list(range(1, 21))
    assert steps[4].loss == pytest.approx(2.5)
    assert steps[4].lr == 1e-4


def test_a_record_that_is_being_written_waits_for_its_rest(tmp_path: Path) -> None:
    path = tmp_path / NAME
    data = b"".join(scalar(step, "loss", 3.0 - step / 10) for step in range(1, 6))
    reader = EventFiles(tmp_path)
    told: list[int] = []
    path.write_bytes(b"")
    for end in range(0, len(data) + 7, 7):
        with path.open("ab") as file:
            file.write(data[end - 7 : end] if end else b"")
        told += [one.step for one in reader.poll().told]
    for _ in range(2):
        told += [one.step for one in reader.poll().told]
    assert told == [1, 2, 3, 4, 5]


def test_files_of_one_folder_are_read_in_the_order_of_their_times(tmp_path: Path) -> None:
    """Training that was resumed writes a file of its own, and takes some steps again."""
    (tmp_path / NAME).write_bytes(b"".join(scalar(step, "train/loss", 1.0) for step in range(1, 11)))
    later = b"".join(scalar(step, "train/loss", 2.0, t=1_800_000_000.0 + step) for step in range(8, 13))
    (tmp_path / NAME.replace("1700000000", "1800000000")).write_bytes(later)
    events = events_of(tmp_path)
    assert [step.step for step in steps_of(events)] == [*range(1, 11), *range(8, 13)]
    assert [event.from_step for event in events if isinstance(event, Resume)] == [7]


def test_a_file_that_comes_later_is_followed_too(tmp_path: Path) -> None:
    (tmp_path / NAME).write_bytes(scalar(1, "loss", 1.0) + scalar(2, "loss", 1.0))
    reader = ForeignEvents(recognised(tmp_path))
    news(reader), news(reader)
    (tmp_path / NAME.replace("1700000000", "1800000000")).write_bytes(scalar(3, "loss", 1.0) + scalar(3, "lr", 0.1))
    told = [one.event for _ in range(2) for one in news(reader)]
    assert [(step.step, step.lr) for step in steps_of(told)] == [(3, pytest.approx(0.1))]


def test_of_a_damaged_file_the_part_before_is_shown_with_its_place(tmp_path: Path) -> None:
    records = [scalar(step, "loss", 1.0) for step in range(1, 6)]
    damaged = b"\xff" * 12 + records[3][12:]
    place = sum(map(len, records[:3]))
    (tmp_path / NAME).write_bytes(b"".join(records[:3]) + damaged + records[4])
    reader = EventFiles(tmp_path)
    first, second = reader.poll(), reader.poll()
    assert [one.step for one in (*first.told, *second.told)] == [1, 2, 3]
    assert first.notes == (f"{NAME} is damaged from byte {place:,} on; what stands before is shown",)
    assert second.notes == ()


def test_a_record_with_a_wrong_checksum_is_left_out_and_the_others_are_not(tmp_path: Path) -> None:
    records = [scalar(step, "loss", 1.0) for step in range(1, 6)]
    flipped = bytearray(records[2])
    flipped[-6] ^= 1
    (tmp_path / NAME).write_bytes(b"".join([*records[:2], bytes(flipped), *records[3:]]))
    reader = EventFiles(tmp_path)
    first = reader.poll()
    assert [one.step for one in (*first.told, *reader.poll().told)] == [1, 2, 4, 5]
    assert len(first.notes) == 1 and "checksum" in first.notes[0]


def test_a_file_that_is_written_anew_begins_anew(tmp_path: Path) -> None:
    path = tmp_path / NAME
    path.write_bytes(b"".join(scalar(step, "loss", 1.0) for step in range(1, 9)))
    reader = EventFiles(tmp_path)
    reader.poll(), reader.poll()
    path.write_bytes(scalar(1, "loss", 5.0) + scalar(2, "loss", 5.0))
    batches = [reader.poll() for _ in range(3)]
    assert any(one.restarted for one in batches)
    assert [(told.step, told.loss) for one in batches for told in one.told] == [(1, 5.0), (2, 5.0)]


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=200))
def test_any_bytes_are_a_message_or_none(data: bytes) -> None:
    try:
        list(told_in(data))
    except WireError:
        pass
    except (UnicodeDecodeError, OverflowError) as error:  # pragma: no cover
        pytest.fail(f"{error!r}")

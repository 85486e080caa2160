"""Whoever shares the work of reading a log: together they read every line, each line once."""

import os
import tempfile

from hypothesis import given, settings
from hypothesis import strategies as st

from engine.events import Event, ModelInfo, Phase, Stamped, Start, Step, encode
from engine.events.columns import StepColumns
from engine.events.past_worker import portions
from engine.events.stretches import line_start_at
from engine.events.survey import EDGE_BYTES, survey_of
from tests.pgs_tui.making import step

LINES = st.lists(st.binary(max_size=20).map(lambda data: data.replace(b"\n", b"")), max_size=12)


@settings(max_examples=150, deadline=None)
@given(LINES, st.integers(1, 40), st.integers(1, 3))
def test_stretches_meet_at_lines_and_cover_everything(lines: list[bytes], stretch: int, workers: int) -> None:
    data = b"".join(line + b"\n" for line in lines)
    with tempfile.TemporaryFile() as file:
        file.write(data)
        file.flush()
        queues = [portions(file.fileno(), worker, workers, len(data), stretch) for worker in range(workers)]
        read = b""
        for turn in range(len(data) // stretch + workers):
            portion = next(queues[turn % workers], None)
            if portion is not None:
                assert portion.begin == len(read)
                read += data[portion.begin : portion.end]
                assert not read or read.endswith(b"\n")
    assert read == data


def test_a_line_without_an_end_begins_no_stretch() -> None:
    with tempfile.TemporaryFile() as file:
        file.write(b"one\ntwo\nthree")
        file.flush()
        found = [line_start_at(file.fileno(), offset, 13) for offset in range(13)]
    assert found == [0, 4, 4, 4, 4, 8, 8, 8, 8, 13, 13, 13, 13]


def test_a_survey_has_the_beginning_a_bit_of_everything_and_the_newest_events() -> None:
    model = ModelInfo(name="m", params=1, trainable=1)
    start = Start(run="r", command="c", config="x", model=model, device="cpu", total_steps=9000)
    events: list[Event] = [start, *(step(number) for number in range(1, 3001)), Phase(name="saving")]
    with tempfile.TemporaryFile() as file:
        file.write(b"".join(encode(event, 1.0).encode() + b"\n" for event in events) + b'{"v":1,"t":')
        file.flush()
        size = os.fstat(file.fileno()).st_size
        blocks = survey_of(file.fileno(), size).blocks
    assert size > 4 * EDGE_BYTES
    first, last = blocks[0], blocks[-1]
    assert isinstance(first, Stamped) and first.event == start
    assert isinstance(last, Stamped) and last.event == Phase(name="saving")
    amid = [block for block in blocks if isinstance(block, StepColumns)]
    numbers = [number for block in amid for number in block.step]
    assert numbers == sorted(numbers) and len(numbers) < 3000
    known = [offset for block in amid for offset in block.offset if offset != -1]
    assert max(known) < EDGE_BYTES, "where a line amid the log begins is not known, and not made up"
    newest = [block.event.step for block in blocks if isinstance(block, Stamped) and isinstance(block.event, Step)]
    assert newest[-1] == 3000

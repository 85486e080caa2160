"""Columns say what the lines say: against `decode`, line by line, for whatever stands in a log."""

import json
import math
from operator import attrgetter
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.events import (
    BadLineError,
    Checkpoint,
    End,
    Eval,
    Event,
    Gpu,
    Host,
    Phase,
    Resume,
    Stamped,
    Step,
    StepMemory,
    StepTime,
    decode,
    encode,
)
from engine.events.columns import GPU_VALUES, STEP_VALUES, Block, GpuColumns, StepColumns
from engine.events.portions import fits_columns, portion_of

NUMBER = st.floats() | st.integers(-(10**20), 10**20).map(float)
MEASURED = st.none() | NUMBER
COUNT = st.integers(0, 5000) | st.integers(-(2**70), 2**70)
TEXT = st.text(max_size=12) | st.sampled_from(["NaN", 'a "b" \\ c', "A100", "\u2028", "\ud7ff漢"])
TIME = st.floats(allow_nan=False, allow_infinity=False)

STEP = st.builds(
    Step,
    step=COUNT,
    epoch=NUMBER,
    loss=MEASURED,
    lr=NUMBER,
    grad_norm=MEASURED,
    dt=NUMBER,
    tokens=COUNT,
    slots=COUNT,
    loss_tokens=COUNT,
    tok_s=NUMBER,
    ce_loss=MEASURED,
    clip_scale=MEASURED,
    time=st.builds(StepTime, data=MEASURED, optimizer=MEASURED, gc=MEASURED),
    mem=st.builds(StepMemory, reserved=MEASURED, peak=MEASURED, other=MEASURED),
    hidden_norm=MEASURED,
    moved=MEASURED,
    skipped=st.booleans(),
    recompiles=st.none() | COUNT,
    rows=st.lists(COUNT, max_size=3).map(tuple),
    rank=st.sampled_from([0, 0, 0, 1]),
)
GPU = st.builds(
    Gpu,
    index=st.integers(0, 3),
    uuid=TEXT,
    name=TEXT,
    utilisation=MEASURED,
    used_by_us=MEASURED,
    temperature=MEASURED,
    power=MEASURED,
    throttle=st.lists(TEXT, max_size=2).map(tuple),
    error=st.none() | st.none() | TEXT,
)
HOST = st.builds(Host, cpu=NUMBER, rss=NUMBER, disk_free=NUMBER, cores=COUNT, memory_total=MEASURED)
OTHER = st.builds(Eval, step=COUNT, loss=NUMBER) | st.builds(Resume, from_step=COUNT, checkpoint=TEXT)
EVENT = STEP | STEP | GPU | HOST | OTHER


def written(event: Event, t: float) -> bytes:
    return encode(event, t).encode()


def reordered(event: Event, t: float) -> bytes:
    record = json.loads(encode(event, t))
    return json.dumps(dict(sorted(record.items()))).encode()


def from_later(event: Event, t: float) -> bytes:
    return json.dumps({**json.loads(encode(event, t)), "news": [1]}, separators=(",", ":")).encode()


def from_earlier(event: Event, t: float) -> bytes:
    """As a version wrote it that did not know the fields that have a default."""
    record = json.loads(encode(event, t))
    defaults = {"clip_scale", "moved", "rows", "rank", "mem", "throttle", "io_pressure", "cpu_pressure", "memory_total"}
    return json.dumps({k: v for k, v in record.items() if k not in defaults}, separators=(",", ":")).encode()


WRITTEN = st.builds(lambda how, event, t: how(event, t), st.sampled_from([written] * 5), EVENT, TIME)
IN_OTHER_WAYS = st.builds(
    lambda how, event, t: how(event, t), st.sampled_from([reordered, from_later, from_earlier]), EVENT, TIME
)
TORN = st.builds(lambda line, share: line[: int(len(line) * share)], WRITTEN, st.floats(0, 1))
BROKEN = st.builds(lambda one, other: one + other, TORN, WRITTEN)


@st.composite
def changed(draw: st.DrawFn) -> bytes:
    """A line with another byte somewhere: mostly still nearly JSON."""
    line = draw(WRITTEN)
    place = draw(st.integers(0, max(len(line) - 1, 0)))
    other: bytes = draw(st.sampled_from([b"0", b"-", b".", b",", b"e", b'"', b"}", b"\r", b"+", b" "]))
    broken: bytes = line[:place] + other + line[place + 1 :]
    return broken


JUNK = st.binary(max_size=30).map(lambda data: data.replace(b"\n", b""))
LINE = (
    WRITTEN | WRITTEN | WRITTEN | IN_OTHER_WAYS | TORN | BROKEN | changed() | JUNK | st.just(b'{"event":"news","t":1}')
)
LOG = st.lists(LINE, max_size=12).map(lambda lines: b"".join(line + b"\n" for line in lines))


def plain(value: float | None) -> Any:
    return None if value is None else "nan" if value != value else value


def step_row(offset: int, t: float, step: Step) -> tuple[Any, ...]:
    return "step", offset, t, step.step, *(plain(attrgetter(name)(step)) for name in STEP_VALUES)


def rows_of(columns: StepColumns) -> list[tuple[Any, ...]]:
    def value(name: str, place: int) -> Any:
        number = columns.values[name][place]
        return plain(number) if number == number or place in columns.nan_at.get(name, ()) else None

    return [
        ("step", columns.offset[place], columns.t[place], step, *(value(name, place) for name in STEP_VALUES))
        for place, step in enumerate(columns.step)
    ]


def gpu_row(t: float, gpu: Gpu) -> tuple[Any, ...]:
    values = (attrgetter(name)(gpu) for name in GPU_VALUES)
    return t, gpu.index, bool(gpu.throttle), *("nan" if value is None else plain(value) for value in values)


class Seen:
    """What a reader makes of a log: what stands in order, the readings of GPUs, the newest of every machine."""

    def __init__(self) -> None:
        self.in_order: list[Any] = []
        self.gpus: list[tuple[Any, ...]] = []
        self.newest: dict[Any, Event] = {}

    def take(self, offset: int, stamped: Stamped) -> None:
        match event := stamped.event:
            case Step() if fits_columns(event):
                self.in_order.append(step_row(offset, stamped.t, event))
            case Gpu():
                self.gpus.append(gpu_row(stamped.t, event))
                self.newest[event.index] = event
            case Host():
                self.newest["host"] = event
            case _:
                self.in_order.append(repr(stamped))

    def take_block(self, block: Block) -> None:
        if isinstance(block, StepColumns):
            assert all(one < other for one, other in zip(block.step, block.step[1:], strict=False))
            self.in_order += rows_of(block)
        elif isinstance(block, GpuColumns):
            for place, (t, index, throttled) in enumerate(zip(block.t, block.index, block.throttled, strict=True)):
                self.gpus.append(
                    (t, index, bool(throttled), *(plain(block.values[name][place]) for name in GPU_VALUES))
                )
            self.newest |= block.newest
        else:
            self.take(-1, block)

    def known(self) -> tuple[Any, ...]:
        return self.in_order, self.gpus, {key: repr(event) for key, event in self.newest.items()}


def by_decode(log: bytes, begin: int) -> tuple[Seen, int]:
    seen, bad, offset = Seen(), 0, begin
    for line in log.split(b"\n")[:-1]:
        try:
            stamped = decode(line.decode()) if line.strip() else None
        except (BadLineError, UnicodeDecodeError):
            bad, stamped = bad + 1, None
        if stamped is not None:
            seen.take(offset, stamped)
        offset += len(line) + 1
    return seen, bad


@settings(max_examples=400, deadline=None)
@given(LOG, st.integers(0, 2**40))
def test_columns_say_what_decode_says(log: bytes, begin: int) -> None:
    expected, bad_lines = by_decode(log, begin)
    portion = portion_of(log, begin)
    seen = Seen()
    for block in portion.blocks:
        seen.take_block(block)
    assert seen.known() == expected.known()
    assert (portion.begin, portion.end, portion.bad_lines) == (begin, begin + len(log), bad_lines)


def step(number: int, **fields: Any) -> Step:
    usual: dict[str, Any] = {"epoch": 0.5, "loss": 2.0, "lr": 1e-5, "grad_norm": 0.5, "dt": 1.0, "tok_s": 100.0}
    counts = {"tokens": 100, "slots": 120, "loss_tokens": 60}
    return Step(step=number, **{**usual, **counts, **fields})


def lines(*events: Event) -> bytes:
    return b"".join(written(event, 1000.0 + place) + b"\n" for place, event in enumerate(events))


def test_what_the_engine_writes_comes_as_columns_not_line_by_line() -> None:
    gpu = Gpu(index=0, uuid="GPU-1", name="NVIDIA A100", utilisation=98, throttle=("power cap",))
    host = Host(cpu=1.0, rss=2.0, disk_free=3.0)
    events: list[Event] = [
        step(1),
        host,
        gpu,
        step(2, loss=math.nan, moved=None, rows=(1, 20)),
        step(3, loss=None),
        gpu,
        host,
    ]
    blocks = portion_of(lines(*events)).blocks
    assert [type(block) for block in blocks] == [StepColumns, GpuColumns, Stamped], "of the host only the newest"
    steps, gpus, newest = blocks
    assert isinstance(steps, StepColumns) and isinstance(gpus, GpuColumns)
    assert (list(steps.step), list(steps.nan_at), list(steps.nan_at["loss"])) == ([1, 2, 3], ["loss"], [1])
    assert (len(gpus), gpus.newest, newest) == (2, {0: gpu}, Stamped(1006.0, host))


def test_a_card_that_cannot_tell_everything_is_read_as_quickly() -> None:
    slice_of_one = Gpu(index=0, uuid="MIG-1", used_by_us=3.0, error="a MIG slice has no utilisation of its own")
    (gpus,) = portion_of(lines(*[slice_of_one] * 3)).blocks
    assert isinstance(gpus, GpuColumns) and gpus.newest == {0: slice_of_one}
    assert list(gpus.values["used_by_us"]) == [3.0] * 3 and math.isnan(gpus.values["utilisation"][0])


def test_steps_are_cut_where_a_resume_or_a_step_goes_back() -> None:
    resume = Resume(from_step=1, checkpoint="checkpoints/step-1")
    blocks = portion_of(lines(step(1), step(2), resume, step(2), step(3), step(3), step(4))).blocks
    numbers = [
        list(block.step) if isinstance(block, StepColumns) else getattr(block, "event", None) for block in blocks
    ]
    assert numbers == [[1, 2], resume, [2, 3], [3, 4]]


def test_a_line_torn_by_the_death_of_its_writer_takes_no_neighbour_with_it() -> None:
    torn = written(step(2), 1.0)[:-40]
    log = lines(step(1)) + torn + lines(step(3)) + lines(step(4))
    portion = portion_of(log)
    found = [number for block in portion.blocks if isinstance(block, StepColumns) for number in block.step]
    assert (found, portion.bad_lines) == ([1, 4], 1)


def test_a_line_with_a_number_that_no_float_holds_is_no_event() -> None:
    wild = written(step(2), 1.0).replace(b'"loss":2.0', b'"loss":1' + b"0" * 400)
    deep = b"[" * 100_000
    portion = portion_of(lines(step(1)) + wild + b"\n" + deep + b"\n" + lines(step(3)))
    found = [number for block in portion.blocks if isinstance(block, StepColumns) for number in block.step]
    assert (found, portion.bad_lines) == ([1, 3], 2)


@pytest.mark.parametrize("event", [Phase(name="training"), Checkpoint(step=1, path="p", seconds=1.0, bytes=2)])
def test_events_of_other_kinds_keep_their_place_among_the_steps(event: Event) -> None:
    blocks = portion_of(
        lines(step(1), event, step(2), End(status="finished", reason="", exit_code=0, last_step=2))
    ).blocks
    assert [type(block) for block in blocks] == [StepColumns, Stamped, StepColumns, Stamped]


def test_no_lines_are_no_blocks() -> None:
    assert portion_of(b"").blocks == ()

"""The past of a long run, read by other processes: nothing is lost, doubled or moved, whatever becomes of them."""

import os
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import psutil
import pytest

from engine.events import Batch, Eval, Event, EventReader, Gpu, Host, Resume, Stamped, encode
from engine.events.columns import Block, GpuColumns, StepColumns
from engine.rundir import RunDir
from pgs_tui.runs import past_workers
from pgs_tui.runs.follow import Follower, Update
from pgs_tui.runs.past import LONG_BYTES, Past, past_of
from tests.pgs_tui.making import ScriptedEngine, ScriptedLog, step

STEPS = 6000
RESUMED_AT, RESUMED_FROM = 3000, 2900
GPU = Gpu(index=0, uuid="GPU-1", name="A100", utilisation=98.0, temperature=63.0)


def events_of_a_run() -> Iterator[Event]:
    for number in range(1, STEPS + 1):
        yield step(number, loss=5.0 - number / STEPS, rows=(number, number + 1))
        if number % 100 == 0:
            yield GPU
            yield Host(cpu=100.0, rss=1.0, disk_free=10.0)
            yield Eval(step=number, loss=2.0)
        if number == RESUMED_AT:
            yield Resume(from_step=RESUMED_FROM, checkpoint="checkpoints/step-2900")
            yield from (step(again) for again in range(RESUMED_FROM + 1, RESUMED_AT + 1))


def text_of(events: Sequence[Event], start: float = 1000.0) -> bytes:
    return b"".join(encode(event, start + place).encode() + b"\n" for place, event in enumerate(events))


EVENTS = list(events_of_a_run())
LOG = text_of(EVENTS)


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = RunDir(tmp_path).events
    path.write_bytes(LOG)
    return path


def told(blocks: Sequence[Block]) -> list[tuple[str, int]]:
    """What stands in the order of the log: steps, and events that are no readings of machines, by kind and step."""
    found: list[tuple[str, int]] = []
    for block in blocks:
        if isinstance(block, StepColumns):
            found += [("step", number) for number in block.step]
        elif isinstance(block, Stamped):
            found += told_events([block])
    return found


def told_events(events: Sequence[Stamped]) -> list[tuple[str, int]]:
    steps = [(one.event.kind, getattr(one.event, "step", 0)) for one in events]
    return [one for one in steps if one[0] not in ("gpu", "host")]


ALL = told_events([Stamped(0.0, event) for event in EVENTS])


def read_all(past: Past) -> list[tuple[str, int]]:
    found: list[tuple[str, int]] = []
    while portion := past.portion():
        found += told(portion.blocks)
    return found + rest_of(past.reader())


def rest_of(reader: EventReader) -> list[tuple[str, int]]:
    found: list[tuple[str, int]] = []
    while batch := reader.poll():
        assert not batch.restarted
        found += told_events(batch.events)
    return found


@pytest.fixture(params=[0, 1, 2])
def past(log: Path, request: pytest.FixtureRequest) -> Iterator[Past]:
    past = past_of(log, workers=request.param)
    assert past is not None
    yield past
    past.close()


def test_everything_comes_once_and_in_order(past: Past) -> None:
    assert past.survey()
    assert read_all(past) == ALL
    assert past.progress == 1.0


def test_offsets_lead_to_the_lines(log: Path) -> None:
    past = past_of(log, workers=0)
    assert past is not None
    while portion := past.portion():
        for block in portion.blocks:
            if isinstance(block, StepColumns):
                line = LOG[block.offset[-1] :].partition(b"\n")[0]
                assert f'"step":{block.step[-1]},'.encode() in line
    past.close()


def test_the_survey_shows_the_whole_run_at_once(past: Past) -> None:
    survey = past.survey()
    assert survey is not None
    numbers = [number for kind, number in told(survey.blocks) if kind == "step"]
    assert (numbers[0], numbers[-1]) == (1, STEPS)
    assert len(numbers) < STEPS
    assert all(any(start <= number < start + 200 for number in numbers) for start in range(1, STEPS, 200))
    assert any(isinstance(block, GpuColumns) for block in survey.blocks)


def test_the_death_of_a_worker_loses_nothing(past: Past) -> None:
    past.survey()
    portion = past.portion()
    assert portion is not None
    past._workers.kill()
    assert told(portion.blocks) + read_all(past) == ALL


@pytest.mark.parametrize("broken", ["no.such.program", "this"])
def test_workers_that_say_nothing_or_something_else_are_done_without(
    log: Path, monkeypatch: pytest.MonkeyPatch, broken: str
) -> None:
    monkeypatch.setattr(past_workers, "WORKER", broken)
    past = past_of(log, workers=2)
    assert past is not None and past.survey()
    assert read_all(past) == ALL
    past.close()


def test_without_room_for_another_process_this_one_reads(log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise BlockingIOError(11, "Resource temporarily unavailable")

    monkeypatch.setattr(subprocess, "Popen", refuse)
    past = past_of(log, workers=2)
    assert past is not None
    assert read_all(past) == ALL
    past.close()


def test_what_is_written_meanwhile_comes_from_the_reader(past: Past, log: Path) -> None:
    past.portion()
    torn = text_of([step(STEPS + 2)])
    with log.open("ab") as file:
        file.write(text_of([step(STEPS + 1)]) + torn[:50])
    while past.portion():
        pass
    reader = past.reader()
    assert rest_of(reader)[-1] == ("step", STEPS + 1)
    with log.open("ab") as file:
        file.write(torn[50:])
    assert rest_of(reader) == [("step", STEPS + 2)]


def of_another_run(log: Path) -> None:
    with log.open("r+b") as file:
        file.truncate(0)
        file.write(text_of([step(number, loss=9.0) for number in range(1, STEPS + 500)], start=5000.0))


def cut(log: Path) -> None:
    os.truncate(log, len(LOG) // 3)


def replaced(log: Path) -> None:
    (log.parent / "next").write_bytes(text_of([step(number, loss=9.0) for number in range(1, STEPS)], start=5000.0))
    (log.parent / "next").replace(log)


@pytest.mark.parametrize("change", [of_another_run, cut, replaced])
@pytest.mark.parametrize("workers", [0, 2])
def test_a_log_that_is_another_by_the_end_is_read_anew(log: Path, workers: int, change: object) -> None:
    past = past_of(log, workers=workers)
    assert past is not None
    past.portion()
    assert callable(change)
    change(log)
    while past.portion():
        pass
    batch: Batch = past.reader().poll()
    assert batch.restarted and told_events(batch.events)[0] == ("step", 1)
    past.close()


def test_a_log_that_is_short_or_not_there_has_no_past(tmp_path: Path) -> None:
    assert past_of(tmp_path / "events.jsonl") is None
    (tmp_path / "events.jsonl").write_bytes(LOG[:1000])
    assert past_of(tmp_path / "events.jsonl") is None
    (tmp_path / "events.jsonl").write_bytes(b"x" * LONG_BYTES)
    assert past_of(tmp_path / "events.jsonl") is None, "one endless line"


def test_lines_longer_than_a_stretch_are_read_whole(tmp_path: Path) -> None:
    rows = tuple(range(10**6, 10**6 + 100_000))
    events = [step(number, rows=rows if number % 3 == 0 else ()) for number in range(1, 20)]
    log = tmp_path / "events.jsonl"
    log.write_bytes(text_of([*events, *(step(number) for number in range(20, 2000))]))
    past = past_of(log, workers=2)
    assert past is not None
    assert read_all(past) == [("step", number) for number in range(1, 2000)]
    past.close()


def follower(past: Past) -> Follower:
    return Follower(past.reader(), ScriptedLog(("a line",)), ScriptedEngine().look, past=past)


def test_a_follower_brings_a_survey_then_the_past_then_the_news(past: Past) -> None:
    updates = list(follower(past).poll())
    assert [update.survey for update in updates] == [True] + [False] * (len(updates) - 1)
    assert updates[0].log == ("a line",), "what the engine said last is shown at once"
    assert [update.loading for update in updates] == [True] * (len(updates) - 1) + [False]
    read = [update.progress for update in updates if update.progress is not None]
    assert read == sorted(read)
    columns = [block for update in updates[1:] for block in update.columns]
    events = [event for update in updates for event in update.events]
    assert told(columns) + told_events(events) == ALL


def test_whoever_leaves_amid_the_past_waits_for_nobody(past: Past) -> None:
    following = follower(past)
    delivered: list[Update] = []

    def deliver(update: Update) -> None:
        delivered.append(update)
        following.taken()
        if len(delivered) == 2:
            following.stop()

    following.run(deliver, lambda _: bool(delivered))
    assert not any(update.columns for update in delivered[2:])


def test_workers_end_with_the_program_they_read_for(log: Path) -> None:
    program = (
        "import sys, time; from pathlib import Path; from pgs_tui.runs.past import past_of\n"
        "past = past_of(Path(sys.argv[1]), workers=2); past.portion()\n"
        "print(*(process.pid for process in past._workers._processes), flush=True); time.sleep(60)"
    )
    parent = subprocess.Popen([sys.executable, "-c", program, str(log)], stdout=subprocess.PIPE)
    assert parent.stdout is not None
    workers = [psutil.Process(int(pid)) for pid in parent.stdout.readline().split()]
    parent.kill()
    parent.communicate()
    assert len(workers) == 2
    deadline = time.monotonic() + 30
    while any(map(is_at_work, workers)):
        assert time.monotonic() < deadline, "they read for nobody"
        time.sleep(0.01)


def is_at_work(process: psutil.Process) -> bool:
    try:
        return bool(process.status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False


def test_trouble_amid_the_past_is_told_and_reading_goes_on(past: Past, monkeypatch: pytest.MonkeyPatch) -> None:
    read, failures = past.portion, [True, False, True, True]

    def sometimes() -> object:
        if failures and failures.pop():
            raise OSError(5, "Input/output error")
        return read()

    monkeypatch.setattr(past, "portion", sometimes)
    following = follower(past)
    updates = [update for _ in range(5) for update in following.poll()]
    assert sum(update.trouble == "Input/output error" for update in updates) == 3
    columns = [block for update in updates if not update.survey for block in update.columns]
    events = [event for update in updates for event in update.events]
    assert told(columns) + told_events(events) == ALL
    assert updates[-1].trouble is None


@pytest.mark.parametrize("workers", [0, 1, 2])
def test_a_log_that_is_still_being_fetched_is_read_as_far_as_it_is_there(tmp_path: Path, workers: int) -> None:
    end = LOG.rindex(b"\n", 0, len(LOG) - 1000) + 1
    path = RunDir(tmp_path).events
    file = os.open(path, os.O_RDWR | os.O_CREAT)
    os.pwrite(file, LOG[:100], 0)
    os.pwrite(file, LOG[end - 100 :], end - 100)
    there = 100
    past = Past(path, file, len(LOG), end, workers, fetched=lambda: there)
    found: list[tuple[str, int]] = []
    waited = 0
    while past.offset < past.end:
        if past.waits:
            waited += 1
            os.pwrite(file, LOG[there : there + 70_001], there)
            there = min(there + 70_001, len(LOG))
            continue
        portion = past.portion()
        assert portion is not None and portion.end <= there
        found += told(portion.blocks)
    assert not past.waits and past.portion() is None
    assert waited > 10
    assert found + rest_of(past.reader()) == ALL
    past.close()

"""All that is known of one step: values, what is usual, marks, and what its line in the log says."""

from __future__ import annotations

import math
import os
from dataclasses import replace
from pathlib import Path

import pytest

from engine.events import Alert, Event, ModelInfo, Resume, Stamped, Start, Step, StepMemory, StepTime, decode, encode
from engine.events.portions import portion_of
from pgs_tui.history.at_step import Usual
from pgs_tui.history.history import History
from pgs_tui.history.log_lines import LogLines
from tests.pgs_tui.making import stamped, step


def start(device: str) -> Start:
    model = ModelInfo(name="m", params=10, trainable=5)
    return Start(run="r", command="c", config="x.yaml", model=model, device=device)


def history_of(*events: Event) -> History:
    history = History()
    history.fold(stamped(*events))
    return history


def followed(path: Path, *events: Event) -> History:
    """The history of a log that was written and followed line by line."""
    history, written = History(LogLines(path)), b""
    for stamp in stamped(*events):
        history.take(stamp.event, stamp.t, len(written))
        written += encode(stamp.event, stamp.t).encode() + b"\n"
    path.write_bytes(written)
    return history


def test_values_are_those_of_the_step() -> None:
    history = history_of(*(step(number, loss=number / 2, lr=number * 1e-5, tokens=10) for number in range(1, 9)))
    at = history.at(6)
    assert at is not None
    assert (at.step, at.index, at.tokens, at.t) == (6, 5, 60, 1005.0)
    assert at.values["loss"] == 3.0
    assert at.lr == pytest.approx(6e-5)
    assert at.values["moved"] is None, "what was not measured is not 0"
    assert history.at(1000) == history.at(8), "the nearest step there is"
    assert History().at(1) is None


def test_tokens_are_told_as_exactly_as_they_are_known() -> None:
    history = history_of(*(step(number, tokens=1_234_567) for number in range(1, 1001)))
    assert [at.tokens for number in (1, 1000) if (at := history.at(number))] == [1_234_567, 1_234_567_000]
    assert history.tokens == 1_234_567_000


def test_not_finite_is_a_value_and_missing_is_none() -> None:
    history = history_of(step(1, math.nan), step(2, None), step(3, math.inf))
    values = [at.values["loss"] for number in (1, 2, 3) if (at := history.at(number))]
    assert values[0] is not None and math.isnan(values[0])
    assert values[1:] == [None, math.inf]


def test_outliers_are_no_part_of_what_is_usual() -> None:
    losses = [2.0, 2.1, 1.9, 2.0, 2.2, 1.8, 9.0, 2.0, 2.1]
    events: list[Event] = [step(number, loss) for number, loss in enumerate(losses, 1)]
    events[6:6] = [
        Alert(
            id="a", state="open", code="SPIKE_TAKEN", severity="warning", meaning="m", step=7, metric="loss", value=9.0
        )
    ]
    at = history_of(*events).at(9)
    assert at is not None
    assert at.usual["loss"].level == 2.0
    assert at.usual["loss"].spread == pytest.approx(0.1 * 1.4826)


def test_where_a_trend_began_is_not_what_is_usual_before_the_step_at_which_it_was_told() -> None:
    told = Alert(
        id="a", state="open", code="LOSS_RISES", severity="warning", meaning="m", step=6, metric="loss", baseline=1.25
    )
    at = history_of(*(step(number) for number in range(1, 8)), told).at(6)
    assert at is not None and at.usual["loss"].level == 2.0


def test_an_alert_knows_best_what_was_usual_for_its_step() -> None:
    told = Alert(
        id="a",
        state="open",
        code="SPIKE_TAKEN",
        severity="warning",
        meaning="m",
        step=6,
        metric="loss",
        baseline=1.25,
        spread=0.19,
    )
    at = history_of(*(step(number, 2.0) for number in range(1, 6)), told, step(6, 9.0)).at(6)
    assert at is not None
    assert at.usual["loss"] == Usual(1.25, 0.19)
    assert [mark.kind for mark in at.marks] == ["spike"]


def test_nothing_is_usual_for_the_first_steps() -> None:
    at = history_of(step(1), step(2), step(3)).at(3)
    assert at is not None and at.usual == {}


def test_where_every_step_is_odd_they_are_what_is_usual() -> None:
    at = history_of(*(step(number, 2.0, skipped=True) for number in range(1, 9))).at(8)
    assert at is not None and at.usual["loss"].level == 2.0


def test_the_average_is_that_after_the_step() -> None:
    history = history_of(*(step(number, float(number)) for number in range(1, 200)))
    history.smooth_columns("loss", 0.5, 1, 200, 10)
    at = history.at(3)
    assert at is not None and at.smoothed["loss"] == pytest.approx((0.125 * 1 + 0.25 * 2 + 0.5 * 3) / 0.875)


def test_rows_stand_in_the_line_of_the_log(tmp_path: Path) -> None:
    steps = [step(number, rows=(number, number + 100), clip_scale=0.5) for number in range(1, 400)]
    history = followed(tmp_path / "events.jsonl", *steps)
    at = history.at(300)
    assert at is not None and at.rows == (300, 400)
    assert at.line is not None and at.line.clip_scale == 0.5
    cheap = history.at(300, read=False)
    assert cheap is not None and cheap.rows is None


def test_rows_of_a_replaced_log_are_not_known(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    history = followed(path, *(step(number, rows=(number,)) for number in range(1, 9)))
    written = path.read_bytes()
    path.write_bytes(written[: len(written) // 2])
    assert [at.rows for number in (1, 8) if (at := history.at(number))] == [(1,), None]
    path.write_bytes(b"".join(written.splitlines(keepends=True)[1:]) + written)
    assert [at.rows for number in (1, 3) if (at := history.at(number))] == [None, None], "another step's line"
    path.unlink()
    at = history.at(3)
    assert at is not None and at.rows is None
    os.mkfifo(path)
    at = history.at(3)
    assert at is not None and at.rows is None, "nor does it wait for one who would write"


def test_what_the_gpu_did_in_a_step_is_told_with_the_next_one(tmp_path: Path) -> None:
    def timed(number: int) -> Step:
        return step(number, time=StepTime(data=number * 0.1, forward=number * 1.0, gc=number * 0.01))

    on_gpu = followed(tmp_path / "gpu.jsonl", start("cuda:0"), timed(1), timed(2), timed(3))
    at = on_gpu.at(2)
    assert at is not None and at.time == StepTime(data=0.2, forward=3.0, gc=0.02)
    newest = on_gpu.at(3)
    assert newest is not None and newest.time is not None and newest.time.forward is None
    on_cpu = followed(tmp_path / "cpu.jsonl", start("cpu"), timed(1), timed(2))
    at = on_cpu.at(1)
    assert at is not None and at.time is not None and at.time.forward == 1.0


def test_a_step_that_came_in_a_block_is_read_back_whole(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    full = StepMemory(allocated=3.0, peak=4.0, weights=1.0, optimizer=2.0)
    followed(path, *(step(number, rows=(number,), mem=full) for number in range(1, 50)))
    history = History(LogLines(path))
    for block in portion_of(path.read_bytes()).blocks:
        history.extend(block)
    assert history.step is not None and history.step.mem == full
    at = history.at(17)
    assert at is not None and at.rows == (17,)
    without_log = History()
    for block in portion_of(path.read_bytes()).blocks:
        without_log.extend(block)
    assert without_log.step is not None
    assert without_log.step.mem == replace(full, weights=None, optimizer=None)


def test_a_resume_leads_to_the_new_lines(tmp_path: Path) -> None:
    old = [step(number, rows=(number,)) for number in range(1, 6)]
    new = [step(number, rows=(number * 10,)) for number in range(4, 7)]
    history = followed(tmp_path / "events.jsonl", *old, Resume(from_step=3, checkpoint="c"), *new)
    assert [at.rows for number in (3, 4, 6) if (at := history.at(number))] == [(3,), (40,), (60,)]


def test_a_line_is_found_behind_gigabytes(tmp_path: Path) -> None:
    path, far = tmp_path / "events.jsonl", 3 * 2**33
    line = encode(step(2, rows=(7,)), 0.0).encode() + b"\n"
    with path.open("wb") as file:
        file.seek(far)
        file.write(line)
    stamped_line = decode(line)
    assert isinstance(stamped_line, Stamped)
    history = History(LogLines(path))
    history.take(step(1), 0.0, 0)
    history.take(step(2, rows=(7,)), 0.0, far)
    at = history.at(2)
    assert at is not None and at.rows is None, "too far behind the line before it"
    fresh = History(LogLines(path))
    fresh.take(step(2, rows=(7,)), 0.0, far)
    at = fresh.at(2)
    assert at is not None and at.rows == (7,)

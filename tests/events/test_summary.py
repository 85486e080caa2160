"""What is told of a run in a list: the same however its events were taken in."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from engine.events import (
    Alert,
    Audit,
    AuditFlag,
    Checkpoint,
    End,
    Eval,
    Event,
    ModelInfo,
    Phase,
    Resume,
    Stamped,
    Start,
)
from engine.events.codec import encode
from engine.events.portions import portion_of
from engine.events.summary import MOST_LOWS, RunSummary, summary_of_text, summary_text
from engine.events.summary_worker import sum_up
from tests.pgs_tui.making import step

START = Start(
    run="r",
    command="pgs train",
    config="small",
    model=ModelInfo(name="Qwen/Qwen3-4B", params=4_000, trainable=3_000),
    device="cpu",
    total_steps=10,
)


def alert(id: str, state: str = "open", severity: str = "warning") -> Alert:
    return Alert(id=id, state=state, code="SPIKE", severity=severity, meaning="high")  # type: ignore[arg-type]


def lines(*events: Event, begin: float = 1000.0, every: float = 1.0) -> bytes:
    return "".join(encode(event, begin + place * every) + "\n" for place, event in enumerate(events)).encode()


def summed(log: bytes) -> RunSummary:
    """Folded in columns, as a long log is; one by one it must be the same."""
    by_blocks, one_by_one = RunSummary(), RunSummary()
    for block in portion_of(log).blocks:
        by_blocks.fold(block)
    for text in log.splitlines():
        for block in portion_of(text + b"\n").blocks:
            one_by_one.fold(block)
    assert summary_text(by_blocks) == summary_text(one_by_one)
    return by_blocks


def test_model_steps_losses_and_time() -> None:
    told = summed(
        lines(Phase(name="loading model"), START, step(1, 3.0), step(2, 2.0), step(3, 2.5), Eval(step=3, loss=2.2))
    )
    assert (told.model, told.total_steps, told.step, told.loss) == ("Qwen/Qwen3-4B", 10, 3, 2.5)
    assert told.lows == ((1, 3.0), (2, 2.0)) and told.best == (3, 2.2), "an evaluation says more than one batch"
    assert (told.seconds, told.tokens, told.status) == (5.0, 300, None)


def test_a_step_that_was_skipped_or_has_no_loss_is_no_record() -> None:
    told = summed(lines(START, step(1, 3.0), step(2, 0.1, skipped=True), step(3, float("nan")), step(4, None)))
    assert (told.step, told.loss, told.lows) == (4, None, ((1, 3.0),))
    nan_at_the_end = summed(lines(START, step(1, 3.0), step(2, float("nan"))))
    assert nan_at_the_end.loss != nan_at_the_end.loss


def test_an_incident_counts_once_under_its_gravest_word() -> None:
    findings = Audit(
        flags=(
            AuditFlag(code="A", severity="warning", count=3, message="odd"),
            AuditFlag(code="B", severity="info", count=1, message="well"),
        )
    )
    events = (START, findings, alert("a"), alert("a", "update", "error"), alert("a", "closed", "error"), alert("b"))
    told = summed(lines(*events, alert("full", "closed"), alert("a"), findings))
    assert told.alerts == {"warning": 3, "error": 1} and told.findings == {"warning": 1}
    assert (told.alert_count, told.count("warning")) == (5, 4)


def test_what_a_resume_makes_obsolete_is_no_record_any_more() -> None:
    first = lines(
        Phase(name="loading model"), START, *(step(n, 4.0 - n / 4) for n in range(1, 9)), Eval(step=8, loss=1)
    )
    later = lines(Phase(name="loading model"), START, Resume(from_step=4, checkpoint="c"), step(5, 3.5), begin=90_000.0)
    told = summed(first + later)
    assert (told.step, told.best, told.eval_lows) == (5, (4, 3.0), ())
    assert told.seconds == 10 + 3, "the night between the two is no time at work"
    ended = End(status="stopped", reason="asked", exit_code=0, last_step=8)
    told = summed(first + lines(ended, begin=1011.0) + later)
    assert (told.seconds, told.status, told.first_t) == (11 + 3, None, 1000.0)
    assert summed(first + lines(ended, begin=1011.0)).status == "stopped"


def test_steps_that_begin_again_without_a_word_replace_the_earlier_ones() -> None:
    told = summed(lines(START, step(1, 3.0), step(2, 1.0), START, step(1, 2.9), step(2, 2.8)))
    assert told.lows == ((1, 2.9), (2, 2.8))


def test_a_curve_of_nothing_but_records_stays_small() -> None:
    told = summed(lines(START, *(step(n, 1e6 / n) for n in range(1, 3000))))
    assert len(told.lows) <= MOST_LOWS and told.best == (2999, 1e6 / 2999) and told.lows[0] == (1, 1e6)


def test_it_is_written_and_read_again(tmp_path: Path) -> None:
    told = summed(
        lines(START, step(1, float("inf")), step(2, 2.0), alert("a"), Checkpoint(step=2, path="p", seconds=1, bytes=1))
    )
    assert summary_of_text(summary_text(told)) == told
    for odd in ("", "null", "[]", "{", '{"v": 2}', '{"v": 1, "step": "3"}', '{"v": 1, "log_bytes": -1}', "[" * 100_000):
        assert summary_of_text(odd) is None
    assert summary_of_text('{"v": 1, "step": 3, "later": true}') == RunSummary(step=3)


def test_a_log_is_summed_up_bit_by_bit(tmp_path: Path) -> None:
    log, whole = tmp_path / "events.jsonl", lines(START, *(step(n, 4 - n / 10) for n in range(1, 20)))
    summary = RunSummary()
    for upto in range(0, len(whole) + 97, 97):
        log.write_bytes(whole[:upto])
        with log.open("rb") as file:
            sum_up(file, summary, min(upto, len(whole)))
    assert (summary.step, summary.log_bytes) == (19, len(whole))


def test_a_program_of_its_own_sums_up_long_logs(tmp_path: Path) -> None:
    log = tmp_path / "a \n b.jsonl"
    log.write_bytes(b"\x00\xff{\n" + lines(START, step(1, 2.5)) + b'{"torn')
    asked = "".join(json.dumps(str(path)) + "\n" for path in (log, tmp_path / "none"))
    command = [sys.executable, "-S", "-m", "engine.events.summary_worker"]
    answers = subprocess.run(command, input=asked.encode(), capture_output=True, check=True).stdout.splitlines()
    told = summary_of_text(answers[0])
    assert told is not None and (told.step, told.loss) == (1, 2.5) and answers[1] == b"null"


def test_readings_behind_the_end_leave_it_as_it_is() -> None:
    told = summed(lines(START, step(1), End(status="failed", reason="why", exit_code=1, last_step=1), alert("late")))
    assert (told.status, told.reason, told.exit_code, told.seconds) == ("failed", "why", 1, 2.0)
    assert isinstance(Stamped(1.0, START), Stamped)


def timed(*events: tuple[float, Event]) -> bytes:
    return "".join(encode(event, t) + "\n" for t, event in events).encode()


def test_neither_a_pause_nor_a_night_in_which_the_machine_slept_was_time_at_work() -> None:
    paused = timed(
        (0.0, Phase(name="training")),
        *((2.0 * number, step(number, dt=2.0)) for number in range(1, 6)),
        (10.0, Phase(name="paused")),
        (5000.0, Phase(name="training")),
        *((4990.0 + 2.0 * number, step(number, dt=2.0)) for number in range(6, 11)),
    )
    assert summed(paused).seconds == 20.0
    slept = timed(*((2.0 * n + (30_000.0 if n > 5 else 0.0), step(n, dt=2.0)) for n in range(1, 11)))
    assert summed(slept).seconds == 18.0
    evaluated = timed((2.0, step(1, dt=2.0)), (302.0, Eval(step=1, name="e", loss=1.0)), (304.0, step(2, dt=2.0)))
    assert summed(evaluated).seconds == 302.0, "what was told to have taken long was work"

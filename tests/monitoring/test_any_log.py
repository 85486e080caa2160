"""Whatever stands in a log: it is read to its end, and what is told of it is JSON and text."""

from __future__ import annotations

import io
import json
import time
from collections.abc import Sequence
from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from engine.events.text_reader import TextBatch
from engine.monitoring.as_json import change, document
from engine.monitoring.as_text import MonitorPrinter
from engine.monitoring.log_source import LogSource
from engine.monitoring.run_source import RunSource
from engine.monitoring.source import Source
from engine.printing.paper import paper_for
from engine.rundir import RunDir

NUMBERS = st.one_of(
    st.floats(width=32).map(str),
    st.integers(-(10**20), 10**20).map(str),
    st.sampled_from(("nan", "-inf", "1e999", "?")),
)
STEP_LINES = st.builds(
    lambda prefix, step, names, values: (
        prefix + f"step={step} " + " ".join(map("=".join, zip(names, values, strict=False)))
    ),
    st.sampled_from(("", "", "INFO ", "SPIKE SKIPPED ", "\x1b[31m")),
    st.one_of(st.integers(-5, 10**18).map(str), st.integers(0, 40).map(str)),
    st.lists(st.sampled_from(("loss", "lr", "grad_norm", "dt", "tok/s", "eval", "epoch")), max_size=7),
    st.lists(NUMBERS, min_size=7, max_size=7),
)
OTHER_LINES = st.one_of(
    st.text(max_size=40),
    st.sampled_from(
        (
            "finished: done",
            "failed: no",
            "continues after step 3 from checkpoints/step-3",
            "continues after step 99999999999999999999 from x",
            "Traceback (most recent call last):",
            "ValueError: \x1b[2J",
            "torch.OutOfMemoryError: CUDA out of memory.",
        )
    ),
)
FIELDS = st.dictionaries(
    st.sampled_from(
        ("step", "loss", "lr", "grad_norm", "dt", "epoch", "tokens", "slots", "loss_tokens", "tok_s", "name")
    ),
    st.one_of(st.none(), st.integers(), st.floats(), st.sampled_from(("NaN", "Infinity", "x", "training"))),
)
EVENTS = st.builds(
    lambda kind, t, fields: json.dumps({"v": 1, "t": t, "event": kind, **fields}),
    st.sampled_from(("step", "phase", "eval", "resume", "alert", "host", "gpu", "end", "start", "other")),
    st.floats(allow_nan=False, allow_infinity=False),
    FIELDS,
)


class Given:
    """Lines that are there at once."""

    is_over = False

    def __init__(self, lines: Sequence[str]) -> None:
        self._lines = tuple(lines)

    def poll(self) -> TextBatch:
        lines, self._lines = self._lines, ()
        return TextBatch(lines)

    def rest(self) -> tuple[str, ...]:
        return ()

    def changed(self) -> float | None:
        return time.time()


def tell(source: Source) -> None:
    out = io.StringIO()
    printer = MonitorPrinter(paper_for(out, False), is_brief=False)
    for told in source.poll():
        json.dumps(change(told), allow_nan=False)
        printer.told(told)
    json.dumps(document(source), allow_nan=False)
    printer.report(source)
    MonitorPrinter(paper_for(out, True), is_brief=True).report(source)
    assert "\x1b" not in out.getvalue()


@settings(max_examples=50, deadline=None)
@given(st.lists(st.one_of(STEP_LINES, OTHER_LINES), max_size=60), st.booleans())
def test_any_plain_log_can_be_judged(lines: list[str], follows: bool) -> None:
    tell(LogSource(Given(lines), "any.log", follows))


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.one_of(EVENTS, st.text(max_size=20)), max_size=40))
def test_any_log_of_a_run_can_be_judged(tmp_path: Path, lines: list[str]) -> None:
    run = RunDir(tmp_path)
    run.events.write_text("\n".join(lines) + "\n", errors="replace")
    tell(RunSource(run))


def test_a_log_without_a_step_is_told_as_such() -> None:
    source = LogSource(Given(["hello", "world"]), "any.log", False)
    tell(source)
    assert "no step line was found" in source.notes[0] and document(source)["step"] is None
    assert document(source)["health"] == "unknown", "nobody can say that it is well"
    failed = LogSource(Given(["Traceback (most recent call last):", "  File", "ValueError: no"]), "any.log", False)
    tell(failed)
    assert document(failed)["health"] == "failed"

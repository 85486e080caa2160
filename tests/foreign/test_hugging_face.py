"""`trainer_state.json`, checkpoints, and what the Trainer prints."""

from __future__ import annotations

import json
import math
import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from engine.events import Alert, End, Resume, Start, Step
from engine.events.foreign.recognised import recognised
from engine.events.foreign.told import NotReadableError
from engine.foreign.judged import ForeignEvents
from engine.health.foreign import COUNTED, ForeignLog
from tests.foreign.samples import CONSOLE, STATE, TRAINER, evals_of, events_of, news, steps_of


def written(path: Path, records: list[dict[str, Any]], step: int, total: int = 1000, at: float | None = None) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"global_step": step, "max_steps": total, "log_history": records}))
    if at is not None:
        os.utime(path, (at, at))


def logged(*steps: int, loss: float = 2.0) -> list[dict[str, Any]]:
    return [
        {"step": step, "loss": loss, "learning_rate": 1e-4, "grad_norm": 1.0, "epoch": step / 100} for step in steps
    ]


def test_the_whole_history_is_there() -> None:
    events = events_of(STATE)
    steps = steps_of(events)
    assert [step.step for step in steps] == list(range(2, 51, 2))
    assert (steps[0].loss, steps[0].lr, steps[0].tokens) == (pytest.approx(3.9097, abs=1e-4), 0.0098, 128)
    assert math.isnan(steps[0].dt), "it does not tell how long a step took"
    assert [one.step for one in evals_of(events)][:5] == [10, 20, 30, 40, 50]
    assert isinstance(events[0], Start) and events[0].total_steps == 50
    end = events[-1]
    assert isinstance(end, End) and (end.status, end.last_step) == ("finished", 50)


def test_the_summary_at_the_end_is_no_step() -> None:
    assert all(step.loss is not None for step in steps_of(events_of(STATE)))


def test_what_the_trainer_printed_tells_the_same_steps() -> None:
    """The dicts have no step; the progress bar behind each tells it."""
    state, console = events_of(STATE), events_of(CONSOLE)
    assert [step.step for step in steps_of(console)] == [step.step for step in steps_of(state)]
    for printed, kept in zip(steps_of(console), steps_of(state), strict=True):
        assert printed.loss == pytest.approx(kept.loss, abs=1e-3)
        assert printed.tokens == kept.tokens
    assert [one.step for one in evals_of(console)] == [10, 20, 30, 40, 50]
    assert any(isinstance(event, End) and event.status == "finished" for event in console)


def test_a_folder_shows_the_state_that_got_on_farthest(tmp_path: Path) -> None:
    for step in (5, 100, 20):
        written(tmp_path / f"checkpoint-{step}" / "trainer_state.json", logged(*range(5, step + 1, 5)), step)
    assert steps_of(events_of(tmp_path))[-1].step == 100
    assert recognised(TRAINER).kind == "trainer_state"


def test_training_that_went_back_to_an_earlier_checkpoint_is_what_is_shown(tmp_path: Path) -> None:
    written(tmp_path / "checkpoint-100" / "trainer_state.json", logged(50, 100), 100, at=1000.0)
    written(tmp_path / "checkpoint-60" / "trainer_state.json", logged(50) + logged(60, loss=9.0), 60, at=2000.0)
    assert steps_of(events_of(tmp_path))[-1].loss == 9.0


def test_a_file_that_grows_brings_only_what_is_new(tmp_path: Path) -> None:
    written(tmp_path / "checkpoint-10" / "trainer_state.json", logged(5, 10), 10, at=1000.0)
    reader = ForeignEvents(recognised(tmp_path))
    news(reader)
    assert news(reader) == []
    written(tmp_path / "checkpoint-20" / "trainer_state.json", logged(5, 10, 15, 20), 20, at=2000.0)
    shutil.rmtree(tmp_path / "checkpoint-10")
    told = news(reader)
    assert [one.event.step for one in told if isinstance(one.event, Step)] == [15, 20]
    assert {one.t for one in told} == {2000.0}


def test_losses_that_are_no_numbers_are_told_once_and_raise_an_alert(tmp_path: Path) -> None:
    path = tmp_path / "trainer_state.json"
    written(path, [*logged(*range(1, 30)), *logged(30, loss=math.nan)], 30, at=1000.0)
    reader = ForeignEvents(recognised(path))
    told = news(reader)
    assert any(isinstance(one.event, Alert) and one.event.code == "NON_FINITE_LOSS" for one in told)
    written(path, [*logged(*range(1, 30)), *logged(30, loss=math.nan), *logged(31)], 31, at=2000.0)
    assert [one.event.step for one in news(reader) if isinstance(one.event, Step)] == [31]


def test_of_a_file_that_was_cut_the_good_part_is_shown(tmp_path: Path) -> None:
    path = tmp_path / "trainer_state.json"
    path.write_text(STATE.read_text()[:3000])
    batch = ForeignEvents(recognised(path)).poll()
    assert sum(isinstance(one.event, Step) for one in batch.events) == 9
    assert batch.notes == (f"{path}: no JSON from character 2,955 on; the first 10 records are shown",)


def test_a_file_that_is_being_written_takes_nothing_back(tmp_path: Path) -> None:
    path = tmp_path / "trainer_state.json"
    written(path, logged(*range(1, 11)), 10, at=1000.0)
    reader = ForeignEvents(recognised(path))
    news(reader)
    whole = path.read_text()
    path.write_text(whole[: len(whole) // 2])
    assert [one for one in news(reader) if isinstance(one.event, (Step, Resume))] == []
    written(path, logged(*range(1, 13)), 12, at=3000.0)
    assert [one.event.step for one in news(reader) if isinstance(one.event, Step)] == [11, 12]


def test_json_that_is_no_state_is_refused_with_its_place(tmp_path: Path) -> None:
    path = tmp_path / "trainer_state.json"
    path.write_text('{"log_history": 3}')
    with pytest.raises(NotReadableError, match=r'trainer_state.json: it has no list "log_history"'):
        ForeignEvents(recognised(path)).poll()


@pytest.mark.parametrize(
    ("line", "loss"),
    (
        ("{'loss': 2.1, 'grad_norm': 0.5, 'learning_rate': 2e-05, 'epoch': 0.02}", 2.1),
        ("{'loss': '2.1', 'grad_norm': '0.5', 'learning_rate': '2e-05', 'epoch': '0.02'}", 2.1),
        ("{'loss': nan, 'grad_norm': nan, 'learning_rate': 2e-05, 'epoch': 0.02}", math.nan),
        ("2026-01-01 10:00:00 INFO {'loss': 2.1, 'learning_rate': 2e-05, 'mean_token_accuracy': 0.5}", 2.1),
        ('{"loss": 2.1, "lr": 2e-05, "nested": {"loss": 7}}', 2.1),
    ),
)
def test_dicts_without_a_step_and_without_a_bar_are_counted(line: str, loss: float) -> None:
    log = ForeignLog()
    told = [*log.take(line), *log.take(line), *log.rest()]
    steps = [one.event for one in told if isinstance(one.event, Step)]
    assert [step.step for step in steps] == [1, 2]
    assert steps[0].loss == pytest.approx(loss, nan_ok=True)
    assert steps[0].lr == 2e-5
    assert log.note == COUNTED


def test_an_evaluation_alone_is_no_step() -> None:
    log = ForeignLog()
    told = [*log.take("{'eval_loss': 1.9, 'eval_runtime': 2.0, 'epoch': 1.0}"), *log.rest()]
    assert [type(one.event).__name__ for one in told] == ["Eval"]


def test_a_dict_is_looked_at_and_never_evaluated() -> None:
    log = ForeignLog()
    told = [*log.take("{'loss': __import__('os').system('touch PWNED'), 'epoch': 1.0}"), *log.rest()]
    assert told == []
    assert list(log.take("{" * 100_000 + "}")) == []

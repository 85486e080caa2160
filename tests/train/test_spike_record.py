"""The batch behind a flagged step can be looked at, token by token."""

import itertools
import json
import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from torch import Tensor

from engine.backward.cut import CutForward, forward_to_cut
from engine.events import Alert, Step
from engine.model.head import LossHead

from .conftest import Outcome

Train = Callable[..., Outcome]
SPIKE, STEPS = 40, 43
SETTINGS = ("--train.max_steps", STEPS, "--train.learning_rate", 1e-4)


def spoil_steps(monkeypatch: pytest.MonkeyPatch, factor: Callable[[int], float]) -> None:
    """Multiply the loss that each step is trained on, counted from 1; that of the tokens stays what it is."""
    steps = itertools.count(1)

    def spoiled(head: LossHead, batch: Any) -> CutForward:
        forward = forward_to_cut(head, batch)
        return replace(forward, loss=forward.loss * factor(next(steps)))

    monkeypatch.setattr("engine.backward.gate.forward_to_cut", spoiled)


@pytest.fixture
def spike_at_step_40(monkeypatch: pytest.MonkeyPatch) -> None:
    """The loss of step 40 is five times its size, in every run of the test."""
    spoil_steps(monkeypatch, lambda step: 5.0 if step % STEPS == SPIKE else 1.0)


def record_of(done: Outcome, step: int = SPIKE) -> Any:
    return json.loads(done.run.spike(step).read_text())


def mean_loss(rows: list[Any]) -> float:
    losses = [loss for row in rows for loss in row["losses"] if loss is not None]
    return sum(losses) / len(losses)


def recorded_steps(done: Outcome) -> set[int]:
    return {int(path.stem.removeprefix("step-")) for path in done.run.spikes.glob("*.json")}


@pytest.mark.usefixtures("spike_at_step_40")
@pytest.mark.parametrize("skips", [True, False])
def test_a_flagged_step_is_recorded_with_its_losses_before_the_update(
    train: Train, skips: bool, tmp_path: Path
) -> None:
    done = train(*SETTINGS, "--train.spike_detection", str(skips).lower())
    step = done.of(Step)[SPIKE - 1]
    assert step.skipped == skips
    assert recorded_steps(done) == {SPIKE}
    opened = next(alert for alert in done.of(Alert) if alert.step == SPIKE)
    assert opened.code == ("SPIKE_SKIPPED" if skips else "SPIKE_TAKEN") and opened.rows == step.rows

    record = record_of(done)
    assert (record["v"], record["step"], record["loss"], record["grad_norm"]) == (1, SPIKE, step.loss, step.grad_norm)
    assert record["left_out"] == {"rows": [], "tokens": 0}
    assert [row["row"] for row in record["rows"]] == list(step.rows)
    assert 5 * mean_loss(record["rows"]) == pytest.approx(step.loss, rel=1e-4)
    assert sum(len(row["input_ids"]) for row in record["rows"]) == step.tokens
    assert sum(sum(row["has_loss"]) for row in record["rows"]) == step.loss_tokens
    for row in record["rows"]:
        assert row["file"] == str(tmp_path / "train.jsonl") and row["line"] == row["row"] + 1
        assert [loss is not None for loss in row["losses"]] == row["has_loss"]


@pytest.mark.usefixtures("spike_at_step_40")
def test_of_packs_every_document_is_recorded_by_itself(train: Train) -> None:
    done = train(*SETTINGS, "--data.packing", "true", "--data.max_seq_length", 256)
    step, record = done.of(Step)[SPIKE - 1], record_of(done)
    assert step.skipped and len(step.rows) > 2, "a step of two packs holds more than two rows"
    assert [row["row"] for row in record["rows"]] == list(step.rows)
    assert 5 * mean_loss(record["rows"]) == pytest.approx(step.loss, rel=1e-4)
    beginnings = {tuple(row["input_ids"][:2]) for row in record["rows"]}
    assert len(beginnings) == 1, "each begins as a chat begins"


@pytest.mark.usefixtures("spike_at_step_40")
def test_of_a_wide_step_the_worst_rows_are_kept_and_the_others_named(
    train: Train, monkeypatch: pytest.MonkeyPatch
) -> None:
    wide = (*SETTINGS, "--train.per_device_batch_size", 6)
    whole = record_of(train(*wide))["rows"]
    monkeypatch.setattr("engine.train.telling.spike_record.MOST_TOKENS", 150)
    record = record_of(train(*wide))
    kept, left_out = record["rows"], record["left_out"]
    assert 0 < sum(len(row["input_ids"]) for row in kept) <= 150
    assert [row["row"] for row in whole if row["row"] not in left_out["rows"]] == [row["row"] for row in kept]
    assert left_out["tokens"] == sum(len(row["input_ids"]) for row in whole if row["row"] in left_out["rows"]) > 0
    worst = max(whole, key=lambda row: mean_loss([row]))
    assert worst["row"] in [row["row"] for row in kept]


def test_the_newest_records_stay(train: Train, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("engine.train.telling.spike_record.MOST_RECORDS", 3)
    spoil_steps(monkeypatch, lambda step: math.nan)
    done = train("--train.max_skipped_in_a_row", 11, "--data.eval_dataset", "null")
    assert recorded_steps(done) == {9, 10, 11}


@pytest.mark.usefixtures("spike_at_step_40")
def test_without_memory_for_the_record_the_run_goes_on(train: Train, monkeypatch: pytest.MonkeyPatch) -> None:
    import torch

    def no_memory(*_: Any) -> Tensor:
        raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 4.7 GiB")

    monkeypatch.setattr(LossHead, "token_losses", no_memory)
    done = train(*SETTINGS)
    assert done.code == 0 and recorded_steps(done) == set()
    assert "step 40 was not recorded: there is no memory" in done.run.console_log.read_text()

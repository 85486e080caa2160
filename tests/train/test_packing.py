"""Runs that pack: what they tell, what they compute, and that they never pack unsafely."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from engine.events import Alert, Eval, Start, Step
from engine.train.commands import CommandDesk

from .conftest import Outcome

Train = Callable[..., Outcome]
PACKED = ("--data.packing", "true", "--data.max_seq_length", 256)
ONE_STEP = ("--train.max_steps", 1, "--train.warmup_steps", 1)
BLOOM = {
    "architectures": ["BloomForCausalLM"],
    "model_type": "bloom",
    "vocab_size": 3072,
    "hidden_size": 32,
    "n_layer": 1,
    "n_head": 4,
    "pad_token_id": 3,
}


def test_a_packed_epoch_trains_every_row_once_in_fewer_fuller_steps(
    train: Train, capsys: pytest.CaptureFixture[str]
) -> None:
    done = train(*PACKED, "--train.max_steps", "null")
    assert (done.code, done.of(Alert)) == (0, [])
    steps = done.of(Step)
    assert sorted(row for step in steps for row in step.rows) == list(range(60))
    assert len(steps) == done.of(Start)[0].total_steps < 20
    for step in steps:
        assert step.slots >= step.tokens and step.tok_s == pytest.approx(step.tokens / step.dt)
    assert sum(step.tokens for step in steps) / sum(step.slots for step in steps) > 0.9
    printed = capsys.readouterr().out
    assert "packing: 60 chats in" in printed and "packs of 256 tokens" in printed and "% full" in printed
    assert "a block mask in attention" in printed


def test_packs_and_the_same_rows_side_by_side_have_the_same_loss_and_gradient(train: Train) -> None:
    whole = (*ONE_STEP, "--train.gradient_accumulation_steps")
    packed = train(*PACKED, *whole, 60).of(Step)[0]
    separate = train("--data.max_seq_length", 256, *whole, 60).of(Step)[0]
    assert sorted(packed.rows) == sorted(separate.rows) == list(range(60))
    assert (packed.tokens, packed.loss_tokens) == (separate.tokens, separate.loss_tokens)
    assert packed.slots < separate.slots
    assert packed.loss == pytest.approx(separate.loss, rel=1e-5)
    assert packed.grad_norm == pytest.approx(separate.grad_norm, rel=1e-4)


def test_evaluation_is_the_same_with_and_without_packs(train: Train) -> None:
    packed, separate = (train(*ONE_STEP, *more).of(Eval)[0] for more in (PACKED, PACKED[2:]))
    assert (packed.step, packed.loss, packed.tokens) == (separate.step, separate.loss, separate.tokens)


def test_a_resumed_packed_run_goes_on_bit_for_bit(train: Train, monkeypatch: pytest.MonkeyPatch) -> None:
    common = (*PACKED, "--train.max_steps", 16)
    whole = train(*common)

    def stop_after_9(desk: CommandDesk) -> None:
        if desk._trainer.progress.step == 9:
            desk._session.stop.request("the test stops here")

    with monkeypatch.context() as patch:
        patch.setattr("engine.train.commands.CommandDesk.obey_all", stop_after_9)
        train(*common)
    resumed = train(*common, "--train.resume_from", "auto")
    assert resumed.losses == whole.losses
    assert [step.rows for step in resumed.of(Step)[-7:]] == [step.rows for step in whole.of(Step)[-7:]]
    refused = train("--train.max_steps", 18, "--train.resume_from", resumed.run.final)
    assert refused.code != 0 and "data.packing" in refused.end.reason


def test_a_model_that_would_mix_documents_trains_without_packs_and_says_so(
    train: Train, tiny_model: Path, config_file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "bloom"
    folder.mkdir()
    for file in tiny_model.iterdir():
        (folder / file.name).write_bytes(file.read_bytes())
    (folder / "config.json").write_text(json.dumps(BLOOM))
    config = yaml.safe_load(config_file.read_text())
    config["model"]["name_or_path"] = str(folder)
    config_file.write_text(yaml.safe_dump(config))

    done = train(*PACKED, "--train.max_steps", "null")
    assert done.code == 0
    [alert] = done.of(Alert)
    assert (alert.code, alert.severity, alert.state) == ("PACKING_OFF", "warning", "open")
    for part in ("data.packing is asked for but off", "changes another one", "2 chats where packs would hold about"):
        assert part in alert.meaning
    assert f"warning: {alert.meaning}" in capsys.readouterr().out
    steps = done.of(Step)
    assert len(steps) == done.of(Start)[0].total_steps == 30
    assert all(len(step.rows) == 2 for step in steps)
    padding = 1 - sum(step.tokens for step in steps) / sum(step.slots for step in steps)
    assert f"{padding:.0%} of what it computes is padding" in alert.meaning

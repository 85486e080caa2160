"""The longest batch is tried before any weight moves: nothing is left of it, and what ends a run is found early."""

import json
import shutil
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

import engine.train.loop
from engine.backward.rehearsal import Rehearsed, longest_packs, rehearse, shortest_samples
from engine.data import EpochSampler
from engine.data.feeding.batches import Batch
from engine.data.feeding.shares import Share
from engine.events import Alert, Checkpoint, End, Phase, Step
from engine.model.load import load_model
from engine.train.loop import Trainer

from .conftest import Outcome

Train = Callable[..., Outcome]
RELEASE = ("--memory.gradient_release", "true", "--train.max_grad_norm", "null")
BF16 = ("--model.torch_dtype", "bfloat16")
PACKED = ("--data.packing", "true", "--data.max_seq_length", 256)
OOM = "CUDA out of memory. Tried to allocate 4.69 GiB. GPU 0 has 39.39 GiB of which 921.60 MiB is free."


@dataclass
class Kept:
    """What a run holds when its last step is done."""

    weights: dict[str, Tensor] = field(default_factory=dict)
    optimizer: dict[str, Any] = field(default_factory=dict)
    random: Tensor = field(default_factory=lambda: torch.empty(0))


@pytest.fixture
def kept(monkeypatch: pytest.MonkeyPatch) -> Kept:
    """Filled anew by each run of the test, before the last save."""
    found, finish = Kept(), Trainer.finish

    def keep(trainer: Trainer) -> End:
        found.weights = {name: tensor.clone() for name, tensor in trainer.head.model.state_dict().items()}
        found.optimizer = trainer.optimizer.state_dict()
        found.random = torch.get_rng_state()
        return finish(trainer)

    monkeypatch.setattr(Trainer, "finish", keep)
    return found


@pytest.fixture
def tried(monkeypatch: pytest.MonkeyPatch) -> list[Batch]:
    """The batches that were tried."""
    batches: list[Batch] = []

    def noted(head: Any, batch: Batch, *arguments: Any, **named: Any) -> Rehearsed:
        batches.append(batch)
        return rehearse(head, batch, *arguments, **named)

    monkeypatch.setattr(engine.train.loop, "rehearse", noted)
    return batches


def change_model(monkeypatch: pytest.MonkeyPatch, change: Callable[[Any], object]) -> None:
    """Let `change` have the model of a run before anything is built on it."""
    honest = load_model

    def changed(*arguments: Any) -> Any:
        model = honest(*arguments)
        change(model)
        return model

    monkeypatch.setattr("engine.train.assemble.load_model", changed)


def with_and_without(
    train: Train, kept: Kept, monkeypatch: pytest.MonkeyPatch, *settings: Any
) -> tuple[tuple[Outcome, Kept], tuple[Outcome, Kept]]:
    """The same run with a rehearsal and without one, each with what it held at its end."""
    done = train(*settings), Kept(kept.weights, kept.optimizer, kept.random)
    with monkeypatch.context() as patch:
        patch.setattr(Trainer, "rehearse", lambda trainer: None)
        bare = train(*settings), Kept(kept.weights, kept.optimizer, kept.random)
    assert "rehearsing" in phases(done[0]) and "rehearsing" not in phases(bare[0])
    return done, bare


def assert_equal_bit_for_bit(one: tuple[Outcome, Kept], other: tuple[Outcome, Kept]) -> None:
    assert one[0].code == other[0].code == 0
    assert one[0].losses == other[0].losses and one[0].losses
    told = [
        [(s.step, s.rows, s.grad_norm, s.hidden_norm, s.moved) for s in done.of(Step)] for done in (one[0], other[0])
    ]
    assert told[0] == told[1]
    assert_same(one[1].weights, other[1].weights)
    assert_same(one[1].optimizer, other[1].optimizer)
    assert torch.equal(one[1].random, other[1].random)


def assert_same(one: Any, other: Any, place: str = "") -> None:
    """Equal in all its parts, tensors bit for bit."""
    if isinstance(one, dict):
        assert one.keys() == other.keys() and one, place
        for name in one:
            if one[name] != {}:
                assert_same(one[name], other[name], f"{place}.{name}")
    elif isinstance(one, list | tuple):
        assert len(one) == len(other), place
        for index, (mine, its) in enumerate(zip(one, other, strict=True)):
            assert_same(mine, its, f"{place}[{index}]")
    elif isinstance(one, Tensor):
        assert one.dtype == other.dtype and torch.equal(one, other), place
    else:
        assert one == other, place


def phases(done: Outcome) -> list[str]:
    return [phase.name for phase in done.of(Phase)]


@pytest.mark.parametrize(
    "settings",
    [
        (),
        ("--train.gradient_accumulation_steps", 2),
        (*RELEASE, *BF16),
        (*RELEASE, *BF16, *PACKED, "--train.optimizer", "adamw8bit"),
    ],
    ids=["plain", "accumulation", "release", "release-packs-8bit"],
)
def test_a_run_with_a_rehearsal_is_bit_for_bit_one_without(
    train: Train, kept: Kept, monkeypatch: pytest.MonkeyPatch, settings: tuple[Any, ...]
) -> None:
    assert_equal_bit_for_bit(*with_and_without(train, kept, monkeypatch, "--train.max_steps", 6, *settings))


@pytest.mark.parametrize("settings", [(), (*RELEASE, *BF16)], ids=["plain", "release"])
def test_dropout_draws_the_same_numbers_after_a_rehearsal(
    train: Train,
    kept: Kept,
    monkeypatch: pytest.MonkeyPatch,
    tiny_model: Path,
    tmp_path: Path,
    settings: tuple[Any, ...],
) -> None:
    folder = tmp_path / "with-dropout"
    shutil.copytree(tiny_model, folder)
    shape = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**shape, "attention_dropout": 0.3}))
    common = ("--model.name_or_path", folder, "--train.max_steps", 4, *settings)
    done, bare = with_and_without(train, kept, monkeypatch, *common)
    assert_equal_bit_for_bit(done, bare)
    plain = train("--train.max_steps", 4, *settings)
    assert plain.losses != done[0].losses, "nothing was dropped"
    assert not torch.equal(kept.random, done[1].random), "dropout drew no number"


@pytest.mark.parametrize("settings", [(), (*RELEASE, *BF16)], ids=["plain", "release"])
def test_a_resumed_run_rehearses_too_and_goes_on_bit_for_bit(
    train: Train, kept: Kept, monkeypatch: pytest.MonkeyPatch, settings: tuple[Any, ...]
) -> None:
    whole = train("--train.save_steps", 5, *settings)
    in_one_go = Kept(kept.weights, kept.optimizer, kept.random)
    again = ("--train.resume_from", whole.run.checkpoints / "step-5", *settings)
    resumed, bare = with_and_without(train, kept, monkeypatch, *again)
    assert [step.step for step in resumed[0].of(Step)] == list(range(6, 13))
    assert_equal_bit_for_bit(resumed, bare)
    assert_same(resumed[1].weights, in_one_go.weights)


@pytest.mark.parametrize("settings", [(), (*RELEASE, *BF16)], ids=["plain", "release"])
def test_out_of_memory_in_the_rehearsal_is_told_before_the_first_step(
    train: Train, monkeypatch: pytest.MonkeyPatch, tried: list[Batch], settings: tuple[Any, ...]
) -> None:
    def no_memory(*_: Any) -> Any:
        raise torch.OutOfMemoryError(OOM)

    monkeypatch.setattr("engine.backward.rehearsal.forward_to_cut", no_memory)
    done = train(*settings)
    assert (done.code, done.end.status, done.end.exit_code, done.end.last_step) == (3, "failed", 3, 0)
    assert phases(done)[-1] == "rehearsing" and not done.of(Step) and not done.of(Checkpoint)
    longest = max(document.stop - document.start for document in tried[0].documents)
    for part in ("before the first step", f"longest row of the batch {longest:,} tokens", "4.7 GiB", "0.9 GiB free"):
        assert part in done.end.reason
    [alert] = [alert for alert in done.of(Alert) if alert.code == "OUT_OF_MEMORY"]
    assert {"train.per_device_batch_size", "data.max_seq_length"} <= {advice.key for advice in alert.advice}
    assert ("memory.gradient_release" in {advice.key for advice in alert.advice}) == (not settings)
    assert alert.rows == tried[0].rows


@pytest.mark.parametrize("settings", [(), RELEASE], ids=["plain", "release"])
def test_a_trained_weight_without_a_gradient_refuses_the_start(
    train: Train, monkeypatch: pytest.MonkeyPatch, settings: tuple[Any, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    change_model(
        monkeypatch, lambda model: model.model.layers[1].register_parameter("unused", nn.Parameter(torch.ones(3)))
    )
    done = train(*settings)
    assert (done.code, done.end.status, done.end.last_step) == (1, "failed", 0)
    assert "model.layers.1.unused would be trained but no gradient reaches" in done.end.reason
    assert not done.of(Step) and not done.of(Checkpoint)
    assert not list(done.run.path.rglob("*.safetensors"))
    assert "Traceback" not in "".join(capsys.readouterr())


def test_frozen_inputs_under_recomputation_leave_no_trained_weight_without_a_gradient(train: Train) -> None:
    for how in ("full", "selective"):
        frozen = ("--train.freeze_non_attention", "true", "--train.gradient_checkpointing", how)
        done = train("--train.max_steps", 3, *frozen)
        assert done.code == 0 and "rehearsing" in phases(done), done.end.reason


def test_of_many_weights_without_a_gradient_three_are_named(train: Train, monkeypatch: pytest.MonkeyPatch) -> None:
    def add_unused(model: Any) -> None:
        for index in range(5):
            model.register_parameter(f"unused_{index}", nn.Parameter(torch.ones(1)))

    change_model(monkeypatch, add_unused)
    assert "unused_0, unused_1, unused_2 and 2 more would be trained" in train().end.reason


def test_a_gradient_of_zeros_is_a_warning(
    train: Train, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    change_model(monkeypatch, lambda model: nn.init.zeros_(model.model.layers[0].mlp.up_proj.weight))
    done = train("--train.max_steps", 3)
    assert done.code == 0 and len(done.of(Step)) == 3
    [alert] = [alert for alert in done.of(Alert) if alert.code == "NO_GRADIENT"]
    assert (alert.severity, alert.state) == ("warning", "open") and alert.rows
    for name in ("model.layers.0.mlp.gate_proj.weight", "model.layers.0.mlp.down_proj.weight"):
        assert name in alert.meaning
    assert "up_proj" not in alert.meaning
    assert f"warning: {alert.meaning}" in capsys.readouterr().out


@pytest.mark.parametrize("settings", [(), RELEASE], ids=["plain", "release"])
def test_a_gradient_that_is_not_finite_refuses_the_start(
    train: Train, monkeypatch: pytest.MonkeyPatch, settings: tuple[Any, ...]
) -> None:
    change_model(monkeypatch, lambda model: model.model.layers[0].mlp.up_proj.weight.data.fill_(float("nan")))
    done = train(*settings)
    assert (done.code, done.end.status, done.end.last_step) == (1, "failed", 0)
    assert "is not finite on the longest batch, before any weight has moved" in done.end.reason
    assert "model.layers.0" in done.end.reason or "model.embed_tokens" in done.end.reason
    assert not done.of(Step) and not list(done.run.path.rglob("*.safetensors"))


@pytest.mark.parametrize("settings", [("--data.max_seq_length", 200), PACKED], ids=["padded", "packs"])
def test_what_is_tried_is_as_wide_as_any_batch_of_the_epoch(
    train: Train, tried: list[Batch], settings: tuple[Any, ...]
) -> None:
    steps = train(*settings, "--train.max_steps", "null", "--train.epochs", 1).of(Step)
    [batch] = tried
    assert (batch.packs is not None) == (settings == PACKED)
    assert batch.slots >= max(step.slots for step in steps)
    assert batch.real_tokens >= max(step.tokens for step in steps)


def test_the_longest_row_is_tried_although_this_epoch_leaves_it_out() -> None:
    """Of a source with weight 0.5 each epoch draws another half."""
    lengths = [10 + index for index in range(20)]
    sampler = EpochSampler(lengths, 2, 0, shares=[Share(0, 20, 0.5)])
    assert longest_packs(sampler, 2) == [(19,), (18,)]


def test_rows_of_a_source_that_is_never_drawn_are_not_tried() -> None:
    sampler = EpochSampler([5, 6, 7, 100, 100], 2, 0, shares=[Share(0, 3, 1.0), Share(3, 5, 0.0)])
    assert longest_packs(sampler, 2) == [(2,), (1,)]


def test_a_row_that_comes_twice_an_epoch_may_stand_twice_in_a_batch() -> None:
    sampler = EpochSampler([5, 9], 4, 0, shares=[Share(0, 1, 1.0), Share(1, 2, 3.0)])
    assert longest_packs(sampler, 4) == [(1,), (1,), (1,), (0,)]


def test_of_packs_the_fullest_are_tried() -> None:
    sampler = EpochSampler([60, 50, 40, 30, 20, 10], 1, 0, pack_length=100)
    fill = [sum(sampler.lengths[index] for index in pack) for pack in longest_packs(sampler, 2)]
    assert fill == sorted((sum(sampler.lengths[i] for i in pack) for pack in sampler.order), reverse=True)[:2]


def test_the_narrowest_batch_is_there_only_where_batches_differ() -> None:
    varying = EpochSampler([60, 50, 10, 30, 20], 2, 0)
    assert shortest_samples(varying, 2) == [(2,), (4,)]
    assert shortest_samples(EpochSampler([8, 8, 8], 2, 0), 2) == []
    assert shortest_samples(EpochSampler([60, 50, 10], 1, 0, pack_length=100), 2) == []


def test_with_accumulation_one_micro_batch_is_tried_not_the_whole_step(train: Train, tried: list[Batch]) -> None:
    train("--train.max_steps", 2, "--train.gradient_accumulation_steps", 4)
    assert len(tried[0].rows) == 2

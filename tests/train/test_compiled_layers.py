"""Runs with compiled layers: the losses and weights of runs without, and nothing compiled after the rehearsal."""

from __future__ import annotations

import os
import shutil
import signal
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch

from engine.events import Phase, Step
from engine.model.compiled import compile_layers
from engine.train import prepare_layers

from .conftest import Outcome
from .stack import PLAIN, RELEASE, Left, small_model

Train = Callable[..., Outcome]
COMPILE = ("--model.compile", "true")
PACKED = ("--data.packing", "true", "--data.max_seq_length", 256)
STEPS = ("--train.max_steps", 5, "--data.eval_dataset", "null", "--data.eval_every", "null")


@pytest.fixture(autouse=True)
def structure_alone(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> None:
    """Graphs, guards and partitions are the compiler's; the code made of them takes minutes on a CPU."""
    torch._dynamo.reset()
    if "real_compiler" not in request.fixturenames:
        monkeypatch.setattr(prepare_layers, "compile_layers", partial(compile_layers, backend="aot_eager"))


@pytest.fixture
def real_compiler() -> Iterator[None]:
    """Without vector instructions, for which g++ would be asked and take longer."""
    if shutil.which(os.environ.get("CXX", "g++")) is None:
        pytest.skip("needs g++")
    from torch._inductor import config as inductor

    with inductor.patch({"cpp.simdlen": 1}):
        yield


def assert_like(compiled: Outcome, eager: Outcome, tolerance: float = 1e-4) -> None:
    assert (compiled.code, eager.code) == (0, 0)
    steps = compiled.of(Step)
    assert [step.recompiles for step in steps] == [0] * len(steps)
    assert {step.recompiles for step in eager.of(Step)} == {None}
    for ours, its in zip(steps, eager.of(Step), strict=True):
        assert ours.loss == pytest.approx(its.loss, rel=tolerance)
        assert ours.grad_norm == pytest.approx(its.grad_norm, rel=10 * tolerance)
        assert (ours.rows, ours.tokens, ours.loss_tokens) == (its.rows, its.tokens, its.loss_tokens)
    mine, its_weights = Left.by(compiled).weights, Left.by(eager).weights
    assert mine.keys() == its_weights.keys()
    for name, weight in mine.items():
        assert (weight - its_weights[name]).norm() <= tolerance * its_weights[name].norm(), name


def test_a_hybrid_with_release_packs_and_selective_recomputation(
    train: Train, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model = small_model(tmp_path, "hybrid")
    settings = ("--model.name_or_path", model, *RELEASE, *PACKED, *STEPS, "--train.gradient_checkpointing", "selective")
    kept_on_disk = torch._dynamo.utils.counters["aot_autograd"]
    kept_on_disk.clear()
    compiled, eager = train(*settings, *COMPILE), train(*settings)
    assert_like(compiled, eager)
    assert not kept_on_disk["autograd_cache_bypass"], "the next start compiles all anew"
    assert len({len(step.rows) for step in compiled.of(Step)}) > 1, "the number of documents does not vary"
    assert "compiled 2 graphs in" in capsys.readouterr().out
    phases = [event.name for event in compiled.of(Phase)]
    assert phases.index("compiling") < phases.index("training") and "rehearsing" not in phases


def test_rows_of_other_lengths_and_a_short_last_batch(train: Train) -> None:
    settings = (
        "--data.eval_dataset",
        "null",
        "--train.epochs",
        1,
        "--train.max_steps",
        "null",
        "--data.max_seq_length",
        160,
    )
    more: tuple[Any, ...] = ("--train.per_device_batch_size", 8, "--train.gradient_checkpointing", "full", *PLAIN)
    compiled, eager = train(*settings, *more, *COMPILE), train(*settings, *more)
    assert_like(compiled, eager)
    steps = compiled.of(Step)
    assert len({step.slots for step in steps}) > 1 and len(steps[-1].rows) < 8
    assert steps[-1].slots % 8 == 0, "the last batch has as many lines as the others"


def test_a_signal_that_ends_the_compilers_processes_too_is_a_stop(
    train: Train, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: Any, **__: Any) -> None:
        signal.raise_signal(signal.SIGTERM)
        raise torch._dynamo.exc.TorchDynamoException("CppCompileError: C++ compile error")

    monkeypatch.setattr("engine.train.loop.rehearse", interrupted)
    done = train(*STEPS, *COMPILE)
    assert (done.code, done.end.status) == (0, "stopped"), done.end.reason


@pytest.mark.usefixtures("real_compiler")
def test_the_compilers_own_code_trains_as_well(train: Train, tmp_path: Path) -> None:
    settings = ("--model.name_or_path", small_model(tmp_path, "llama-tied"), *STEPS)
    assert_like(train(*settings, *COMPILE), train(*settings))

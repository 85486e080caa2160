"""The power goes at any moment of real saves: the log reaches as far as the checkpoint that a run goes on from."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from engine.checkpoint.store import CheckpointStore, step_of
from engine.events import EventReader, EventWriter, Step
from engine.rundir import RunDir
from engine.train.saver import Saver
from tests.power_cut import Promise, Work, cuts_of, quick_folder, states_after

pytestmark = pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="needs Linux's /proc")
STEPS, EVERY = 4, 2


class Model(torch.nn.Linear):
    """Two weights that can be saved."""

    def __init__(self) -> None:
        super().__init__(1, 1)

    def save_pretrained(self, folder: Path) -> None:
        (folder / "model.safetensors").write_bytes(b"weights")


class Tokenizer:
    def save_pretrained(self, folder: Path) -> None:
        (folder / "tokenizer.json").write_text("{}")


def saver_of(run: RunDir, log: EventWriter) -> Saver:
    """The saver of a run, which tells of its saves in this log."""
    nothing: Callable[..., None] = lambda *_: None  # noqa: E731
    session: Any = SimpleNamespace(
        run=run, events=log, emit=log.write, phase=nothing, say=nothing, where=SimpleNamespace(last_checkpoint=None)
    )
    model: Any = Model()
    tokenizer: Any = Tokenizer()
    return Saver(session, CheckpointStore(run, keep=1), model, tokenizer, torch.optim.SGD(model.parameters(), lr=0.1))


def training(run: RunDir) -> Work:
    def work(promise: Callable[[Promise], None]) -> None:
        log = EventWriter(run.events, now=lambda: 1.0)
        saver = saver_of(run, log)
        for number in range(1, STEPS + 1):
            log.write(step(number))
            if number % EVERY == 0:
                assert saver.save(number, {"progress": {}, "sampler": {}, "health": {}})
                promise(("saved", number))
        log.close()

    return work


def step(number: int) -> Step:
    about: dict[str, Any] = {"lr": 1e-5, "grad_norm": 0.3, "dt": 0.5, "tok_s": 18.0}
    return Step(step=number, epoch=0.1, loss=1.0, tokens=9, slots=9, loss_tokens=9, **about)


def test_the_log_reaches_as_far_as_the_checkpoint_that_is_gone_on_from() -> None:
    saves = 0
    with quick_folder() as folder:
        run = RunDir(folder / "run")
        run.path.mkdir()
        for number, cut in enumerate(cuts_of(run.path, training(run))):
            for what, state in states_after(cut, folder / str(number)):
                store = CheckpointStore(RunDir(state), keep=1)
                store.discard_leftovers()
                newest, promised = store.newest(), max((one for _, one in cut.promised), default=0)
                saved = (step_of(newest) or 0) if newest is not None else 0
                assert saved >= promised, what
                assert last_step(RunDir(state)) >= saved, what
                saves += saved > 0
    assert saves > 30, "many of the cuts come after a save"


def last_step(run: RunDir) -> int:
    """The last step of the log in a row from the first."""
    if not run.events.exists():
        return 0
    steps = [one.event.step for one in EventReader(run.events).poll().events if isinstance(one.event, Step)]
    assert steps == list(range(1, len(steps) + 1))
    return len(steps)

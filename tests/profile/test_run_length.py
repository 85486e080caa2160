"""How long a run is, from files and from what a run before kept of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from engine.config import Config, load_config
from engine.data import prepare
from engine.data.training_order import make_sampler
from engine.memory.advice.work import RunLength
from engine.model.tokenizer import load_tokenizer
from engine.profile.run_length import known_data, run_length
from tests.data.conftest import chat
from tests.inspect.conftest import MakeConfig

CHATS = [chat("Who is there?", "It is me. " * (1 + number % 5)) for number in range(22)]


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The data cache is on, and empty."""
    monkeypatch.setenv("PGS_DATA_CACHE", "on")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache"


def length_of(path: Path, **flags: Any) -> RunLength:
    config = config_at(path, **flags)
    return run_length(config, known_data(config))


def config_at(path: Path, **flags: Any) -> Config:
    overrides = [text for key, value in flags.items() for text in (f"--{key.replace('__', '.')}", str(value))]
    return load_config(path, overrides, check_files=False).config


def test_rows_tell_the_steps_of_an_epoch_and_say_so(make_config: MakeConfig) -> None:
    path = make_config(*CHATS)
    found = length_of(path, train__per_device_batch_size=2, train__gradient_accumulation_steps=2, train__epochs=3)
    assert (found.steps_per_epoch, found.total_steps) == (6, 17)
    assert "22 rows" in found.notes[0]


def test_rows_that_are_held_out_are_not_trained_and_max_steps_decides(make_config: MakeConfig) -> None:
    path = make_config(*CHATS, eval_split=0.5)
    assert length_of(path).steps_per_epoch == 11
    assert length_of(path, data__eval_samples=2).steps_per_epoch == 20
    assert length_of(path, train__max_steps=3).total_steps == 3


def test_a_set_without_rows_has_no_steps(make_config: MakeConfig) -> None:
    found = length_of(make_config(), train__max_steps=3)
    assert (found.steps_per_epoch, found.total_steps) == (None, 3)
    assert "no row" in found.notes[0]


@pytest.mark.parametrize("packing", [True, False])
def test_what_a_run_before_kept_tells_it_exactly(make_config: MakeConfig, cache: Path, packing: bool) -> None:
    path = make_config(*CHATS, max_seq_length=256, packing=packing, eval_split=0.25)
    before = length_of(path)
    assert before.steps_per_epoch is None or not packing
    config = config_at(path)
    data = prepare(config.data, load_tokenizer(Path(config.model.name_or_path), config.model))
    sampler = make_sampler(config, data, packs=packing)
    found = length_of(path, train__epochs=2)
    assert found.steps_per_epoch == sampler.steps_per_epoch
    assert found.total_steps == sampler.steps_in(2)
    if not packing:
        assert found.slots_per_step == pytest.approx(data.train.lengths.mean())


def test_packs_that_nobody_has_made_yet_are_not_made_up(make_config: MakeConfig, cache: Path) -> None:
    found = length_of(make_config(*CHATS, packing=True))
    assert (found.steps_per_epoch, found.total_steps) == (None, None)
    assert "not tokenized here before" in found.notes[0]


def test_data_of_the_hub_or_data_that_is_gone_is_said(make_config: MakeConfig) -> None:
    path = make_config(*CHATS)
    assert "on the hub" in length_of(path, data__dataset="owner/chats").notes[0]
    assert "cannot be read" in length_of(path, data__dataset="gone.jsonl", train__max_steps=5).notes[0]
    assert length_of(path, data__dataset="gone.jsonl", train__max_steps=5).total_steps == 5

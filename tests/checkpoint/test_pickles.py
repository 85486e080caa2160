"""Files of torch can name any function to be called on loading: none is called, and one sentence says so."""

import json
import os
import pickle
import shutil
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import torch

from engine.checkpoint.trainer_state import restore_optimizer_and_random_state, save_trainer_state
from engine.config.schema import Model
from engine.errors import UserError
from engine.model.load import load_model

QUICKSTART = Path(__file__).parents[2] / "configs" / "quickstart" / "model"


class Trap:
    """Makes a folder when it is loaded by a reader that calls what a pickle names."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def __reduce__(self) -> tuple[Any, ...]:
        return os.mkdir, (str(self._folder),)


def as_zip(value: Any, path: Path) -> None:
    torch.save(value, path)


def as_pickle(value: Any, path: Path) -> None:
    path.write_bytes(pickle.dumps(value, protocol=2))


def as_new_pickle(value: Any, path: Path) -> None:
    path.write_bytes(pickle.dumps(value))


WAYS = pytest.mark.parametrize("write", [as_zip, as_pickle, as_new_pickle])
Write = Callable[[Any, Path], None]


@WAYS
@pytest.mark.filterwarnings("ignore:Detected pickle protocol")
def test_the_trap_is_one(tmp_path: Path, write: Write) -> None:
    write({"state": Trap(tmp_path / "sprung")}, tmp_path / "file.pt")
    with suppress(RuntimeError):  # what is no file of torch is noticed when it is too late
        torch.load(tmp_path / "file.pt", weights_only=False)
    assert (tmp_path / "sprung").is_dir()


@WAYS
@pytest.mark.filterwarnings("ignore:Detected pickle protocol")
@pytest.mark.parametrize("name", ["optimizer.pt", "random.pt"])
def test_a_checkpoints_state_runs_nothing(tmp_path: Path, write: Write, name: str) -> None:
    optimizer = torch.optim.AdamW([torch.nn.Parameter(torch.zeros(2))])
    save_trainer_state(tmp_path, {"progress": {}}, optimizer)
    write({"made_by": {}, "state": Trap(tmp_path / "sprung")}, tmp_path / "trainer_state" / name)
    with pytest.raises(UserError) as refused:
        restore_optimizer_and_random_state(tmp_path, optimizer)
    assert not (tmp_path / "sprung").exists()
    assert_is_one_sentence(refused.value, f"train.resume_from: trainer_state/{name}")
    if write is not as_new_pickle:
        assert "would run code (posix.mkdir), so it is not loaded" in str(refused.value)


@WAYS
@pytest.mark.filterwarnings("ignore:Detected pickle protocol")
def test_a_models_old_weights_run_nothing(tmp_path: Path, write: Write) -> None:
    folder = Path(shutil.copytree(QUICKSTART, tmp_path / "model"))
    write({"lm_head.weight": Trap(tmp_path / "sprung")}, folder / "pytorch_model.bin")
    with pytest.raises(UserError) as refused:
        load_model(folder, Model(name_or_path=str(folder)), torch.device("cpu"))
    assert not (tmp_path / "sprung").exists()
    assert_is_one_sentence(refused.value, "model.name_or_path: pytorch_model.bin")


def test_a_models_old_weights_that_are_tensors_alone_are_read(tmp_path: Path) -> None:
    folder = Path(shutil.copytree(QUICKSTART, tmp_path / "model"))
    config = Model(name_or_path=str(folder), init="random")
    weights = load_model(folder, config, torch.device("cpu")).state_dict()
    torch.save(weights, folder / "pytorch_model.bin")
    read = load_model(folder, Model(name_or_path=str(folder)), torch.device("cpu")).state_dict()
    assert all(torch.equal(read[name], tensor) for name, tensor in weights.items())


def test_a_model_with_code_of_its_own_runs_nothing_unless_the_config_says_so(tmp_path: Path) -> None:
    folder = Path(shutil.copytree(QUICKSTART, tmp_path / "model"))
    described = json.loads((folder / "config.json").read_text())
    described |= {"model_type": "mine", "auto_map": {"AutoConfig": "mine.Config", "AutoModelForCausalLM": "mine.Model"}}
    (folder / "config.json").write_text(json.dumps(described))
    (folder / "mine.py").write_text(f"import os\nos.mkdir({str(tmp_path / 'sprung')!r})\n")
    with pytest.raises(UserError, match="comes with Python code of its own; read it, then"):
        load_model(folder, Model(name_or_path=str(folder), init="random"), torch.device("cpu"))
    assert not (tmp_path / "sprung").exists()


def assert_is_one_sentence(error: UserError, beginning: str) -> None:
    text = str(error)
    assert text.startswith(beginning) and "\n" not in text and len(text) < 500
    assert "weights_only" not in text, "torch advises to load such a file without its protection"

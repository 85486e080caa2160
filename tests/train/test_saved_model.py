"""What a run saves is what it trained, with the output head tied to the embedding or on its own."""

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from safetensors import safe_open
from safetensors.torch import load_file
from transformers import AutoConfig, AutoModelForCausalLM, AutoTokenizer

from engine.config import load_config
from engine.data import prepare
from engine.events import End, Eval
from engine.train.loop import Trainer

from .conftest import Outcome

IN_A_FRESH_PROCESS = """
import json, sys
import torch
from transformers import AutoModelForCausalLM
for folder in sys.argv[1:]:
    model = AutoModelForCausalLM.from_pretrained(folder).eval()
    with torch.no_grad():
        logits = model(torch.arange(8, 24)[None]).logits
        model.get_input_embeddings().weight[0, 0] = 12345.0
    torch.save([logits, model.get_output_embeddings().weight[0, 0] == 12345.0], folder + ".logits")
"""


@pytest.mark.parametrize("tied", [True, False])
def test_the_saved_model_loads_whole_and_has_the_loss_that_was_told(
    train: Callable[..., Outcome], tiny_model: Path, tmp_path: Path, tied: bool
) -> None:
    model_folder = tmp_path / "model"
    shutil.copytree(tiny_model, model_folder)
    shape = json.loads((model_folder / "config.json").read_text())
    (model_folder / "config.json").write_text(json.dumps(shape | {"tie_word_embeddings": tied}))
    done = train("--model.name_or_path", model_folder, "--train.learning_rate", "1e-2")

    with safe_open(done.run.final / "model.safetensors", framework="pt") as file:
        names = set(file.keys())
    assert ("lm_head.weight" in names) == (not tied)
    model = AutoModelForCausalLM.from_pretrained(done.run.final)
    head, embedding = model.get_output_embeddings().weight, model.get_input_embeddings().weight
    assert (head.data_ptr() == embedding.data_ptr()) == tied

    data = prepare(load_config(done.run.config_yaml).config.data, AutoTokenizer.from_pretrained(done.run.final))
    summed, tokens = 0.0, 0
    with torch.no_grad():
        for sample in data.eval:
            ids, labels = torch.from_numpy(sample.input_ids)[None].long(), torch.from_numpy(sample.labels)[None]
            count = sum(label != -100 for label in sample.labels[1:])
            summed += float(model(input_ids=ids, labels=labels).loss) * count
            tokens += count
    told = done.of(Eval)[-1]
    assert told.tokens == tokens
    assert told.loss == pytest.approx(summed / tokens, rel=1e-5)


def test_a_model_in_several_files_gives_the_same_logits_in_a_fresh_process(
    train: Callable[..., Outcome], tiny_model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    at_the_end: list[torch.Tensor] = []
    finish = Trainer.finish

    def finish_and_ask(trainer: Trainer) -> End:
        end = finish(trainer)
        with torch.no_grad():
            at_the_end.append(trainer.head.model.eval()(torch.arange(8, 24)[None]).logits)
        return end

    monkeypatch.setattr(Trainer, "finish", finish_and_ask)
    saved = [
        train(
            "--model.name_or_path", in_several_files(tiny_model, tmp_path, tied), "--model.init", "pretrained"
        ).run.final
        for tied in (True, False)
    ]
    subprocess.run([sys.executable, "-c", IN_A_FRESH_PROCESS, *map(str, saved)], check=True)
    for folder, logits, tied in zip(saved, at_the_end, (True, False), strict=True):
        index = json.loads((folder / "model.safetensors.index.json").read_text())["weight_map"]
        files = {file.name: set(load_file(file)) for file in folder.glob("*.safetensors")}
        assert len(files) > 2
        assert all(index[name] == file for file, names in files.items() for name in names)
        assert set(index) == set().union(*files.values()), "the index names what there is, and nothing else"
        assert ("lm_head.weight" in index) == (not tied)
        loaded, changes_together = torch.load(f"{folder}.logits", weights_only=True)
        assert torch.equal(loaded, logits) and bool(changes_together) == tied


def in_several_files(tiny_model: Path, tmp_path: Path, tied: bool) -> Path:
    """The tiny model with weights, in files of 40 kB."""
    config = AutoConfig.from_pretrained(tiny_model, tie_word_embeddings=tied)
    folder = Path(shutil.copytree(tiny_model, tmp_path / f"several-{tied}"))
    AutoModelForCausalLM.from_config(config).save_pretrained(folder, max_shard_size="40KB")
    return folder

"""What a run saves is what it trained, with the output head tied to the embedding or on its own."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from safetensors import safe_open
from transformers import AutoModelForCausalLM, AutoTokenizer

from engine.config import load_config
from engine.data import prepare
from engine.events import Eval

from .conftest import Outcome


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

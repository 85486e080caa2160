"""Our configs are told from other YAML files by their text."""

from pathlib import Path

import pytest

from pgs_tui.picking.recognized import written_model
from tests.setup.conftest import REPOSITORY

OURS = {
    "model:\n  name_or_path: Qwen/Qwen3-4B   # a comment\n": "Qwen/Qwen3-4B",
    'model:\n  name_or_path: "my model"\n': "my model",
    "model:\n  'name_or_path': './x'\n": "./x",
    "model: {init: random, name_or_path: a/b, compile: true}\n": "a/b",
    '{"model": {"name_or_path": "a/b"}}': "a/b",
    "\ufeffmodel:\r\n  name_or_path: a/b\r\n": "a/b",
    "# name_or_path: c/d\nmodel:\n  name_or_path: a/b\n": "a/b",
    "model:\n  name_or_path:\n": "",
    "modle:\n  nam: x\ndata:\n  max_seq_length: 7\ntrain:\n  epochs: 1\n": "",
    "model:\n\tname_or_path: a/b\n": "a/b",
    "model:\n  name_or_path: a/b\n train: [\n": "a/b",
}
NOT_OURS = (
    "",
    "# model: name_or_path\n",
    "services:\n  web: {image: nginx}\n",
    "model_name_or_path: meta/llama\nstage: sft\n",
    "base_model: x\ndatasets:\n  - path: y\n",
    "model:\n  _component_: torchtune.models\noptimizer:\n  lr: 1\n",
    "model:\n  hidden: 3\ndata:\n  root: /x\ntrain:\n  lr: 0.1\n",
    "- model\n- data\n",
    "models:\n  - name_or_path_of_it: x\n",
)


@pytest.mark.parametrize("text", OURS)
def test_a_config_is_known_by_its_model_even_when_it_is_broken(text: str) -> None:
    assert written_model(text) == OURS[text]


@pytest.mark.parametrize("text", NOT_OURS)
def test_files_of_other_programs_are_not_taken_for_configs(text: str) -> None:
    assert written_model(text) is None


@pytest.mark.parametrize("path", sorted((REPOSITORY / "configs").rglob("*.yaml")), ids=lambda path: path.stem)
def test_every_shipped_config_is_known(path: Path) -> None:
    assert written_model(path.read_text())

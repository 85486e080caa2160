"""Data sets of the hub, played by a server on this machine: their splits, subsets, progress and refusals."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from engine.data import DataError
from engine.data.sources.corpus import Corpus
from engine.data.sources.rows import RawRow, SourceSpec
from tests.data.sources.conftest import REPOSITORIES, PlayedHub, corpus, lines, values

CHATS = REPOSITORIES["owner/chats"]


@pytest.mark.usefixtures("hub")
def test_the_files_of_a_split_are_read_as_they_are() -> None:
    rows = corpus("owner/chats")
    assert values(rows) == [{"text": "a", "meta": {"x": 1}}, {"text": "b", "meta": {"y": None}}, {"text": "c"}]
    assert lines(rows) == [1, 2, 1]
    first = rows.at(0)
    assert isinstance(first, RawRow) and not first.is_columnar
    assert first.file == "owner/chats@01234567/data/train-00000-of-00002.jsonl"
    assert [file.sha256 for file in rows.files] == [
        hashlib.sha256(CHATS[f"data/train-0000{number}-of-00002.jsonl"]).hexdigest() for number in range(2)
    ]


@pytest.mark.usefixtures("hub")
def test_another_split_and_the_one_that_suits_an_evaluation() -> None:
    assert values(corpus("owner/chats", split="test")) == [{"text": "t"}]
    assert values(corpus("owner/chats", split="evaluation")) == [{"text": "t"}]


@pytest.mark.usefixtures("hub")
def test_a_subset_stands_behind_a_colon() -> None:
    assert values(corpus("owner/subsets:long")) == [{"text": "long"}]


@pytest.mark.usefixtures("hub")
def test_the_download_tells_of_its_bytes() -> None:
    seen: list[tuple[str, int, int]] = []
    Corpus([SourceSpec("owner/chats")], progress=lambda *told: seen.append(told))
    wanted = sum(len(content) for name, content in CHATS.items() if "train" in name)
    assert max(done for what, done, _ in seen if what == "downloading") == wanted


@pytest.mark.usefixtures("hub")
def test_files_that_only_datasets_reads_become_a_table() -> None:
    rows = corpus("owner/table")
    assert values(rows) == [{"text": "hello", "number": 1}, {"text": "bye", "number": 2}]
    assert all(isinstance(row, RawRow) and row.is_columnar for row in rows)
    assert lines(rows) == [1, 2] and [str(file.path) for file in rows.files] == ["owner/table/train"]
    assert rows.files[0].sha256 == corpus("owner/table").files[0].sha256


@pytest.mark.usefixtures("hub")
@pytest.mark.parametrize(
    ("name", "split", "said"),
    [
        ("owner/gated", "train", "owner/gated is gated: accept its conditions"),
        ("owner/nothing", "train", "no local file or folder owner/nothing, and the hub has no data set of that name"),
        ("owner/chats", "validation", "owner/chats has no split 'validation'; there is: train, test"),
        ("owner/subsets", "train", "owner/subsets has several subsets; .* such as owner/subsets:short .*short, long"),
        ("owner/subsets:medium", "train", "owner/subsets has no subset 'medium'.*short, long"),
        ("owner/empty", "train", "owner/empty on the hub holds no files that are data"),
    ],
)
def test_what_the_hub_has_not_is_explained(name: str, split: str, said: str) -> None:
    with pytest.raises(DataError, match=said):
        corpus(name, split=split)


def test_without_a_network_the_last_download_is_found_again(hub: PlayedHub, monkeypatch: pytest.MonkeyPatch) -> None:
    before = values(corpus("owner/chats"))
    hub.close()
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    monkeypatch.setattr("datasets.config.HF_HUB_OFFLINE", True)
    assert values(corpus("owner/chats")) == before
    with pytest.raises(DataError, match=r"owner/chats .*HF_HUB_OFFLINE is set: connect this machine once"):
        corpus("owner/chats", split="test")


def test_a_folder_of_that_name_is_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "owner" / "chats").mkdir(parents=True)
    (tmp_path / "owner" / "chats" / "a.jsonl").write_text('{"text": "local"}\n')
    assert values(corpus("owner/chats")) == [{"text": "local"}]

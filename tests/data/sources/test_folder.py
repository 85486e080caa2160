"""Folders of files: what counts as data, and which files belong to a split."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from engine.data import DataError
from tests.data.sources.conftest import corpus, jsonl, values


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "set"


def fill(folder: Path, *names: str) -> None:
    """A file of one row for each name; the row tells the name."""
    for name in names:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(jsonl({"from": name}))


def names(folder: Path, split: str = "train") -> list[str]:
    return [value["from"] for value in values(corpus(folder, split=split))]


def test_files_are_read_in_the_order_of_their_paths_with_those_of_inner_folders(folder: Path) -> None:
    fill(folder, "b.jsonl", "a/z.jsonl", "a/deep/y.JSONL", "c.json", "a.ndjson")
    assert names(folder) == ["a/deep/y.JSONL", "a/z.jsonl", "a.ndjson", "b.jsonl", "c.json"]


def test_hidden_and_foreign_files_are_left_out(folder: Path) -> None:
    fill(
        folder, "a.jsonl", ".hidden.jsonl", ".git/x.jsonl", "_tmp/x.jsonl", "README.md", "LICENSE", "dataset_infos.json"
    )
    assert names(folder) == ["a.jsonl"]


@pytest.mark.parametrize("inside", [[], ["README.md", "data.csv"], [".cache/a.jsonl"]])
def test_a_folder_without_data_is_refused(folder: Path, inside: list[str]) -> None:
    folder.mkdir()
    fill(folder, *inside)
    with pytest.raises(DataError, match=r"set holds no data file; give a \.jsonl, \.json or \.parquet"):
        corpus(folder)


def test_a_folder_of_save_to_disk_is_told_what_to_do(folder: Path) -> None:
    fill(folder, "dataset_info.json", "state.json", "data-00000-of-00001.arrow")
    with pytest.raises(DataError, match="written by save_to_disk of datasets"):
        corpus(folder)


@pytest.mark.parametrize(
    ("files", "train", "test"),
    [
        (["train.jsonl", "test.jsonl"], ["train.jsonl"], ["test.jsonl"]),
        (["my_train_2.jsonl", "my-test.jsonl"], ["my_train_2.jsonl"], ["my-test.jsonl"]),
        (["train/a.jsonl", "test/b.jsonl"], ["train/a.jsonl"], ["test/b.jsonl"]),
        (
            ["data/train-00000-of-00001.jsonl", "data/test-00000-of-00001-af3.jsonl"],
            ["data/train-00000-of-00001.jsonl"],
            ["data/test-00000-of-00001-af3.jsonl"],
        ),
        (["a.jsonl", "b.jsonl", "eval.jsonl"], ["a.jsonl", "b.jsonl"], ["eval.jsonl"]),
        (["train.jsonl", "test.jsonl", "notes.jsonl"], ["train.jsonl"], ["test.jsonl"]),
        (["train/test.jsonl", "train/a.jsonl"], ["train/a.jsonl"], ["train/test.jsonl"]),
        (["latest.jsonl", "test.jsonl"], ["latest.jsonl"], ["test.jsonl"]),
    ],
)
def test_names_tell_the_split(folder: Path, files: list[str], train: list[str], test: list[str]) -> None:
    fill(folder, *files)
    assert names(folder) == train
    assert names(folder, "test") == test


def test_other_words_for_a_split_mean_the_same(folder: Path) -> None:
    fill(folder, "train.jsonl", "dev.jsonl")
    assert names(folder, "validation") == names(folder, "dev") == names(folder, "evaluation") == ["dev.jsonl"]


def test_splits_of_other_names_come_from_shards_files_and_folders(folder: Path) -> None:
    fill(folder, "train_sft-00000-of-00002.jsonl", "train_sft-00001-of-00002.jsonl", "test_sft-00000-of-00001.jsonl")
    assert names(folder, "train_sft") == ["train_sft-00000-of-00002.jsonl", "train_sft-00001-of-00002.jsonl"]
    with pytest.raises(DataError, match="has no files for the split 'train'; there is: test_sft, train_sft"):
        corpus(folder)
    fill(folder, "german/a.jsonl", "french.jsonl")
    assert names(folder, "german") == ["german/a.jsonl"]
    assert names(folder, "french") == ["french.jsonl"]


def test_an_evaluation_takes_the_split_that_is_meant_for_it(folder: Path) -> None:
    fill(folder, "train_sft-00000-of-00001.jsonl", "test_sft-00000-of-00001.jsonl", "train_gen-00000-of-00001.jsonl")
    assert names(folder, "evaluation") == ["test_sft-00000-of-00001.jsonl"]


def test_missing_parts_of_a_whole_are_told(folder: Path) -> None:
    fill(folder, "train-00000-of-00003.jsonl", "train-00002-of-00003.jsonl")
    with pytest.raises(DataError, match="only 2 of the 3 files of 'train' are there"):
        corpus(folder)


def test_links_that_lead_back_give_no_row_twice(folder: Path) -> None:
    fill(folder, "a/x.jsonl", "b/y.jsonl")
    (folder / "a" / "up").symlink_to(folder)
    (folder / "c").symlink_to(folder / "b")
    assert names(folder) == ["a/x.jsonl", "b/y.jsonl"]


@pytest.mark.parametrize("name", ["a.jsonl", "a.parquet"])
def test_a_clone_without_its_large_files_is_told_so(folder: Path, name: str) -> None:
    fill(folder, name)
    (folder / name).write_text("version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 5\n")
    with pytest.raises(DataError, match="is no data but a pointer of Git LFS; run `git lfs pull`"):
        corpus(folder)


def test_a_folder_without_splits_is_training_data(folder: Path) -> None:
    fill(folder, "a.jsonl", "b.jsonl")
    assert names(folder) == names(folder, "evaluation") == ["a.jsonl", "b.jsonl"]
    with pytest.raises(DataError, match="no files for the split 'test'; there is: train"):
        corpus(folder, split="test")


def test_a_single_file_is_taken_whole_and_has_no_splits(folder: Path) -> None:
    fill(folder, "test.jsonl")
    assert names(folder / "test.jsonl") == ["test.jsonl"]
    with pytest.raises(DataError, match="is a single file and has no splits"):
        corpus(folder / "test.jsonl", split="test")


def test_pipes_and_devices_are_refused_and_not_waited_for(folder: Path) -> None:
    folder.mkdir()
    os.mkfifo(folder / "chats.jsonl")
    for path in (folder / "chats.jsonl", folder, Path(os.devnull)):
        with pytest.raises(DataError, match="is a pipe or a device"):
            corpus(path)


def test_a_link_to_nothing_is_named_with_its_goal(folder: Path) -> None:
    folder.mkdir()
    (folder / "chats.jsonl").symlink_to("elsewhere.jsonl")
    with pytest.raises(DataError, match=r"chats\.jsonl is a link to elsewhere\.jsonl, where no file is"):
        corpus(folder)

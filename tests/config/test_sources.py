"""Several data sets in one config, and the names of hub data sets and of splits."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine.config import ConfigError, dump_config, load_config
from engine.config.schema import Config, Source
from tests.config.conftest import Load

MODEL = "model:\n  name_or_path: org/model\n"


def loaded(data: str, *flags: str) -> Config:
    Path("test.yaml").write_text(f"{MODEL}data:\n" + "".join(f"  {line}\n" for line in data.splitlines()))
    return load_config("test.yaml", flags).config


def test_sources_have_splits_and_weights(folder: Path) -> None:
    data = loaded("sources:\n  - path: chats.jsonl\n    weight: 2\n  - path: owner/name:part\n    split: train_sft")
    assert data.data.sources == (
        Source(path=str(folder / "chats.jsonl"), split="train", weight=2.0),
        Source(path="owner/name:part", split="train_sft", weight=1.0),
    )


@pytest.mark.usefixtures("folder")
def test_a_source_that_is_only_a_path_needs_no_key(folder: Path) -> None:
    expected = (Source(path=str(folder / "chats.jsonl")),)
    assert loaded("sources: [chats.jsonl]").data.sources == expected
    assert loaded("sources: chats.jsonl").data.sources == expected
    assert loaded("sources: {path: chats.jsonl}").data.sources == expected


def test_paths_of_sources_are_relative_to_the_file(folder: Path) -> None:
    (folder / "recipes").mkdir()
    (folder / "recipes" / "a.yaml").write_text(f"{MODEL}data:\n  sources: [{{path: ../chats.jsonl}}, owner/name]\n")
    config = load_config("recipes/a.yaml").config
    assert [source.path for source in config.data.sources] == [str(folder / "chats.jsonl"), "owner/name"]


def test_sources_from_the_command_line_replace_the_dataset_of_the_file(load: Load, folder: Path) -> None:
    given = load("", "--data.sources", "[{path: chats.jsonl, weight: 0.5}, {path: owner/name, split: test}]")
    assert [(source.path, source.split, source.weight) for source in given.config.data.sources] == [
        (str(folder / "chats.jsonl"), "train", 0.5),
        ("owner/name", "test", 1.0),
    ]
    assert given.config.data.dataset == ()
    assert given.notes == ("test.yaml:4:12: data.dataset: gives way to the flag --data.sources",)
    assert load("", "--data.sources", "chats.jsonl").config.data.sources == (Source(path=str(folder / "chats.jsonl")),)


def test_a_dataset_from_the_command_line_replaces_the_sources_of_the_file(folder: Path) -> None:
    config = loaded("sources: [{path: rows.json}]", "--data.dataset", "chats.jsonl")
    assert config.data.dataset == (str(folder / "chats.jsonl"),) and config.data.sources == ()


@pytest.mark.parametrize(
    ("flag", "message"),
    [
        ("[{path: chats.jsonl, weight: -1}]", r"data\.sources\.weight: -1 is out of range\n.*above 0"),
        ("[{path: chats.jsonl, pth: x}]", r"data\.sources\.pth: unknown key; did you mean path\?"),
        ("[{weight: 1}]", r"data\.sources\.path: this key is required"),
        ("[{path: none.jsonl}]", r"--data\.sources: no such file"),
        ("{path: chats.jsonl", r"--data\.sources: not valid YAML"),
        ("[[chats.jsonl]]", r"--data\.sources: this item is neither a mapping nor a text"),
        ("3", r"--data\.sources: no such file or folder"),
    ],
)
def test_slips_on_the_command_line_are_named(load: Load, flag: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        load("", "--data.sources", flag)


@pytest.mark.parametrize("flag", ["[]", "null"])
def test_no_sources_leave_the_dataset_in_place(load: Load, folder: Path, flag: str) -> None:
    assert load("", "--data.sources", flag).config.data.dataset == (str(folder / "chats.jsonl"),)


def test_a_folder_and_other_formats_are_taken(folder: Path) -> None:
    (folder / "more").mkdir()
    (folder / "a.parquet").touch()
    (folder / "b.jsonl.gz").touch()
    config = loaded("dataset: [more, a.parquet, b.jsonl.gz, rows.json]")
    assert [Path(path).name for path in config.data.dataset] == ["more", "a.parquet", "b.jsonl.gz", "rows.json"]


@pytest.mark.usefixtures("folder")
def test_hub_names_are_left_alone_until_something_of_that_name_is_on_the_disk(folder: Path) -> None:
    assert loaded("dataset: [owner/name, owner/name:part]").data.dataset == ("owner/name", "owner/name:part")
    assert loaded("dataset: owner/name\neval_dataset: owner/other").data.eval_dataset == ("owner/other",)
    (folder / "owner" / "name").mkdir(parents=True)
    assert loaded("dataset: owner/name").data.dataset == (str(folder / "owner" / "name"),)
    with pytest.raises(ConfigError, match=r"no such file: .*/owner/name\.jsonl"):
        loaded("dataset: owner/name.jsonl")


@pytest.mark.usefixtures("folder")
def test_the_name_of_a_split_to_evaluate_on() -> None:
    assert loaded("dataset: owner/name\neval_split: test").data.eval_split == "test"
    assert loaded("dataset: owner/name\ndataset_split: train_sft").data.dataset_split == "train_sft"


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("data", "note"),
    [
        (
            "dataset: owner/name\neval_split: train",
            "data.eval_split: the model is evaluated on data that it is trained",
        ),
        ("sources: [owner/name]\ndataset_split: test", "data.dataset_split: test has no effect: each of data.sources"),
        ("sources: [chats.jsonl]\neval_dataset: chats.jsonl", "data.eval_dataset: the model is evaluated on data"),
    ],
)
def test_what_is_odd_about_splits_is_remarked_on(data: str, note: str) -> None:
    Path("test.yaml").write_text(f"{MODEL}data:\n" + "".join(f"  {line}\n" for line in data.splitlines()))
    (found,) = load_config("test.yaml").notes
    assert note in found


@pytest.mark.usefixtures("folder")
def test_sources_are_written_out_one_key_a_line() -> None:
    text = dump_config(loaded("sources: [{path: owner/name, weight: 2}]"))
    assert "  sources:\n  - path: owner/name\n    split: train\n    weight: 2.0\n" in text

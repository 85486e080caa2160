"""Which files of a folder are configs, and what else is there."""

import os
from pathlib import Path

import pytest

from pgs_tui.picking.discovery import HEAD_BYTES, LEVELS, Tally, discover

CONFIG = "model:\n  name_or_path: Qwen/Qwen3-4B\n"


def write(path: Path, text: str = CONFIG) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def names(here: Path, shipped: Path | None = None, tally: Tally | None = None) -> list[str]:
    """What the configs found are called."""
    return [found.shown for found in discover(here, shipped or here / "none", tally or Tally())]


def test_configs_below_configs_and_the_folder_each_once(tmp_path: Path) -> None:
    write(tmp_path / "configs" / "qwen" / "a100.yaml")
    write(tmp_path / "mine.yml")
    write(tmp_path / "deep" / "er" / "than.yaml")
    assert names(tmp_path) == ["qwen/a100", "mine.yml", "deep/er/than.yaml"]


def test_three_levels_and_no_more(tmp_path: Path) -> None:
    assert LEVELS == 3
    write(tmp_path / "1" / "2" / "3" / "in.yaml")
    write(tmp_path / "1" / "2" / "3" / "4" / "out.yaml")
    assert names(tmp_path) == ["1/2/3/in.yaml"]


@pytest.mark.parametrize(
    "folder", [".hidden", "venv", ".venv", "node_modules", "__pycache__", "lib/site-packages", "20260101-120000-a"]
)
def test_folders_that_hold_no_configs_of_the_person(tmp_path: Path, folder: str) -> None:
    write(tmp_path / folder / "a.yaml")
    write(tmp_path / folder / "below" / "a.yaml")
    assert names(tmp_path) == []


@pytest.mark.parametrize("mark", ["pyvenv.cfg", "conda-meta", "run.json", "events.jsonl"])
def test_environments_and_runs_are_known_by_what_they_hold(tmp_path: Path, mark: str) -> None:
    write(tmp_path / "odd" / "config.yaml")
    write(tmp_path / "odd" / "deeper" / "config.yaml")
    (tmp_path / "odd" / mark).touch()
    assert names(tmp_path) == []


def test_other_yaml_files_are_only_counted(tmp_path: Path) -> None:
    write(tmp_path / "compose.yaml", "services:\n  web:\n    image: nginx\n")
    write(tmp_path / "empty.yaml", "")
    write(tmp_path / "binary.yaml").write_bytes(b"\0\1model:\n  name_or_path: x")
    write(tmp_path / "notes.txt")
    tally = Tally()
    assert names(tmp_path, tally=tally) == []
    assert tally.other_files == 3


def test_the_configs_of_the_program_stand_in_where_there_are_none_in_the_folder(tmp_path: Path) -> None:
    here, shipped = tmp_path / "here", tmp_path / "program" / "configs"
    write(shipped / "qwen" / "a.yaml")
    write(here / "b.yaml")
    assert names(here, shipped) == ["qwen/a", "b.yaml"]
    assert [found.shipped for found in discover(here, shipped, Tally())] == [True, False]
    write(here / "configs" / "c.yaml")
    assert names(here, shipped) == ["c", "b.yaml"]


def test_links_that_lead_in_a_circle_or_nowhere_end(tmp_path: Path) -> None:
    write(tmp_path / "a" / "one.yaml")
    (tmp_path / "a" / "back").symlink_to(tmp_path)
    (tmp_path / "a" / "itself").symlink_to(tmp_path / "a" / "itself")
    (tmp_path / "a" / "gone.yaml").symlink_to(tmp_path / "nowhere.yaml")
    (tmp_path / "a" / "twice.yaml").symlink_to(tmp_path / "a" / "one.yaml")
    assert names(tmp_path) == ["a/one.yaml"]


def test_what_may_not_be_read_is_counted_and_the_rest_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path / "open" / "a.yaml")
    write(tmp_path / "secret.yaml")
    (tmp_path / "closed").mkdir()
    scandir, opened = os.scandir, Path.open

    def refuse_folder(path: Path) -> object:
        if path.name == "closed":
            raise PermissionError(13, "Permission denied")
        return scandir(path)

    def refuse_file(path: Path, *arguments: str) -> object:
        if path.name == "secret.yaml":
            raise PermissionError(13, "Permission denied")
        return opened(path, *arguments)

    monkeypatch.setattr(os, "scandir", refuse_folder)
    monkeypatch.setattr(Path, "open", refuse_file)
    tally = Tally()
    assert names(tmp_path, tally=tally) == ["open/a.yaml"]
    assert {path.name for path in tally.unreadable} == {"closed", "secret.yaml"}


def test_of_a_huge_file_only_the_beginning_is_read(tmp_path: Path) -> None:
    with (tmp_path / "huge.yaml").open("w") as file:
        file.write("# a comment\n" * (HEAD_BYTES // 12 + 1) + CONFIG)
        file.truncate(2**32)
    tally = Tally()
    assert names(tmp_path, tally=tally) == [] and tally.other_files == 1


def test_a_pipe_with_the_name_of_a_config_keeps_nobody_waiting(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.yaml")
    assert names(tmp_path) == []


def test_a_search_that_nobody_waits_for_any_more_ends(tmp_path: Path) -> None:
    for number in range(5):
        write(tmp_path / str(number) / "a.yaml")
    tally = Tally()
    search = discover(tmp_path, tmp_path / "none", tally)
    next(search)
    tally.stop = True
    assert list(search) == []


def test_a_folder_that_is_gone_has_no_configs(tmp_path: Path) -> None:
    assert names(tmp_path / "gone") == []


def test_more_folders_than_are_looked_into_are_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pgs_tui.picking.discovery.MOST_FOLDERS", 3)
    for number in range(5):
        write(tmp_path / str(number) / "a.yaml")
    tally = Tally()
    assert len(names(tmp_path, tally=tally)) == 2 and tally.cut


def test_a_local_model_is_the_same_from_wherever_it_is_named(tmp_path: Path) -> None:
    (tmp_path / "model").mkdir()
    write(tmp_path / "a.yaml", "model: {name_or_path: model}\n")
    write(tmp_path / "b" / "b.yaml", "model:\n  name_or_path: ../model\n")
    assert {found.model for found in discover(tmp_path, tmp_path / "none", Tally())} == {str(tmp_path / "model")}

"""Tags and notes: what a person writes, and what may stand in a file of anybody's."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pgs_tui.listing.labels import Labels, LabelsError, labels_of_text, note_of, read_labels, tags_of, write_labels


def test_what_is_written_is_there_the_next_time(tmp_path: Path) -> None:
    assert read_labels(tmp_path) == Labels()
    labels = Labels(tags_of("#good, lr-sweep  good für-später"), note_of("  the one\twith the\nlong warm-up "))
    assert labels == Labels(("good", "lr-sweep", "für-später"), "the one with the long warm-up")
    write_labels(tmp_path, labels)
    write_labels(tmp_path, labels)
    assert read_labels(tmp_path) == labels
    assert [path.name for path in tmp_path.iterdir()] == ["notes.json"]


def test_it_is_as_open_as_the_run(tmp_path: Path) -> None:
    tmp_path.chmod(0o700)
    write_labels(tmp_path, Labels(("a",)))
    assert (tmp_path / "notes.json").stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("written", ["a:b", "x" * 41, " ".join(f"t{n}" for n in range(40)), "esc\x1b[31m"])
def test_what_can_be_no_tag_is_refused(written: str) -> None:
    with pytest.raises(LabelsError):
        tags_of(written)


def test_a_note_has_an_end() -> None:
    with pytest.raises(LabelsError, match="4000"):
        note_of("x" * 4001)


@pytest.mark.parametrize(
    "text", ["", "null", "{", '{"v": 2, "tags": ["a"]}', '{"v": 1, "tags": "a", "note": 3}', "[" * 100_000, "\udcff"]
)
def test_anything_else_says_nothing(text: str) -> None:
    assert labels_of_text(text.encode("utf-8", "surrogateescape")) == Labels()


def test_what_others_wrote_is_cut_to_size() -> None:
    labels = labels_of_text(json.dumps({"v": 1, "tags": ["a", 3, " ", "a", "b" * 99], "note": "n" * 9999}))
    assert labels.tags == ("a", "b" * 40) and len(labels.note) == 4000


def test_a_link_in_its_place_is_not_followed(tmp_path: Path) -> None:
    other = tmp_path / "other.json"
    other.write_text(json.dumps({"v": 1, "tags": ["secret"], "note": ""}))
    run = tmp_path / "run"
    run.mkdir()
    (run / "notes.json").symlink_to(other)
    assert read_labels(run) == Labels()
    write_labels(run, Labels(("mine",)))
    assert "secret" in other.read_text() and read_labels(run) == Labels(("mine",))

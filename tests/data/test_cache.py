"""Tokenized rows are found again on the disk: by all that they depend on, whole or not at all."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from engine.data import PreparedData, prepare
from engine.data.cache import DataCache
from tests.data import templates
from tests.data.conftest import DataSection, byte_tokenizer, chat, write_rows


class Kitchen:
    """Prepares a data set again and again and knows whether that took the tokenizer."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.lines: list[str] = []
        rows = [chat("question", "answer"), {"body": "nothing"}, chat("a", ""), chat("x", "y" * 40)]
        self.section = DataSection([write_rows(folder / "rows.jsonl", *rows)], on_bad_row="skip", max_seq_length=50)
        self.tokenizer = byte_tokenizer()

    def prepare(self, section: DataSection | None = None) -> tuple[PreparedData, bool]:
        """The data, and whether rows were tokenized for it."""
        done: list[int] = []
        prepared = prepare(section or self.section, self.tokenizer, lambda n, _: done.append(n), say=self.lines.append)
        return prepared, bool(done)

    def is_new(self, section: DataSection | None = None) -> bool:
        return self.prepare(section)[1]

    @property
    def cache(self) -> Path:
        return self.folder / "cache" / "pgs-tui" / "data"

    def files(self, pattern: str) -> list[Path]:
        return sorted(self.cache.glob(f"*/{pattern}"))


@pytest.fixture
def kitchen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Kitchen:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("PGS_DATA_CACHE", raising=False)
    return Kitchen(tmp_path)


def test_the_second_start_finds_all_that_the_first_one_found(kitchen: Kitchen) -> None:
    (first, was_new), (second, is_new) = kitchen.prepare(), kitchen.prepare()
    assert (was_new, is_new) == (True, False)
    assert second.train == first.train
    assert dict(second.report.places) == dict(first.report.places)
    assert replace(second.report, places=first.report.places) == first.report
    assert first.report.rows_bad == first.report.rows_dropped == first.report.rows_truncated == 1
    assert not kitchen.lines


@pytest.mark.parametrize(
    "change",
    [
        lambda kitchen: write_rows(kitchen.folder / "rows.jsonl", chat("question", "another answer")),
        lambda kitchen: setattr(kitchen, "section", replace(kitchen.section, max_seq_length=49)),
        lambda kitchen: setattr(kitchen, "section", replace(kitchen.section, train_on_template_text=True)),
        lambda kitchen: setattr(kitchen, "tokenizer", byte_tokenizer(newline_merge=True)),
        lambda kitchen: setattr(kitchen, "tokenizer", byte_tokenizer(templates.TRIM)),
        lambda kitchen: kitchen.tokenizer.add_tokens(["answer"]),
    ],
    ids=["file", "limit", "mask", "tokenizer", "template", "added token"],
)
def test_whatever_changes_the_tokens_makes_them_anew(kitchen: Kitchen, change: Callable[[Kitchen], object]) -> None:
    kitchen.prepare()
    change(kitchen)
    assert kitchen.is_new()


def test_the_seed_and_the_rows_held_out_change_no_tokens(kitchen: Kitchen) -> None:
    kitchen.prepare()
    held_out = replace(kitchen.section, eval_split=0.5, seed=7, eval_samples=1)
    prepared, is_new = kitchen.prepare(held_out)
    assert not is_new
    assert (len(prepared.train), len(prepared.eval)) == (1, 1)


def test_a_row_that_stops_a_run_stops_the_next_one_too(kitchen: Kitchen) -> None:
    kitchen.prepare()
    stops = replace(kitchen.section, on_bad_row="stop")
    for _ in range(2):
        with pytest.raises(Exception, match=r"line 2.*on_bad_row"):
            kitchen.prepare(stops)


DAMAGES: dict[str, Callable[[Path], object]] = {
    "one bit": lambda file: file.write_bytes(flipped(file.read_bytes())),
    "cut off": lambda file: os.truncate(file, file.stat().st_size // 2),
    "empty": lambda file: file.write_bytes(b""),
    "missing": Path.unlink,
    "foreign": lambda file: file.write_bytes(b"\x80\x04K\x01." * 50),
}


def flipped(content: bytes) -> bytes:
    return content[:-1] + bytes([content[-1] ^ 1])


@pytest.mark.parametrize("name", ["input_ids.npy", "has_loss.npy", "stops.npy", "place_lines.npy", "entry.json"])
def test_a_damaged_entry_is_made_anew(kitchen: Kitchen, name: str) -> None:
    first, _ = kitchen.prepare()
    for kind, damage in DAMAGES.items():
        (file,) = kitchen.files(name)
        damage(file)
        again, is_new = kitchen.prepare()
        assert is_new, kind
        assert again.train == first.train, kind
    assert not kitchen.is_new()


def test_an_entry_of_another_version_is_left_alone(kitchen: Kitchen) -> None:
    kitchen.prepare()
    (file,) = kitchen.files("entry.json")
    file.write_text(json.dumps({"report": {"rows": 1}, "checksums": {}}))
    assert kitchen.is_new()


def test_a_folder_that_cannot_be_written_costs_the_cache_alone(kitchen: Kitchen) -> None:
    (kitchen.folder / "cache").write_text("a file where the folder should be")
    prepared, is_new = kitchen.prepare()
    assert is_new
    assert len(prepared.train) == 2
    (line,) = kitchen.lines
    assert "not kept" in line


def test_the_switch(kitchen: Kitchen, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PGS_DATA_CACHE", "off")
    kitchen.prepare()
    assert not kitchen.cache.exists()
    assert kitchen.is_new()


def test_the_entries_that_were_not_used_for_longest_make_room(kitchen: Kitchen) -> None:
    tokenized = {}
    cache = DataCache(kitchen.cache, limit=10**9)
    for name in ("first", "second", "third"):
        kitchen.prepare(replace(kitchen.section, max_seq_length=40 + len(tokenized)))
        tokenized[name] = max(kitchen.cache.iterdir(), key=lambda entry: entry.stat().st_mtime_ns)
    for age, name in enumerate(("second", "third", "first")):  # the first was used again
        os.utime(tokenized[name], (1000 + age, 1000 + age))
    size = sum(file.stat().st_size for file in kitchen.files("*"))
    found = cache.load(tokenized["first"].name)
    assert found is not None
    DataCache(kitchen.cache, limit=size).save("new", found)
    assert {entry.name for entry in kitchen.cache.iterdir()} == {
        "new",
        tokenized["first"].name,
        tokenized["third"].name,
    }


def test_two_processes_at_once(kitchen: Kitchen) -> None:
    code = (
        "import sys; from tests.data.conftest import DataSection, byte_tokenizer; from engine.data import prepare\n"
        "prepared = prepare(DataSection([sys.argv[1]], on_bad_row='skip'), byte_tokenizer(), say=print)\n"
        "print(len(prepared.train))"
    )
    command = [sys.executable, "-c", code, kitchen.section.dataset[0]]
    processes = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(3)]
    assert [process.communicate()[0] for process in processes] == ["2\n"] * 3
    assert len(list(kitchen.cache.iterdir())) == 1


def test_samples_of_the_cache_can_be_changed_without_changing_it(kitchen: Kitchen) -> None:
    kitchen.prepare()
    prepared, _ = kitchen.prepare()
    before = prepared.train[0].input_ids[0]
    prepared.train[0].input_ids[0] = 77
    again, is_new = kitchen.prepare()
    assert not is_new
    assert again.train[0].input_ids[0] == before

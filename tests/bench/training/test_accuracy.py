"""The bench of the estimates' accuracy: its rows, the order in which they run, and its table."""

from __future__ import annotations

import json
import threading
from pathlib import Path
from typing import Any

import pytest

from engine.memory.estimate import estimate_memory
from engine.memory.estimate.model_shape import model_shape
from tests.bench.memory_accuracy import Job, Trained, load, row_of, save
from tests.bench.training.accuracy_rows import DENSE, HYBRID, ROWS, TINY, config_of, rows_named
from tests.bench.training.accuracy_table import accuracy_table, off_by
from tests.bench.training.page import BLOCK, PAGES, RESULTS, filled
from tests.bench.training.results import put
from tests.bench.training.side_by_side import side_by_side
from tests.bench.training.table import NOTHING
from tests.profile.test_comparison import MEASURED, TOO_LARGE


def test_the_rows_are_of_two_families_and_vary_what_changes_memory() -> None:
    settings = [row.settings for row in ROWS]
    assert len({row.name for row in ROWS}) == len(ROWS) >= 14
    for family in (HYBRID, DENSE):
        assert sum(row.model == family for row in ROWS) >= 5
    for key in (
        "data.max_seq_length",
        "model.compile",
        "memory.chunked_loss",
        "memory.float8_training",
        "memory.gradient_release",
        "memory.layer_slices",
        "memory.offload_activations",
        "memory.tiled_head",
        "train.freeze_non_attention",
        "train.gradient_checkpointing",
        "train.optimizer",
        "train.per_device_batch_size",
    ):
        assert len({one.get(key) for one in settings}) > 1, key


@pytest.mark.parametrize("shape", ["real", TINY])
def test_every_row_is_a_config_that_is_accepted(tmp_path: Path, shape: str) -> None:
    for row in ROWS:
        config = config_of(row, tmp_path, shape)
        assert config.model.init == "random"
        assert shape == TINY or config.model.name_or_path == row.model


def test_a_name_that_is_none_says_which_there_are() -> None:
    assert [row.name for row in rows_named("dense_2x2048_full,hybrid_2x2048_full")] == [
        "dense_2x2048_full",
        "hybrid_2x2048_full",
    ]
    with pytest.raises(SystemExit, match="no row huge; there are hybrid_4x4096_none, "):
        rows_named("huge")


def test_no_more_run_at_once_than_fit() -> None:
    at_once: list[int] = []
    most: list[int] = []
    lock = threading.Lock()

    def run(size: int) -> int:
        with lock:
            at_once.append(size)
            most.append(sum(at_once))
        threading.Event().wait(0.02)
        with lock:
            at_once.remove(size)
        return -size

    found = dict(side_by_side([8, 5, 4, 20, 3, 1], float, 10, 3, run))
    assert found == {size: -size for size in (8, 5, 4, 20, 3, 1)}
    assert max(total for total in most if total != 20) <= 10
    assert 20 in most, "the one that is too large had the GPU for itself"


def jobs(folder: Path) -> list[Job]:
    rows = rows_named("hybrid_2x2048_full,dense_2x1024_adamw")
    configs = [config_of(row, folder, TINY) for row in rows]
    return [
        Job(row, config, estimate_memory(config, model_shape(config)))
        for row, config in zip(rows, configs, strict=True)
    ]


def test_what_was_measured_is_kept_row_by_row_and_shown(tmp_path: Path) -> None:
    one, other = jobs(tmp_path)
    path = tmp_path / "results" / "accuracy.json"
    results: dict[str, Any] = load(path)
    for job, result in (
        (one, Trained(TOO_LARGE, TOO_LARGE.reason, 3.0)),
        (other, Trained(None, "not done after 150 s", 150.0)),
        (one, Trained(MEASURED, "measured", 40.0)),
    ):
        put(results["rows"], row_of(job, result))
        save(path, results)
    kept = load(path)
    assert [row["name"] for row in kept["rows"]] == [one.row.name, other.row.name]
    assert kept["rows"][0]["measured"]["peak"] == MEASURED.peak_gib
    assert list(path.parent.iterdir()) == [path]
    table = accuracy_table(kept)
    assert "| 14.20 |" in table
    assert f"Without figures: {other.row.name}: not done after 150 s." in table


def row(peak: float, reserved: float) -> dict[str, Any]:
    return {
        "name": "a",
        "model": HYBRID,
        "lines": 2,
        "length": 2048,
        "settings": ROWS[0].settings,
        "environment": {},
        "trained": 4_000_000_000,
        "parameters": 4_000_000_000,
        "estimate": {"peak": peak, "reserved": reserved, "decides": "backward"},
        "measured": {"peak": 10.0, "reserved": 10.0},
        "ended": "measured",
    }


def test_what_is_too_far_off_stands_out() -> None:
    good, bad = row(10.2, 9.5), row(9.6, 11.0)
    assert off_by(good, "peak") == pytest.approx(0.02)
    table = accuracy_table({"rows": [good, bad], "machine": None})
    first, second = table.splitlines()[2:4]
    assert "**" not in first and "| +2.0% |" in first and "| -5.0% |" in first
    assert "| **-4.0%** |" in second and "| **+10.0%** |" in second
    assert "peak: 1 of 2 within 3%, the worst off by 4.0%, on average by 3.0%" in table
    assert "reserved: 1 of 2 within 8%, the worst off by 10.0%" in table


def test_the_page_has_a_place_for_it(tmp_path: Path) -> None:
    (tmp_path / "memory_accuracy.json").write_text(json.dumps({"rows": [row(10.2, 9.5)], "machine": None}))
    page = "a\n<!-- accuracy of memory_accuracy.json -->\nold\n<!-- end -->\nb"
    shown = filled(page, tmp_path)
    assert "old" not in shown and "| +2.0% |" in shown
    assert NOTHING in filled(page, tmp_path / "nowhere")


def test_the_profile_page_shows_what_its_file_says() -> None:
    text = PAGES[-1].read_text()
    assert [block["name"] for block in BLOCK.finditer(text)] == ["accuracy"]
    assert filled(text, RESULTS) == text, "run: PYTHONPATH=. python -m tests.bench.training.page"

"""Tables of results: what is aimed at and reached, ratios to TRL, and the page that shows what its files say."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.bench.training.page import BLOCK, PAGE, RESULTS, filled
from tests.bench.training.results import load_results, put, save_results
from tests.bench.training.table import NOTHING, comparison_table, recipe_table, settings_table

OURS: dict[str, Any] = {
    "name": "all_2x2048_tiled",
    "title": "all weights, 2x2048",
    "label": None,
    "rows": 2,
    "length": 2048,
    "settings": {"train.gradient_checkpointing": "full", "model.compile": True, "memory.loss_chunk_tokens": 256},
    "environment": {"A": "b"},
    "card_gib": 14.5,
    "aim": {"peak": 13.5, "reserved": 14.3, "tok_s": 10_000},
    "reached": {"peak": True, "reserved": True, "tok_s": False},
    "peak": 13.0,
    "reserved": 14.0,
    "tok_s": 9_000.0,
    "dt": 0.455,
    "mfu": {"datasheet": 0.23, "measured": 0.3},
    "hfu": {"datasheet": None, "measured": None},
    "recompiles": 0,
    "ended": "ended on purpose after its steps; nothing was saved",
}
TRL: dict[str, Any] = {
    "name": "2x2048_lion_8bit",
    "label": None,
    "rows": 2,
    "length": 2048,
    "optim": "lion_8bit",
    "checkpointing": "full",
    "liger": True,
    "compile": False,
    "peak": 26.0,
    "reserved": 28.0,
    "tok_s": 6_000.0,
    "ended": "finished",
}


def test_a_number_stands_beside_its_aim_and_is_bold_only_where_it_is_reached() -> None:
    table = recipe_table({"rows": [OURS]})
    assert "**13.00** (<= 13.5)" in table
    assert "| 9,000 (>= 10,000) |" in table
    assert "23.0%, 30.0%" in table


def test_settings_of_a_row_are_all_told() -> None:
    last = settings_table({"rows": [OURS]}).splitlines()[-1]
    assert (
        last
        == "| all weights, 2x2048 | all | full | 1 | yes | no | no | no | 256 | at most 14.5 GiB of the card; `A=b` |"
    )


def test_ours_are_told_as_multiples_of_trl_at_the_same_size() -> None:
    other_size = OURS | {"name": "all_4x4096_full", "rows": 4, "length": 4096}
    table = comparison_table({"rows": [OURS, other_size], "trl": [TRL]})
    assert "2x2048, lion_8bit, full, liger" in table
    assert "all_2x2048_tiled 0.50, 1.50 |" in table
    assert "all_4x4096_full" not in table


def test_a_run_without_figures_is_named_not_left_out() -> None:
    failed = {"name": "2x2048_lion_8bit_compile", "ended": "exit code 1"}
    assert "Without figures: 2x2048_lion_8bit_compile: exit code 1." in comparison_table({"rows": [], "trl": [failed]})


def test_a_row_measured_again_replaces_the_one_before_and_a_variant_stands_beside_it(tmp_path: Path) -> None:
    path = tmp_path / "new" / "h200.json"
    results = load_results(path)
    for row in (OURS, OURS | {"tok_s": 11_000.0}, OURS | {"label": "not compiled"}):
        put(results["rows"], row)
        save_results(path, results)
    assert [(row["label"], row["tok_s"]) for row in load_results(path)["rows"]] == [
        (None, 11_000.0),
        ("not compiled", 9_000.0),
    ]


def test_a_block_of_the_page_is_made_from_its_file_and_the_rest_of_the_page_stays(tmp_path: Path) -> None:
    page = "before\n<!-- table of x.json -->\nold\n<!-- end -->\nafter\n"
    assert filled(page, tmp_path) == page.replace("old", NOTHING)
    (tmp_path / "x.json").write_text(json.dumps({"rows": [OURS], "trl": []}))
    made = filled(page, tmp_path)
    assert made.startswith("before\n<!-- table of x.json -->\n| recipe |")
    assert made.endswith("\n<!-- end -->\nafter\n")
    assert filled(made, tmp_path) == made


def test_the_page_shows_what_its_files_say() -> None:
    text = PAGE.read_text()
    assert {block["name"] for block in BLOCK.finditer(text)} == {
        "table",
        "settings",
        "machine",
        "comparison",
        "timeline",
        "dashboard",
        "ways",
    }
    assert filled(text, RESULTS) == text, "run: PYTHONPATH=. python -m tests.bench.training.page"

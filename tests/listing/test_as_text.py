"""The list without a screen."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest

from pgs_tui.listing.as_text import print_runs
from pgs_tui.listing.labels import Labels, write_labels
from tests.listing.making import alert, end, evaluation, make_run


def printed(folder: Path | str, as_json: bool = False) -> tuple[int, str]:
    out = io.StringIO()
    return print_runs(str(folder), out, as_json), out.getvalue()


def test_a_line_a_run(tmp_path: Path) -> None:
    run = make_run(tmp_path, "small", evaluation(3, 2.1), alert("a"), alert("b", "critical"), ended=end())
    write_labels(run, Labels(("good", "sweep")))
    make_run(tmp_path, "odd\x1b[31m", clock="130000")
    code, text = printed(tmp_path)
    head, *lines = text.splitlines()
    assert code == 0 and head.split()[:3] == ["run", "status", "model"] and "\x1b" not in text
    told = next(line for line in lines if "small" in line)
    for word in ("finished", "Qwen3-4B", "3/10", "2.500", "2.100e", "1 error, 1 warning", "8 s", "good sweep"):
        assert word in told


def test_one_long_name_widens_no_other_line(tmp_path: Path) -> None:
    make_run(tmp_path, "short", ended=end())
    make_run(tmp_path, "n" * 200, clock="130000", ended=end())
    lines = printed(tmp_path)[1].splitlines()
    assert [len(line) > 200 for line in lines if "finished" in line] in ([True, False], [False, True])


def test_the_json_has_the_keys_of_the_page(tmp_path: Path) -> None:
    make_run(tmp_path, "small", evaluation(3, 2.1), losses=(3.0, float("nan")))
    code, text = printed(tmp_path, as_json=True)
    found = json.loads(text)
    assert code == 0 and text.count("\n") == 1
    page = (Path(__file__).parents[2] / "docs" / "json.md").read_text().partition("## `pgs-tui runs --json`")[2]
    (run,) = found["runs"]
    assert all(f'"{key}"' in page for key in (*found, *run))
    assert (run["status"], run["loss"], run["best_eval"]) == ("killed", "NaN", {"step": 3, "loss": 2.1})
    assert (run["best_loss"], run["seconds"], run["alerts"]["warning"]) == ({"step": 1, "loss": 3.0}, 4.0, 0)


def test_no_runs_no_folder_and_a_file(tmp_path: Path) -> None:
    code, text = printed(tmp_path)
    assert code == 1 and "pgs-tui CONFIG trains one" in text
    assert json.loads(printed(tmp_path, as_json=True)[1])["runs"] == []
    (tmp_path / "file").write_text("")
    for name, why in (("none", "no such folder"), ("file", "this is a file")):
        with pytest.raises(ValueError, match=why):
            printed(tmp_path / name)

"""`pgs-tui compare` without a screen: printed, or written into files that are never written over."""

from __future__ import annotations

import csv
import io
import math
from pathlib import Path
from xml.etree import ElementTree

import pytest

from pgs_tui.cli import main
from tests.comparing.made_runs import evaluated, falling, told, write

SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture
def runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Two runs, of which one has a name that could be markup and a loss that is no number."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("COLUMNS", "90")
    monkeypatch.chdir(tmp_path)
    losses: list[float | None] = [*falling(60, lift=0.5)]
    losses[20] = math.nan
    one = write(tmp_path / "20261130-100000-a<b>&c", evaluated(told(falling(100)), {50: 2.0}))
    other = write(tmp_path / "20261130-110000-plain", told(losses))
    return [str(one.path), str(other.path)]


def test_printed_once_are_the_runs_their_curves_and_their_configs(
    runs: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["compare", *runs, "--once"]) == 0
    text = capsys.readouterr().out
    assert "1  100000-a<b>&c  finished  100" in text and "+0.4" in text
    assert "loss  ema" not in text.splitlines()[0] and "grad norm" in text and "eval loss" in text
    assert "1: it has no config" in text
    assert max(map(len, text.splitlines())) <= 90


def test_without_a_terminal_it_is_printed(runs: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", *runs]) == 0
    assert "100000-a<b>&c" in capsys.readouterr().out


def test_the_picture_has_a_curve_for_each_run_with_dashes_and_a_sign_of_its_own(
    runs: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["compare", *runs, "--svg"]) == 0
    path = Path(capsys.readouterr().out.strip())
    assert path.name == "compared-loss.svg"
    root = ElementTree.fromstring(path.read_text())
    curves = [one for one in root.iter(f"{SVG}path") if one.get("class") == "other"]
    assert len({one.get("style") for one in curves}) == 2
    assert all("stroke-dasharray" in (one.get("style") or "") and one.get("d") for one in curves)
    assert {one.findtext(f"{SVG}title") for one in curves} == {"100000-a<b>&c", "110000-plain"}
    assert [one.text for one in root.iter(f"{SVG}text") if one.get("class") == "sign"] == ["2", "1"]
    assert main(["compare", *runs, "--svg"]) == 0
    assert Path(capsys.readouterr().out.strip()).name == "compared-loss-2.svg"


def test_all_steps_are_in_one_table(runs: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", *runs, "--csv", "--out", "-"]) == 0
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert len(rows) == 160
    assert (rows[9]["run"], rows[9]["step"], rows[9]["tokens_so_far"]) == ("20261130-100000-a<b>&c", "10", "1000")
    assert float(rows[9]["loss"]) == falling(100)[9]
    assert rows[120]["loss"] == "nan" and rows[0]["moved"] == ""


def test_the_report_has_tables_and_charts(runs: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", *runs, "--markdown", "--out", "-"]) == 0
    text = capsys.readouterr().out
    assert text.startswith("# 2 runs compared") and "## grad norm" in text and text.count("```") % 2 == 0
    assert "| 2 | 110000-plain | finished | 60 |" in text


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (["--gpus"], "compare has no --gpus"),
        (["--svg", "--panel", "nonsense"], "no such metric; use one of loss, eval"),
        (["--csv", "--panel", "loss"], "--panel is for one chart"),
        (["--json"], "2 to 6 runs and nothing else"),
        (["--gpu", "4090"], "2 to 6 runs and nothing else"),
    ],
)
def test_what_it_cannot_do_is_refused_in_words(
    runs: list[str], arguments: list[str], why: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["compare", *runs, *arguments]) == 2
    assert why in capsys.readouterr().err


def test_a_run_is_not_compared_with_itself_nor_alone(runs: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", runs[0], runs[0], "--once"]) == 2
    assert "is named twice" in capsys.readouterr().err
    assert main(["compare", runs[0]]) == 2
    assert main(["compare", runs[0], "no-such-run", "--once"]) == 2
    assert "no-such-run" in capsys.readouterr().err

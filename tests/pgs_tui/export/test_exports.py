"""What is exported says what the run says, reads back equal, and never writes over anything."""

import csv
import io
import math
import struct
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings

from engine.events import Gpu, Stamped, Step
from engine.rundir import RunDir
from pgs_tui.appearance.look import GlyphName, Look
from pgs_tui.arguments import UsageError
from pgs_tui.export.command import export
from pgs_tui.export.exports import Export
from pgs_tui.export.files import text, write_beside, write_new
from pgs_tui.export.reading import ReadRun, read_run
from pgs_tui.export.steps_as_csv import STEP_FIELDS, sheet_of
from pgs_tui.runs.follow import Update
from pgs_tui.runs.source import LocalRun
from pgs_tui.view import View
from screens.dashboard.live import LiveRun
from tests.pgs_tui.export.conftest import Writer
from tests.pgs_tui.making import BRACKETS, stamped, step
from tests.pgs_tui.random_runs import logs
from tests.screens.night import STEPS, night
from tests.terminal.terminal import environment

SVG = "{http://www.w3.org/2000/svg}"


def made(read: ReadRun, format: str, view: View | None = None, glyphs: GlyphName = "braille", log: bool = False) -> str:
    out = io.StringIO()
    looking = read.live.looking(view or View(), 0.98)
    Export(format, read.live, looking, "loss", log, glyphs).write(out)
    return out.getvalue()


def rows_of(table: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(table)))


def cell(row: dict[str, str], name: str) -> float | None:
    return float(row[name]) if row[name] else None


def test_the_table_has_every_field_of_every_step_and_reads_back_equal(night_run: RunDir) -> None:
    steps = {one.event.step: one for one in night().events if isinstance(one.event, Step)}
    rows = rows_of(made(read_run(night_run), "csv"))
    assert [int(row["step"]) for row in rows] == list(range(1, STEPS + 1))
    for row in rows:
        told = steps[int(row["step"])]
        event = told.event
        assert isinstance(event, Step)
        assert cell(row, "unix_time") == told.t
        for name in STEP_FIELDS:
            owner, _, part = name.partition(".")
            value = getattr(getattr(event, owner), part) if part else getattr(event, name)
            if isinstance(value, tuple):
                assert row[name] == " ".join(map(str, value))
            elif isinstance(value, bool):
                assert row[name] == str(value).lower()
            else:
                assert cell(row, name) == value or (value is not None and math.isnan(value) and row[name] == "nan")
    assert "spike skipped 200" in rows[199]["marks"] and "checkpoint 150" in rows[149]["marks"]


def test_the_table_has_the_window_that_is_seen(night_run: RunDir) -> None:
    view = View(window=(100.0, 120.0), follow=False)
    rows = rows_of(made(read_run(night_run), "csv", view))
    assert [int(row["step"]) for row in rows] == list(range(100, 120))


def test_without_the_log_what_is_known_is_written(night_run: RunDir) -> None:
    read = read_run(night_run)
    night_run.events.unlink()
    rows = rows_of(made(read, "csv"))
    assert len(rows) == STEPS and float(rows[0]["loss"]) > 1
    assert rows[0]["rows"] == ""
    dt = float(rows[0]["dt"])
    assert struct.unpack("f", struct.pack("f", dt))[0] == dt, "seven digits are kept of it"


def test_a_run_without_steps_gives_a_table_without_rows(tmp_path: Path) -> None:
    read = ReadRun(LiveRun(LocalRun(RunDir(tmp_path), "x")))
    table = made(read, "csv")
    assert table.startswith("step,unix_time") and table.count("\n") == 1
    assert "waiting for the first step" in made(read, "svg") and "waiting" in made(read, "text")
    assert "no step was taken yet" in made(read, "markdown")


def test_every_reading_of_the_gpus_is_a_row(night_run: RunDir) -> None:
    told = [one for one in night(gpus=2).events if isinstance(one.event, Gpu)]
    rows = rows_of(made(read_run(night_run), "gpus"))
    assert len(rows) == len(told) > 10
    for row, one in zip(rows, told, strict=True):
        gpu = one.event
        assert isinstance(gpu, Gpu)
        assert (cell(row, "unix_time"), int(row["index"]), row["throttle"]) == (
            one.t,
            gpu.index,
            " ".join(gpu.throttle),
        )
        assert (cell(row, "utilisation"), cell(row, "power")) == (gpu.utilisation, gpu.power)


def test_the_readings_are_those_of_the_steps_that_are_seen(night_run: RunDir) -> None:
    view = View(window=(100.0, 120.0), follow=False)
    rows = rows_of(made(read_run(night_run), "gpus", view))
    assert rows and {int(row["step"]) for row in rows} <= set(range(99, 121))


def test_without_gpus_there_is_a_table_without_rows(written: Writer) -> None:
    assert made(read_run(written(stamped(step(1), step(2)))), "gpus").count("\n") == 1


@pytest.mark.parametrize("log", [False, True])
def test_the_picture_is_well_formed_and_has_its_words(night_run: RunDir, log: bool) -> None:
    root = ElementTree.fromstring(made(read_run(night_run), "svg", log=log))
    words = [one.text for one in root.iter(f"{SVG}text")]
    assert {"loss", "1.190", "steps", "eval 1.537 · best 1.400 @ 450 kept", "600", "non finite loss 330"} <= set(words)
    kinds = {one.get("class") for one in root.iter(f"{SVG}path")}
    assert {"raw", "smooth", "best", "point", "axis"} <= kinds
    titles = [one.text for one in root.iter(f"{SVG}title")]
    assert "resume 450" in titles and "best evaluation 1.400" in titles
    assert log == any("log axis" in (one or "") for one in words)


def test_the_cursor_is_in_the_picture_with_the_value_under_it(night_run: RunDir) -> None:
    root = ElementTree.fromstring(made(read_run(night_run), "svg", View(cursor=200, follow=False)))
    assert any(one.get("class") == "cursor" for one in root.iter(f"{SVG}line"))
    assert "9.400" in [one.text for one in root.iter(f"{SVG}text")]


def test_a_chart_as_text_says_what_its_signs_mean(night_run: RunDir) -> None:
    drawn = made(read_run(night_run), "text")
    assert "▲ spike" in drawn and "x: steps" in drawn and "best 1.400 @ 450" in drawn
    assert made(read_run(night_run), "text", glyphs="ascii").isascii()


def test_the_report_has_config_figures_alerts_and_memory(night_run: RunDir) -> None:
    report = made(read_run(night_run), "markdown")
    for part in (
        "| loss | 1.190 |",
        "### error: non finite loss at step 330",
        "- try train.learning_rate: 1e-06",
        "| 450 | eval | 1.400 (best) |",
        "Saved after the steps 150, 300, 450, 600.",
        "| peak that was expected | 17.2 GiB |",
        "learning_rate: 1.0e-5  # by hand",
        "| model | m, 100 % of its weights trained |",
    ):
        assert part in report, part


@pytest.mark.parametrize("words", BRACKETS)
def test_names_from_outside_stay_letters(tmp_path: Path, words: str) -> None:
    live = LiveRun(LocalRun(RunDir(tmp_path / f'a<b>&"{words[:3].replace("/", "")}'), "x"))
    live.take(Update(events=stamped(step(1), step(2))))
    ElementTree.fromstring(made(ReadRun(live), "svg"))


@settings(max_examples=25, deadline=None, derandomize=True)
@given(logs())
def test_any_log_can_be_exported_in_every_format(events: tuple[Stamped, ...]) -> None:
    live = LiveRun(LocalRun(RunDir(Path("/nowhere")), "x"), clock=lambda: 1e9)
    live.take(Update(events=events))
    read = ReadRun(live)
    ElementTree.fromstring(made(read, "svg", log=len(events) % 2 == 0))
    rows = rows_of(made(read, "csv"))
    assert [int(row["step"]) for row in rows] == list(live.history.steps)
    assert made(read, "text") and made(read, "markdown")


def test_nothing_is_written_over(tmp_path: Path) -> None:
    names = [write_beside(tmp_path, "loss", "svg", text(str(place))).name for place in range(3)]
    assert names == ["loss.svg", "loss-2.svg", "loss-3.svg"]
    assert [(tmp_path / name).read_text() for name in names] == ["0", "1", "2"]
    with pytest.raises(FileExistsError):
        write_new(tmp_path / "loss.svg", text("new"))


def test_a_file_that_cannot_be_written_whole_does_not_stay(tmp_path: Path) -> None:
    def fail(file: object) -> None:
        raise OSError(28, "No space left on device")

    with pytest.raises(OSError, match="No space"):
        write_new(tmp_path / "a.csv", fail)
    assert not list(tmp_path.iterdir())


def test_a_table_never_reads_more_than_there_is(written: Writer) -> None:
    run = written(stamped(step(1), step(2)))
    read = read_run(run)
    run.events.write_bytes(run.events.read_bytes()[:40])
    sheet = sheet_of(read.live.history, read.live.looking(View(), None), run.events)
    out = io.StringIO()
    sheet.write(out)
    assert [row["loss"] for row in rows_of(out.getvalue())] == ["2.0", "2.0"]


def test_the_command_says_where_it_wrote(night_run: RunDir, tmp_path: Path) -> None:
    command = (sys.executable, "-m", "pgs_tui", "export", str(night_run.path), "--csv")
    done = subprocess.run(command, capture_output=True, env=environment(tmp_path), text=True, check=True)
    path = Path(done.stdout.strip())
    assert path.parent == night_run.path / "exports" and path.read_text().startswith("step,")


def test_the_command_refuses_in_a_sentence(night_run: RunDir, tmp_path: Path) -> None:
    there = tmp_path / "there.svg"
    there.touch()
    with pytest.raises(UsageError, match="exists already"):
        export(LocalRun(night_run), "svg", None, str(there), Look(), io.StringIO())
    with pytest.raises(UsageError, match="no such chart"):
        export(LocalRun(night_run), "svg", "losss", None, Look(), io.StringIO())
    with pytest.raises(UsageError, match="one chart"):
        export(LocalRun(night_run), "csv", "loss", None, Look(), io.StringIO())
    assert export(LocalRun(night_run), "svg", None, str(tmp_path / "no" / "folder.svg"), Look(), io.StringIO()) == 1

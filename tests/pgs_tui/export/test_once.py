"""`pgs-tui --once`: a run as text and as JSON, once, with the same numbers in both."""

import io
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from engine.events import End, Stamped
from engine.rundir import RunDir, this_process, write_run_info
from pgs_tui.appearance.look import GlyphName, Look
from pgs_tui.cli import main
from pgs_tui.drawing.lines import line_width, text_of
from pgs_tui.export.frame import Frame, Sheet, frame_of
from pgs_tui.export.frame_as_json import document, frame_as_json
from pgs_tui.export.frame_as_text import frame_as_text
from pgs_tui.export.reading import read_run
from pgs_tui.format import gib, value
from pgs_tui.once import print_once
from pgs_tui.runs.source import LocalRun
from screens.dashboard.readings.wording import WORDINGS
from tests.pgs_tui.export.conftest import Writer
from tests.pgs_tui.making import stamped, step
from tests.terminal.terminal import environment

METRICS = {"loss": "loss", "grad_norm": "grad_norm", "tok_s": "tok_s", "dt": "dt", "lr": "lr", "moved": "moved"}


def frame(run: RunDir, width: int = 80, glyphs: GlyphName = "braille") -> Frame:
    return frame_of(read_run(run), Sheet(width, glyphs))


def printed(run: RunDir, as_json: bool = False) -> str:
    out = io.StringIO()
    assert print_once(LocalRun(run), Look(), as_json, out, {}) == 0
    return out.getvalue()


def test_text_and_json_tell_the_same_numbers(night_run: RunDir) -> None:
    made = frame(night_run)
    text = "\n".join(text_of(row) for row in frame_as_text(made))
    told = json.loads(frame_as_json(made))
    assert told == document(made)
    for name, metric in METRICS.items():
        chart = told["charts"][name]
        assert chart["words"] == WORDINGS[metric].words(chart["value"])
        assert f" {chart['words']} " in text
    assert f"step   {told['step']}/1 000" in text
    assert f"eval {value(told['eval']['loss'])} · best {value(told['best']['loss'])} @ {told['best']['step']}" in text
    assert f"{gib(told['memory']['used'])} / {gib(told['memory']['total'])} GiB" in text
    assert [one["step"] for one in told["incidents"]] == [200, 330, 450, 460], (
        "two engines vanished, and it was resumed"
    )
    assert "rows 660, 661" in text and "try train.learning_rate: 1e-06" in text
    assert "4 ranks" not in text and "2 ranks" in text and len(told["ranks"]) == 2


def test_the_curve_of_the_json_is_the_one_that_is_drawn(night_run: RunDir) -> None:
    curve = document(frame(night_run))["charts"]["loss"]["curve"]
    finite = [one for one in curve["high"] if one is not None]
    assert len(curve["low"]) == len(curve["high"]) == len(curve["smooth"])
    assert max(finite) == pytest.approx(9.4)
    assert curve["not_finite"], "the value that is no number is told"
    assert {mark["kind"] for mark in curve["marks"]} >= {"spike", "nan", "resume"}


@pytest.mark.parametrize("width", [20, 33, 60, 80, 120, 250])
@pytest.mark.parametrize("glyphs", ["braille", "ascii"])
def test_every_line_fits(night_run: RunDir, width: int, glyphs: GlyphName) -> None:
    rows = frame_as_text(frame(night_run, width, glyphs))
    assert max(line_width(row) for row in rows) <= width
    assert glyphs != "ascii" or all(text_of(row).isascii() for row in rows)


def test_a_run_without_any_event_is_shown_too(tmp_path: Path) -> None:
    run = RunDir(tmp_path / "empty")
    run.path.mkdir()
    assert "waiting for the first step" in printed(run)
    told = json.loads(printed(run, as_json=True))
    assert told["step"] is None and told["age"] is None and told["charts"]["loss"]["value"] is None


def test_a_finished_run_says_how_it_ended(written: Writer) -> None:
    end = End(status="finished", reason="", exit_code=0, last_step=2)
    run = written(stamped(step(1), step(2), end))
    assert "✔ finished at step 2" in printed(run)
    assert json.loads(printed(run, as_json=True))["outcome"] == "finished"


def test_a_dead_engine_is_told_with_its_last_words(written: Writer) -> None:
    run = written(stamped(step(1), step(2)))
    process = subprocess.Popen([sys.executable, "-c", "pass"])
    process.wait()
    info = this_process(run, "night")
    write_run_info(run, type(info)(**{**{name: getattr(info, name) for name in info.__slots__}, "pid": process.pid}))
    run.console_log.write_text("CUDA error: the card fell off\n")
    text, told = printed(run), json.loads(printed(run, as_json=True))
    assert "killed after step 2" in text and "the card fell off" in text
    assert told["outcome"] == "killed" and any(one["code"] == "ENGINE_DEAD" for one in told["incidents"])


def test_a_torn_log_is_read_as_far_as_it_goes(written: Writer) -> None:
    run = written(stamped(step(1, 2.5)))
    with run.events.open("a") as file:
        file.write('nonsense\n{"v":1,"t":5,"event":"step","st')
    assert json.loads(printed(run, as_json=True))["charts"]["loss"]["value"] == 2.5


def test_the_tokens_of_a_second_are_told_by_kind(written: Writer) -> None:
    counts = step(1, tokens=14, slots=16, loss_tokens=5, dt=0.5, tok_s=28.0, clip_scale=0.2)
    told = json.loads(printed(written(stamped(counts)), as_json=True))
    assert told["rates"] == {"padded": 32.0, "trained": 10.0, "padding": 0.125} and told["clip_scale"] == 0.2


def test_a_value_that_is_no_number_has_its_name(written: Writer) -> None:
    told = json.loads(printed(written(stamped(step(1, float("nan")))), as_json=True))
    assert told["charts"]["loss"]["value"] == "NaN"


def once(arguments: tuple[str, ...], state: Path, **more: str) -> subprocess.CompletedProcess[bytes]:
    command = (sys.executable, "-X", "importtime", "-m", "pgs_tui", *arguments)
    return subprocess.run(command, capture_output=True, env=environment(state, **more), check=False)


def test_a_pipe_gets_plain_text_and_no_model_is_loaded(night_run: RunDir, tmp_path: Path) -> None:
    done = once(("attach", str(night_run.path), "--once"), tmp_path)
    assert done.returncode == 0 and b"\x1b" not in done.stdout
    assert "non finite loss" in done.stdout.decode()
    imported = {line.rsplit(b"|")[-1].strip() for line in done.stderr.splitlines()}
    assert not imported & {b"torch", b"transformers", b"textual.app", b"datasets"}


def test_a_run_that_is_not_there_is_refused_in_a_sentence(tmp_path: Path) -> None:
    done = once(("--once", "nothing-like-this"), tmp_path)
    assert done.returncode == 2 and b"Traceback" not in done.stderr


def test_an_encoding_without_braille_gets_ascii(night_run: RunDir, tmp_path: Path) -> None:
    done = once(
        ("--once", str(night_run.path)), tmp_path, LC_ALL="C", PYTHONUTF8="0", PYTHONCOERCECLOCALE="0", LANG="C"
    )
    assert done.returncode == 0 and done.stdout.isascii()


def test_events_before_a_rewind_do_not_count(written: Writer) -> None:
    before = stamped(step(1, 1.0), step(2, 9.0))
    run = written((*before, Stamped(2000.0, step(2, 3.0))))
    assert json.loads(printed(run, as_json=True))["charts"]["loss"]["value"] == 3.0


def test_the_json_has_the_very_keys_that_the_documentation_promises(night_run: RunDir) -> None:
    page = (Path(__file__).parents[3] / "docs" / "json.md").read_text().partition("## `pgs-tui --once --json`")[2]
    page = page.partition("\n## ")[0]
    promised = [re.findall(r'"(\w+)"', block) for block in re.findall(r"`\{([^}]*)\}`", page)]
    told = document(frame(night_run))
    chart, evaluation, memory = told["charts"]["loss"], told["best"], told["memory"]
    shapes = (
        told,
        chart,
        chart["curve"],
        chart["curve"]["marks"][0],
        evaluation,
        memory,
        told["gpus"][0],
        told["ranks"][0],
    )
    assert set(told["time_parts"]) >= {"data", "forward", "backward"}
    for shape in shapes:
        assert list(shape) in promised, list(shape)


class Tty(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_terminal_gets_its_own_colours_unless_its_owner_wants_none(night_run: RunDir) -> None:
    printed_in: dict[str, str] = {}
    for name, more in (("colours", {}), ("none", {"NO_COLOR": "1"}), ("dumb", {"TERM": "dumb"})):
        out = Tty()
        print_once(LocalRun(night_run), Look(), False, out, {"TERM": "xterm-256color", **more})
        printed_in[name] = out.getvalue()
    assert "\x1b[33m" in printed_in["colours"] and "\x1b[38" not in printed_in["colours"]
    assert "\x1b" not in printed_in["none"] + printed_in["dumb"]
    assert "W weights" in printed_in["none"], "letters tell what colours do not"
    assert "W weights" not in printed_in["colours"]


def test_a_run_is_printed_as_it_was_at_a_step(night_run: RunDir, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--once", str(night_run.path), "--at", "100", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["step"], told["outcome"], told["end"]) == (100, "running", None)

"""`pgs doctor` as a user and a program see it."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from engine.cli import main
from engine.doctor import command
from engine.doctor.report import WIDTH, Printer, as_json
from engine.doctor.result import Check, Outcome, Patient, Result, failed, ok
from engine.doctor.runner import NotHereError, run_checks
from engine.errors import UserError

QUICKSTART = Path(__file__).parents[2] / "configs" / "quickstart.yaml"


def results_of(*outcomes: Any) -> list[Result]:
    def check(outcome: Any) -> Check:
        def examine(patient: Patient) -> Outcome:
            if isinstance(outcome, Exception):
                raise outcome
            assert isinstance(outcome, Outcome)
            return outcome

        return Check("one", "something", examine)

    return list(run_checks(map(check, outcomes), Patient({}), lambda check: None))


def test_what_a_check_raises_is_a_result_and_the_others_are_made() -> None:
    results = results_of(ValueError("broken\nlibrary"), UserError("Bad."), NotHereError("not downloaded"), ok("well"))
    assert [result.status for result in results] == ["failed", "failed", "skipped", "ok"]
    assert "ValueError: broken library" in results[0].found
    assert results[2].found == "not downloaded"


def test_every_failure_says_what_to_do() -> None:
    assert all(result.fix for result in results_of(ValueError("x"), UserError("Bad."), failed("bad", "do this")))


def test_text_is_ascii_and_fits_into_80_columns() -> None:
    out = io.StringIO()
    printer = Printer(out)
    printer.heading(2, None)
    for result in results_of(failed("ein Wort über " * 20, "this " * 40), ok("well")):
        printer.result(result)
    text = out.getvalue()
    assert text.isascii()
    assert max(map(len, text.splitlines())) <= WIDTH
    assert "fix: this" in text


def test_on_a_terminal_the_running_check_is_shown_and_wiped() -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    out = Terminal()
    printer = Printer(out)
    printer.announce(command.CHECKS[0])
    assert "terminal" in out.getvalue()
    printer.wipe()
    assert out.getvalue().endswith("\r")


def test_where_kernels_are_compiled_the_check_that_takes_long_is_told_in_a_log_too() -> None:
    out = io.StringIO()
    for check in command.CHECKS:
        Printer(out).announce(check, on_gpu=False)
    assert out.getvalue() == ""
    for check in command.CHECKS:
        Printer(out).announce(check, on_gpu=True)
    lines = out.getvalue().splitlines()
    assert [line.split()[1] for line in lines] == [check.name for check in command.CHECKS if check.compiles]
    assert all("compiling kernels" in line for line in lines) and "kernels" in lines[0]


def test_json_has_the_documented_shape() -> None:
    document = json.loads(as_json(results_of(failed("bad", "do this"), ok("well")), "a.yaml", 1.0))
    assert set(document) == {"config", "checks", "ok", "seconds"}
    assert document["ok"] is False
    assert set(document["checks"][0]) == {"name", "status", "seconds", "found", "fix"}
    assert document["checks"][1]["fix"] is None
    text = (Path(__file__).parents[2] / "docs" / "json.md").read_text(encoding="utf-8")
    documented = text.split("## `pgs doctor --json`")[1]
    assert all(f'"{key}"' in documented for key in (*document, *document["checks"][0]))


def test_every_check_is_documented() -> None:
    page = (Path(__file__).parents[2] / "docs" / "doctor.md").read_text(encoding="utf-8")
    assert [check.name for check in command.CHECKS if f"| `{check.name}` |" not in page] == []


def test_this_machine_is_well_and_says_so_in_one_document() -> None:
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, "-m", "engine", "doctor", "--config", str(QUICKSTART), "--json"],
        capture_output=True,
        text=True,
        check=False,
        env=environment,
    )
    document = json.loads(done.stdout)
    assert done.returncode == 0, document
    assert [check["name"] for check in document["checks"]] == [check.name for check in command.CHECKS]
    assert all(check["status"] in ("ok", "warning") for check in document["checks"])


def test_a_broken_config_is_told_as_usual(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config = tmp_path / "bad.yaml"
    config.write_text("train:\n  learning_rat: 1\n", encoding="utf-8")
    assert main(["doctor", "--config", str(config)]) == 2
    assert "learning_rat" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--only", "kernel"], "there is no check kernel"),
        (["--train.seed", "1"], "without --config there is no key to set"),
    ],
)
def test_bad_usage(arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor", *arguments]) == 2
    assert said in capsys.readouterr().err


def test_a_failed_check_ends_with_1(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    broken = Check("one", "something", lambda patient: failed("it is broken", "mend it"))
    monkeypatch.setattr(command, "CHECKS", (broken,))
    assert main(["doctor"]) == 1
    assert "1 failed" in capsys.readouterr().out


def test_an_interrupt_leaves_quietly(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def interrupted(patient: Patient) -> Outcome:
        raise KeyboardInterrupt

    monkeypatch.setattr(command, "CHECKS", (Check("one", "something", interrupted),))
    assert main(["doctor"]) == 130
    assert capsys.readouterr().err == ""


def test_a_model_of_the_hub_that_is_not_here_is_no_failure(tmp_path: Path) -> None:
    """What can be known without its files is checked, the rest says why it is left out; nothing is downloaded."""
    config = tmp_path / "hub.yaml"
    data = QUICKSTART.parent / "quickstart" / "train.jsonl"
    config.write_text(f"model:\n  name_or_path: nobody/nothing\ndata:\n  dataset: {data}\n", encoding="utf-8")
    only = ["--only", "memory", "--only", "mask", "--only", "disk"]
    done = subprocess.run(
        [sys.executable, "-m", "engine", "doctor", "--config", str(config), "--json", *only],
        capture_output=True,
        text=True,
        check=False,
    )
    status = {check["name"]: check["status"] for check in json.loads(done.stdout)["checks"]}
    assert status == {"memory": "skipped", "mask": "skipped", "disk": "ok"}
    assert done.returncode == 0


def test_data_of_the_hub_is_not_downloaded(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config = tmp_path / "hub.yaml"
    model = QUICKSTART.parent / "quickstart" / "model"
    config.write_text(
        f"model:\n  name_or_path: {model}\n  init: random\ndata:\n  dataset: nobody/chats\n", encoding="utf-8"
    )
    assert main(["doctor", "--config", str(config), "--json", "--only", "mask"]) == 0
    (check,) = json.loads(capsys.readouterr().out)["checks"]
    assert check["status"] == "skipped"
    assert "pgs validate" in check["found"]

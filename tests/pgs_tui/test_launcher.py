import json
import os
import signal
import sys
from pathlib import Path

import pytest

from engine.events import End, EventWriter
from engine.rundir import RunDir, create_run_dir, this_process, write_run_info
from pgs_tui.runs.control import send
from pgs_tui.runs.launcher import Recipe, engine_environment, launch, resume

REPORT = """
import json, os, signal, sys
print(json.dumps({
    "arguments": sys.argv[1:],
    "session": os.getsid(0) == os.getpid(),
    "hangup_ignored": signal.getsignal(signal.SIGHUP) == signal.SIG_IGN,
    "safe_path": sys.flags.safe_path,
    "stdin": os.readlink("/proc/self/fd/0"),
}))
print("on stderr", file=sys.stderr)
"""


@pytest.fixture
def reporter(tmp_path: Path) -> tuple[str, str]:
    script = tmp_path / "report.py"
    script.write_text(REPORT)
    return sys.executable, str(script)


def test_the_engine_gets_a_session_a_directory_and_a_log_of_its_own(tmp_path: Path, reporter) -> None:
    recipe = Recipe(tmp_path / "c.yaml", ("--train.epochs", "2"), "a/b", tmp_path / "runs")
    launched = launch(recipe, reporter)
    assert launched.process.wait(30) == 0
    first, second = launched.run.console_log.read_text().splitlines()
    report = json.loads(first)
    assert report["arguments"] == [
        "train", "--config", str(tmp_path / "c.yaml"), "--run-dir", str(launched.run.path), "--train.epochs", "2"
    ]  # fmt: skip
    assert report["session"] and report["hangup_ignored"] and report["safe_path"]
    assert report["stdin"] == os.devnull
    assert second == "on stderr"
    assert launched.run.path.parent == tmp_path / "runs"
    assert launched.run.id.endswith("-a-b")
    assert [path.name for path in launched.run.path.iterdir()] == ["console.log"], "the rest belongs to the engine"
    assert launched.run.console_log.stat().st_mode & 0o777 == 0o600


def test_the_engine_is_this_projects_in_a_folder_that_has_another_one(tmp_path: Path) -> None:
    (tmp_path / "engine.py").write_text("raise SystemExit(99)")
    environment = engine_environment({"PYTHONPATH": "/somewhere", "HOME": "/h"})
    root = str(Path(__file__).parents[2])
    assert environment["PYTHONPATH"].split(os.pathsep) == [root, "/somewhere"]
    assert environment["PYTHONSAFEPATH"] == "1"
    assert environment["HOME"] == "/h"


def test_a_run_goes_on_by_its_own_config_in_its_own_directory(tmp_path: Path, reporter) -> None:
    run = create_run_dir(tmp_path / "runs", "a/b")
    launched = resume(run, reporter)
    assert launched.run == run and launched.process.wait(30) == 0
    report = json.loads(run.console_log.read_text().splitlines()[0])
    assert report["arguments"] == [
        "train", "--config", str(run.config_yaml), "--run-dir", str(run.path), "--train.resume_from", "auto"
    ]  # fmt: skip
    assert report["session"] and report["hangup_ignored"]


def unfinished(output_dir: Path, status: str | None) -> RunDir:
    run = create_run_dir(output_dir, "x")
    info = this_process(run, "x")
    fields = {key: getattr(info, key) for key in info.__slots__}
    write_run_info(run, type(info)(**{**fields, "pid_start": "1" if status != "live" else info.pid_start}))
    if status in ("finished", "stopped"):
        EventWriter(run.events).write(End(status=status, reason="", exit_code=0, last_step=1))  # type: ignore[arg-type]
    return run


@pytest.mark.parametrize(
    ("status", "continued"), [("stopped", True), ("finished", False), ("live", False), (None, True)]
)
def test_resuming_continues_a_run_that_is_neither_finished_nor_going(
    tmp_path: Path, reporter, status: str | None, continued: bool
) -> None:
    old = unfinished(tmp_path, status)
    launched = launch(Recipe(tmp_path / "c.yaml", (), "x", tmp_path, resume=True), reporter)
    launched.process.wait(30)
    assert (launched.run.path == old.path) is continued


def test_a_directory_that_cannot_be_made_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(OSError, match="file"):
        launch(Recipe(tmp_path / "c.yaml", (), "x", tmp_path / "file" / "runs"))


def test_commands_are_lines_with_an_id_each(tmp_path: Path) -> None:
    run = RunDir(tmp_path)
    ids = [send(run, "stop"), send(run, "scale_lr", factor=0.5)]
    first, second = (json.loads(text) for text in run.control.read_text().splitlines())
    assert [first["id"], second["id"]] == ids
    assert (first["v"], first["cmd"], first["args"]) == (1, "stop", {})
    assert second["args"] == {"factor": 0.5}
    assert "@" in first["by"]
    assert run.control.stat().st_mode & 0o077 == 0


def test_the_engine_outlives_a_hangup_of_its_starters_group(tmp_path: Path) -> None:
    script = tmp_path / "wait.py"
    script.write_text("import time\nprint('up', flush=True)\ntime.sleep(60)")
    launched = launch(Recipe(tmp_path / "c.yaml", (), "x", tmp_path / "runs"), (sys.executable, str(script)))
    try:
        while "up" not in launched.run.console_log.read_text():
            assert launched.process.poll() is None
        os.kill(launched.process.pid, signal.SIGHUP)
        with pytest.raises(Exception, match="timed out"):
            launched.process.wait(0.3)
    finally:
        launched.process.kill()
        launched.process.wait()

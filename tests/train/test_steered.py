"""A real engine under `pgs control`: it answers, keeps its rate when it goes on, and keeps its files to its owner."""

import json
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from engine.cli import main
from engine.events import Ack, Start, Step
from engine.events.control_line import who
from engine.rundir import RunDir, liveness, read_run_info, write_run_info

from .conftest import Outcome, read_events
from .test_ends import wait_for_step

ANSWER = {"id", "cmd", "ok", "message"}
STEADY = ("--train.lr_scheduler", "constant", "--train.warmup_steps", 0)


def test_a_run_is_steered_by_commands_and_no_second_engine_gets_into_it(
    engine: Callable[..., Any],
    train: Callable[..., Outcome],
    config_file: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    process = engine("--train.max_steps", 100_000, *STEADY)
    [folder] = wait_for_step(process, 2, tmp_path / "runs")
    run = RunDir(folder)

    def ask(*words: Any) -> tuple[int, str]:
        return main(["control", str(folder), *map(str, words)]), capsys.readouterr().out.strip()

    code, out = ask("checkpoint", "--json")
    answer = json.loads(out)
    assert (code, answer["ok"], answer["cmd"]) == (0, True, "checkpoint") and set(answer) == ANSWER
    assert ask("evaluate")[1].startswith("evaluate: loss ")
    assert ask("pause")[1].startswith("pause: pauses after step ")
    paused_after = max(step.step for step in read_events(run) if isinstance(step, Step))
    assert ask("pause") == (0, f"pause: is paused already, after step {paused_after}")
    said = f"learning rate 0.001 -> 0.00025 from step {paused_after + 1} on, 0.25 of its schedule's"
    assert ask("scale_lr", 0.25) == (0, f"scale_lr: {said}")
    code, out = ask("scale_lr", 0.001)
    assert code == 1 and "would be 0.00025 of its schedule's, which may be 0.001 to 10; it stays at 0.25" in out

    for more in ((), ("--train.resume_from", "auto")):
        assert main(["train", "--config", str(config_file), "--run-dir", str(folder), *more]) == 1
        assert f"process {process.pid} on" in capsys.readouterr().err
    assert main(["train", "--config", str(config_file), "--train.resume_from", "auto"]) == 1
    assert "is still going on" in capsys.readouterr().err and list((tmp_path / "runs").iterdir()) == [folder]

    assert ask("resume") == (0, f"resume: goes on after step {paused_after}")
    code, out = ask("stop", "--json", "--no-wait")
    assert code == 0 and json.loads(out)["ok"] is None
    process.communicate(timeout=60)
    answers = [event for event in read_events(run) if isinstance(event, Ack)]
    assert {event.by for event in answers} == {who()} and answers[-1].id == json.loads(out)["id"]
    rates = {event.step: event.lr for event in read_events(run) if isinstance(event, Step)}
    assert rates[paused_after] == 1e-3 and rates[paused_after + 1] == 2.5e-4
    assert ask("stop")[0] == 1
    open_to_others = [path for path in (folder, *folder.rglob("*")) if path.lstat().st_mode & 0o077]
    assert [path for path in open_to_others if not path.is_symlink()] == []

    last = max(rates)
    resumed = train("--train.max_steps", last + 2, "--train.resume_from", "auto", *STEADY)
    assert resumed.run == run and resumed.of(Step)[-1].lr == 2.5e-4, "the factor goes with the checkpoint"
    console = run.console_log.read_text()
    assert "0.25 of its schedule's, as was asked for" in console
    assert f"{who()}: pause: pauses after step {paused_after}" in console, "those without a screen see who asked"


def test_a_run_goes_on_under_its_own_name_whatever_the_config_is_called(
    train: Callable[..., Outcome], monkeypatch: pytest.MonkeyPatch
) -> None:
    from engine.train.commands import CommandDesk

    with monkeypatch.context() as patch:
        patch.setattr(CommandDesk, "obey_all", lambda desk: desk._session.stop.request("enough"))
        run = train().run
    run.path.chmod(0o755)
    run.console_log.chmod(0o644)
    info = read_run_info(run)
    assert info is not None
    write_run_info(run, replace(info, name="qwen35_4b/a100_40gb", started=info.started - 60))
    config = ["--config", str(run.config_yaml), "--run-dir", str(run.path)]
    assert main(["train", *config, "--train.resume_from", "auto"]) == 0
    again, started = read_run_info(run), [event for event in read_events(run) if isinstance(event, Start)]
    assert again is not None and again.name == started[-1].config == "qwen35_4b/a100_40gb"
    assert liveness(run) == "finished"
    assert (run.path.stat().st_mode & 0o777, run.console_log.stat().st_mode & 0o777) == (0o700, 0o600)


def test_a_run_may_be_opened_to_others(train: Callable[..., Outcome]) -> None:
    before = os.umask(0o022)
    try:
        run = train("--train.max_steps", 2, "--train.private", "false").run
    finally:
        os.umask(before)
    modes = {path.name: path.stat().st_mode & 0o777 for path in (run.path, run.events, run.console_log, run.final)}
    assert modes == {run.id: 0o755, "events.jsonl": 0o644, "console.log": 0o644, "final": 0o755}
    assert run.control.stat().st_mode & 0o777 == 0o600, "to look is not to steer"

"""Runs as their directories show them: written here event by event, with the clock that the case needs."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from engine.cli import main
from engine.events import (
    Alert,
    Checkpoint,
    End,
    Event,
    EventWriter,
    Host,
    ModelInfo,
    Phase,
    Resume,
    Start,
    Step,
)
from engine.health.training import JUDGED
from engine.rundir import RunDir, this_process, write_run_info
from tests.monitoring.conftest import Monitor

NOBODY = 2**22 + 1
"""No process has this number: it is above the largest one."""


class Written:
    """A run directory; `write` appends an event of the moment `age` seconds ago."""

    def __init__(self, path: Path) -> None:
        path.mkdir()
        self.run = RunDir(path)
        self.age = 0.0
        self._events = EventWriter(self.run.events, now=lambda: time.time() - self.age)
        self.is_trained_by(os.getpid())

    def is_trained_by(self, pid: int, host: str | None = None, since: float = 10_000.0) -> None:
        info = replace(this_process(self.run, "case"), pid=pid, started=time.time() - since)
        write_run_info(self.run, replace(info, host=host) if host else info)

    def write(self, *events: Event, age: float = 0.0) -> None:
        self.age = age
        for event in events:
            self._events.write(event)

    def train(self, steps: range, age: float = 0.0, dt: float = 1.0, loss: float = 2.0) -> None:
        """Steps that took `dt` seconds each, the last of them `age` seconds ago."""
        for step in steps:
            self.write(step_of(step, loss), age=age + (steps.stop - 1 - step) * dt)

    def close(self) -> None:
        self._events.close()


def step_of(step: int, loss: float | None = 2.0) -> Step:
    return Step(
        step=step, epoch=0.1, loss=loss, lr=1e-5, grad_norm=0.4, dt=1.0, tokens=90, slots=100, loss_tokens=50, tok_s=90
    )


def start_of(judged: tuple[str, ...] = JUDGED) -> Start:
    model = ModelInfo(name="tiny", params=10, trainable=10)
    return Start(
        run="case", command="pgs train", config="case", model=model, device="cpu", total_steps=100, judged=judged
    )


@pytest.fixture
def run(tmp_path: Path) -> Iterator[Written]:
    with closing(Written(tmp_path / "case")) as written:
        yield written


def codes(document: dict) -> list[str]:  # type: ignore[type-arg]
    return [one["code"] for one in document["incidents"] if one["open"]]


def test_a_run_that_trains_is_told_with_its_numbers(run: Written, monitor: Monitor) -> None:
    run.write(start_of(), Phase(name="training"), age=30)
    run.train(range(1, 21))
    code, document = monitor(run.run.path)
    assert code == 0 and document["state"] == "running" and document["phase"] == "training"
    assert (document["step"], document["total_steps"], document["loss"]) == (20, 100, 2.0)
    assert document["age"] < 5 and document["incidents"] == []


def test_what_the_engine_found_is_told_and_decides_the_exit_code(run: Written, monitor: Monitor) -> None:
    run.write(start_of(), Phase(name="training"))
    run.train(range(1, 6))
    spike = Alert(
        id="spike_skipped-4", state="open", code="SPIKE_SKIPPED", severity="warning", meaning="a spike", step=4
    )
    run.write(spike)
    assert monitor(run.run.path)[0] == 0
    nan = Alert(id="nan-5", state="open", code="NON_FINITE_LOSS", severity="error", meaning="the loss is nan", step=5)
    run.write(nan)
    code, document = monitor(run.run.path)
    assert code == 1 and document["health"] == "error" and codes(document) == ["SPIKE_SKIPPED", "NON_FINITE_LOSS"]
    run.write(replace(nan, state="closed"))
    code, document = monitor(run.run.path)
    assert code == 0 and codes(document) == ["SPIKE_SKIPPED"] and len(document["incidents"]) == 2


def test_silence_is_told_by_the_usual_time_of_a_step_and_the_phase(run: Written, monitor: Monitor) -> None:
    run.write(start_of(), Phase(name="training"), age=200)
    run.train(range(1, 21), age=60)
    run.write(Host(cpu=1.0, rss=1.0, disk_free=1.0))
    code, document = monitor(run.run.path)
    (silent,) = document["incidents"]
    assert silent["code"] == "SILENT" and silent["severity"] == "warning" and code == 0
    assert "no step for 1 min, usually one every 1 s" in silent["meaning"]
    run.write(Phase(name="evaluating"))
    assert monitor(run.run.path)[1]["incidents"] == [], "an evaluation takes its time"
    run.write(Phase(name="training"))
    assert monitor(run.run.path)[1]["incidents"] == [], "and after it the next step has to be given time"


def test_a_long_silence_is_critical(run: Written, monitor: Monitor) -> None:
    run.write(start_of(), Phase(name="training"), age=5000)
    run.train(range(1, 21), age=4000)
    code, document = monitor(run.run.path)
    assert code == 1 and codes(document) == ["SILENT"] and document["incidents"][0]["severity"] == "critical"


def test_slow_steps_are_no_silence(run: Written, monitor: Monitor) -> None:
    run.write(start_of(), Phase(name="training"), age=5000)
    run.train(range(1, 21), age=200, dt=60.0)
    run.write(Host(cpu=1.0, rss=1.0, disk_free=1.0))
    assert monitor(run.run.path)[1]["incidents"] == []


def test_an_engine_that_vanished_is_critical_with_the_way_to_go_on(run: Written, monitor: Monitor) -> None:
    run.write(start_of(), Phase(name="training"), age=200)
    run.train(range(1, 21), age=60)
    run.is_trained_by(NOBODY)
    code, document = monitor(run.run.path)
    (dead,) = document["incidents"]
    assert code == 1 and document["state"] == document["health"] == "killed"
    assert dead["code"] == "ENGINE_DEAD" and "after step 20" in dead["meaning"]
    assert [advice["key"] for advice in dead["advice"]] == ["train.save_steps"], "there is nothing to go on from"
    run.write(Checkpoint(step=10, path="checkpoints/step-10", seconds=1.0, bytes=10))
    advice = monitor(run.run.path)[1]["incidents"][0]["advice"]
    assert [(one["key"], one["value"]) for one in advice] == [
        ("train.resume_from", str(run.run.path / "checkpoints/step-10"))
    ]


def test_after_a_few_steps_nobody_is_advised_to_save_at_each(run: Written, monitor: Monitor) -> None:
    run.write(start_of(), Phase(name="training"), age=200)
    run.train(range(1, 8), age=60)
    run.is_trained_by(NOBODY)
    (dead,) = monitor(run.run.path)[1]["incidents"]
    assert dead["code"] == "ENGINE_DEAD" and dead["advice"] == []


def test_a_run_on_another_machine_is_never_called_dead(run: Written, monitor: Monitor) -> None:
    run.write(start_of(), Phase(name="training"))
    run.train(range(1, 21))
    run.is_trained_by(NOBODY, host="elsewhere.example")
    code, document = monitor(run.run.path)
    assert code == 0 and document["state"] == "running" and document["incidents"] == []
    assert "elsewhere.example" in document["notes"][0]


def test_of_a_run_on_another_machine_that_is_silent_nobody_says_that_it_lives(run: Written, monitor: Monitor) -> None:
    run.write(start_of(), Phase(name="training"), age=5000)
    run.train(range(1, 21), age=4000)
    run.is_trained_by(NOBODY, host="elsewhere.example")
    (silent,) = monitor(run.run.path)[1]["incidents"]
    assert silent["code"] == "SILENT" and "whether it lives is not seen from here" in silent["meaning"]
    assert silent["metric"] == "silence" and silent["value"] > 3900


def test_a_run_on_another_machine_that_was_silent_for_long_is_lost(run: Written, monitor: Monitor) -> None:
    run.write(start_of(), Phase(name="training"), age=5000)
    run.train(range(1, 21), age=4000)
    run.is_trained_by(NOBODY, host="elsewhere.example")
    os.utime(run.run.events, (0, time.time() - 4000))
    code, document = monitor(run.run.path)
    assert (code, document["state"], document["health"], document["healthy"]) == (1, "lost", "lost", False)
    assert [one["code"] for one in document["incidents"] if one["open"]] == ["SILENT"]
    assert main(["monitor", str(run.run.path), "--follow"]) == 1, "nobody waits for it for ever"


def test_of_several_processes_the_first_one_tells_the_numbers(run: Written, monitor: Monitor) -> None:
    run.write(start_of(), Phase(name="training"))
    for number in range(1, 41):
        run.write(step_of(number), replace(step_of(number, 50.0), rank=1, dt=9.0))
    document = monitor(run.run.path)[1]
    assert document["loss"] == document["usual"]["loss"] == 2.0 and document["dt"] != 9.0
    assert document["incidents"] == []


def test_an_end_decides_and_a_resume_undoes_it(run: Written, monitor: Monitor) -> None:
    run.write(start_of(), Phase(name="training"))
    run.train(range(1, 21))
    run.write(
        Alert(id="end-oom", state="open", code="OUT_OF_MEMORY", severity="critical", meaning="none left", step=20)
    )
    run.write(End(status="failed", reason="Out of memory.", exit_code=3, last_step=20))
    code, document = monitor(run.run.path)
    assert code == 1 and document["state"] == "failed" and document["reason"] == "Out of memory."
    run.is_trained_by(os.getpid(), since=0.0)
    run.write(Phase(name="loading model"), start_of(), Resume(from_step=10, checkpoint="checkpoints/step-10"))
    run.train(range(11, 13))
    code, document = monitor(run.run.path)
    assert code == 0 and document["state"] == "running" and document["step"] == 12 and codes(document) == []


def test_a_log_whose_engine_does_not_say_what_it_judges_is_judged_here(run: Written, monitor: Monitor) -> None:
    run.write(start_of(judged=()), Phase(name="training"))
    run.train(range(1, 31))
    run.write(step_of(31, loss=float("nan")), step_of(32, loss=float("nan")), step_of(33, loss=float("nan")))
    code, document = monitor(run.run.path)
    assert code == 1 and codes(document) == ["NON_FINITE_LOSS"]


def test_what_is_judged_here_is_advised_with_values_of_the_runs_own_config(run: Written, monitor: Monitor) -> None:
    run.write(start_of(judged=()), Phase(name="training"))
    run.train(range(1, 31))
    run.write(*(step_of(step, loss=float("nan")) for step in (31, 32)))
    unknown = monitor(run.run.path)[1]["incidents"][0]["advice"]
    assert [one["value"] for one in unknown if one["key"] == "train.learning_rate"] == [None]
    run.run.config_yaml.write_text("model: {name_or_path: m}\ndata: {dataset: d.jsonl}\ntrain: {learning_rate: 2e-5}\n")
    known = monitor(run.run.path)[1]["incidents"][0]["advice"]
    assert [one["value"] for one in known if one["key"] == "train.learning_rate"] == [pytest.approx(2e-6)]
    run.run.config_yaml.write_text("a config: of another version\n")
    assert monitor(run.run.path)[1]["incidents"][0]["advice"] == unknown


def test_following_a_run_that_is_over_tells_how_it_stands_once(
    run: Written, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    run.write(start_of(), Phase(name="training"))
    run.train(range(1, 5))
    run.write(End(status="finished", reason="all epochs done", exit_code=0, last_step=4))
    assert main(["monitor", str(run.run.path), "--follow", "--plain"]) == 0
    assert capsysbinary.readouterr().out.count(b"health: ok") == 1


def test_a_run_that_has_finished_has_no_open_incident_of_its_pace(run: Written, monitor: Monitor) -> None:
    run.write(start_of(), Phase(name="training"))
    run.train(range(1, 5))
    for code in ("THROTTLED", "EVAL_RISES"):
        run.write(Alert(id=code, state="open", code=code, severity="warning", meaning="!", step=3))
    assert codes(monitor(run.run.path)[1]) == ["THROTTLED", "EVAL_RISES"]
    run.write(End(status="finished", reason="all epochs done", exit_code=0, last_step=4))
    assert codes(monitor(run.run.path)[1]) == ["EVAL_RISES"]


def test_a_log_whose_engine_judges_is_left_to_it(run: Written, monitor: Monitor) -> None:
    run.write(start_of(), Phase(name="training"))
    run.train(range(1, 31))
    run.write(step_of(31, loss=float("nan")))
    assert monitor(run.run.path)[1]["incidents"] == []


def test_of_an_earlier_version_what_it_told_is_not_told_twice(run: Written, monitor: Monitor) -> None:
    run.write(start_of(judged=()), Phase(name="training"))
    run.train(range(1, 31))
    run.write(step_of(31, loss=9.0))
    run.write(
        Alert(id="spike_skipped-31", state="open", code="SPIKE_SKIPPED", severity="warning", meaning="!", step=31)
    )
    run.train(range(32, 40))
    assert [one["id"] for one in monitor(run.run.path)[1]["incidents"]] == ["spike_skipped-31"]


def test_text_of_the_data_does_not_reach_the_terminal_as_a_command(
    run: Written, capsys: pytest.CaptureFixture[str]
) -> None:
    run.write(start_of(), Phase(name="training"))
    run.train(range(1, 3))
    odd = "a \x1b]0;title\x07 row\nand more"
    run.write(Alert(id="x", state="open", code="SPIKE_SKIPPED", severity="error", meaning=odd, step=2))
    assert main(["monitor", str(run.run.path)]) == 1
    out = capsys.readouterr().out
    assert "\x1b" not in out and "\x07" not in out and "title" in out
    assert "error SPIKE_SKIPPED at step 2" in out and out.endswith("health: error (something is wrong)\n")


@pytest.mark.parametrize(
    ("words", "told"),
    (
        (["nowhere.log"], "nor is there a log file"),
        (["."], "holds nothing that can be shown; read are runs"),
        (["-", "--bell"], "add --follow"),
        (["-", "--on-critical", "true"], "add --follow"),
        (["-", "--train.epochs", "2"], "no keys of a config"),
        (["-", "--brief", "--json"], "choose one"),
    ),
)
def test_what_makes_no_sense_is_refused(
    words: list[str],
    told: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    assert main(["monitor", *words]) == 2
    assert told in capsys.readouterr().err


def test_each_kind_of_tokens_a_second_has_its_own_name_and_the_norm_is_that_before_clipping(
    run: Written, monitor: Monitor, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    """Two rows of eight slots, 6 and 8 of them real, 3 and 2 trained, in half a second."""
    run.write(start_of(), Phase(name="training"))
    counts = replace(step_of(1), tokens=14, slots=16, loss_tokens=5, dt=0.5, tok_s=28.0)
    run.write(replace(counts, grad_norm=5.0, clip_scale=0.2))
    _, document = monitor(run.run.path)
    assert document["tok_s"] == 28.0 and document["rates"] == {"padded": 32.0, "trained": 10.0, "padding": 0.125}
    assert (document["grad_norm"], document["clip_scale"]) == (5.0, 0.2)
    assert main(["monitor", str(run.run.path)]) == 0
    shown = capsysbinary.readouterr().out.decode()
    assert "tok/s 28 (32 with 12.5 % padding, 10 trained)" in shown and "grad_norm 5 (clipped to 0.2 of it)" in shown

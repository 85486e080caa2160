from pathlib import Path

import pytest

from engine.events import Advice, Alert, Severity
from engine.events.types import AlertState
from engine.health.alarm import Alarm
from engine.health.on_critical import MOST_AT_ONCE, OnCritical


def alert(state: AlertState, severity: Severity, meaning: str = "the loss is nan", id: str = "a-1") -> Alert:
    advice = (Advice(key="train.learning_rate", value=1e-5), Advice(key="train.stochastic_rounding", value=True))
    return Alert(id=id, state=state, code="NON_FINITE_LOSS", severity=severity, meaning=meaning, step=8, advice=advice)


def test_an_incident_wakes_once_when_it_opens_or_becomes_critical() -> None:
    alarm = Alarm(since=100.0)
    assert not alarm.is_due(alert("open", "error"), 101.0)
    assert alarm.is_due(alert("update", "critical"), 102.0)
    assert not alarm.is_due(alert("update", "critical"), 103.0)
    assert not alarm.is_due(alert("closed", "critical"), 104.0)
    assert alarm.is_due(alert("open", "critical"), 105.0), "it opened again"
    assert alarm.is_due(alert("open", "critical", id="b-1"), 105.0), "another one"


def test_nobody_is_woken_for_the_past() -> None:
    alarm = Alarm(since=100.0)
    assert not alarm.is_due(alert("open", "critical"), 99.0)
    assert not alarm.is_due(alert("update", "critical"), 101.0), "it was critical before anyone looked"
    alarm = Alarm(since=100.0)
    assert not alarm.is_due(alert("open", "error"), 99.0)
    assert alarm.is_due(alert("update", "critical"), 101.0), "it became critical while somebody looked"


def test_the_command_is_told_in_its_environment_alone(tmp_path: Path) -> None:
    told = tmp_path / "told"
    names = ("PGS_RUN", "PGS_CODE", "PGS_SEVERITY", "PGS_STEP", "PGS_MEANING", "PGS_ADVICE")
    quoted = " ".join(f'"${name}"' for name in names)
    command = OnCritical(f"printf '%s|' {quoted} > {told}", "/runs/x")
    meaning = '$(touch pwned) `touch pwned` "; touch pwned \0 \ud800 漢'
    assert command.start(alert("open", "critical", meaning)) is None
    command._going[0].wait(10)
    shown = '$(touch pwned) `touch pwned` "; touch pwned  ? 漢'
    advice = "train.learning_rate: 1e-05\ntrain.stochastic_rounding: true"
    assert told.read_text() == "|".join(("/runs/x", "NON_FINITE_LOSS", "critical", "8", shown, advice, ""))
    assert not (tmp_path / "pwned").exists() and not Path("pwned").exists()


def test_a_command_that_fails_is_told_once() -> None:
    command = OnCritical("exit 3", "/runs/x")
    command.start(alert("open", "critical"))
    command._going[0].wait(10)
    assert command.failures() == ["the command on critical alerts ended with code 3"]
    assert command.failures() == []


def test_commands_do_not_pile_up() -> None:
    command = OnCritical("exec sleep 60", "/runs/x")
    try:
        assert [command.start(alert("open", "critical")) for _ in range(MOST_AT_ONCE)] == [None] * MOST_AT_ONCE
        refused = command.start(alert("open", "critical"))
        assert refused is not None and "still run" in refused
    finally:
        for process in command._going:
            process.kill()
            process.wait(10)


def test_a_shell_that_is_missing_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("engine.health.on_critical.SHELL", "/nowhere/sh")
    refused = OnCritical("true", "/runs/x").start(alert("open", "critical"))
    assert refused == "the command for NON_FINITE_LOSS could not be started: No such file or directory"

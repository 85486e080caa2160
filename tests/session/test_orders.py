"""What people ask for reaches who does it: in its order, once, and with an answer."""

from pathlib import Path
from typing import Any

import pytest

from engine.control import control_command
from engine.events.control_file import append_command, make_control_file
from engine.events.control_line import Command, CommandName, Refused, new_command
from engine.session.control import ControlInbox
from engine.session.moments import between_steps, moment_of
from engine.session.orders import PATIENCE_SECONDS, Orders
from engine.session.stop import StopSwitch


class Desk:
    """Orders of a run that is after step 7, a clock, and all that was answered."""

    def __init__(self, folder: Path) -> None:
        self.path, self.now, self.stop = folder / "control.jsonl", 0.0, StopSwitch()
        self.told: list[tuple[str, bool, str, bool]] = []
        self.orders = Orders(
            ControlInbox(self.path), self.stop, self.answer, lambda: between_steps(7), lambda: self.now
        )

    def answer(self, asked: Command | Refused, ok: bool, message: str, later: bool = False) -> None:
        self.told.append((asked.cmd, ok, message, later))

    def ask(self, *names: CommandName) -> None:
        for name in names:
            append_command(self.path, new_command(name, **({"factor": 0.5} if name == "scale_lr" else {})))


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


def test_the_monitor_looks_only_where_the_training_does_not_come_to_it(desk: Desk) -> None:
    desk.ask("pause", "checkpoint")
    desk.orders.look_instead()
    assert desk.told == []
    desk.now += PATIENCE_SECONDS
    desk.orders.look_instead()
    assert desk.told == [
        ("pause", True, "pauses after step 7", False),
        ("checkpoint", True, "saves after step 7", True),
    ]
    assert desk.orders.is_to_pause
    desk.orders.look()
    first = desk.orders.next()
    assert first is not None and first.cmd == "checkpoint" and desk.orders.next() is None


def test_who_stops_a_run_is_not_promised_a_pause_by_it(desk: Desk) -> None:
    desk.now += PATIENCE_SECONDS
    desk.ask("pause", "stop", "pause", "stop")
    desk.orders.look_instead()
    assert desk.stop.reason is not None and not desk.orders.is_to_pause
    assert [(cmd, ok) for cmd, ok, *_ in desk.told] == [
        ("pause", True),
        ("stop", True),
        ("pause", False),
        ("stop", True),
    ]
    assert desk.told[-1][2].startswith("is stopping already (asked to stop by ")


def test_at_the_end_everything_that_was_not_done_is_refused(desk: Desk) -> None:
    desk.now += PATIENCE_SECONDS
    desk.ask("evaluate", "checkpoint")
    desk.orders.look_instead()
    promised = desk.orders.next()
    assert promised is not None
    desk.orders.defer(promised, "is evaluating already")
    for _ in range(250):
        desk.ask("scale_lr")
    desk.told.clear()
    desk.orders.refuse_rest()
    assert len(desk.told) == 252 and {told[1:] for told in desk.told} == {(False, "the run is over", False)}


@pytest.mark.parametrize("phase", ["rehearsing", "compiling", "saving", "evaluating", "training", "paused", "anything"])
@pytest.mark.parametrize("step", [0, 7])
def test_every_phase_has_its_words(phase: str, step: int) -> None:
    moment = moment_of(phase, step)
    words = (moment.stops, moment.pauses, moment.goes_on, moment.later)
    assert all(words) and ("0" not in "".join(words))
    assert ("checkpoint" in moment.stops) == (step > 0 and phase in ("evaluating", "training", "paused", "anything"))


def test_pgs_control_says_at_once_why_nobody_would_obey(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from argparse import Namespace

    def asked(run: str) -> tuple[int, str]:
        options: Any = Namespace(run=run, cmd="stop", factor=None, no_wait=False, json=False)
        return control_command(options, []), capsys.readouterr().err

    code, told = asked("me@box:runs/my run")
    assert code == 2 and r"""`ssh me@box 'pgs control '"'"'runs/my run'"'"' stop'`""" in told
    run, control = tmp_path / "run", tmp_path / "run" / "control.jsonl"
    run.mkdir()
    (run / "events.jsonl").touch()
    monkeypatch.setattr("engine.control.liveness", lambda run: "live")
    make_control_file(control)
    control.chmod(0o620)
    code, told = asked(str(run))
    assert code == 1 and "others may write it (its mode is 0620; `chmod 600` makes it yours alone)" in told
    control.unlink()
    control.symlink_to("elsewhere")
    assert asked(str(run)) == (1, f"pgs: The engine does not obey {control}: it is a link.\n")
    control.unlink()
    control.mkdir()
    assert "it is no regular file" in asked(str(run))[1]
    monkeypatch.setattr("engine.control.liveness", lambda run: "killed")
    assert "is over: its engine is gone without a word" in asked(str(run))[1]

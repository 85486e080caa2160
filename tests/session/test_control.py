import json
from pathlib import Path

from engine.session.control import ControlInbox


def line(identity: str, cmd: str, t: float = 10.0) -> str:
    return json.dumps({"v": 1, "id": identity, "t": t, "by": "anna", "cmd": cmd, "args": {}}) + "\n"


def test_commands_arrive_once_and_only_when_their_line_is_complete(tmp_path: Path) -> None:
    path = tmp_path / "control.jsonl"
    inbox = ControlInbox(path, since=5.0)
    assert inbox.poll() == []
    path.write_text(line("a", "checkpoint") + line("b", "stop")[:20])
    assert [command.cmd for command in inbox.poll()] == ["checkpoint"]
    with path.open("a") as file:
        file.write(line("b", "stop")[20:])
    assert [(command.id, command.cmd, command.by) for command in inbox.poll()] == [("b", "stop", "anna")]
    assert inbox.poll() == []


def test_commands_for_an_earlier_process_of_the_run_are_passed_over(tmp_path: Path) -> None:
    path = tmp_path / "control.jsonl"
    path.write_text(line("old", "stop", t=1.0) + line("new", "stop", t=9.0))
    assert [command.id for command in ControlInbox(path, since=5.0).poll()] == ["new"]


def test_a_broken_line_is_answered_instead_of_obeyed(tmp_path: Path) -> None:
    path = tmp_path / "control.jsonl"
    path.write_text('stop\n{"id": "x"}\n[]\n')
    problems = [command.problem for command in ControlInbox(path, since=0.0).poll()]
    assert len(problems) == 3 and all(problem is not None and "not a command" in problem for problem in problems)


def test_a_file_that_cannot_be_read_ends_nothing(tmp_path: Path) -> None:
    assert ControlInbox(tmp_path, since=0.0).poll() == []

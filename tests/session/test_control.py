"""What people write to a running engine: who is obeyed, what is refused, and that nothing holds the training up."""

import json
import os
import stat
from pathlib import Path
from typing import Any

import pytest

from engine.events.control_file import append_command
from engine.events.control_line import Command, Refused, new_command
from engine.session.control import MOST_LINES, MOST_READ, ControlInbox


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "control.jsonl"


def line(number: int, cmd: str = "checkpoint", **changed: Any) -> str:
    record = {"v": 1, "id": f"{number:012x}", "t": 10.0, "by": "anna@box", "cmd": cmd, "args": {}}
    return json.dumps(record | changed) + "\n"


def write(path: Path, text: str | bytes) -> None:
    """Append as a person's own file, readable by the owner alone."""
    descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    os.write(descriptor, text.encode() if isinstance(text, str) else text)
    os.close(descriptor)


def numbers(inbox: ControlInbox) -> list[int]:
    return [int(asked.id, 16) for asked in inbox.poll() if isinstance(asked, Command)]


def refusals(inbox: ControlInbox) -> list[str]:
    return [asked.why for asked in inbox.poll() if isinstance(asked, Refused)]


def test_commands_arrive_once_and_only_when_their_line_is_complete(path: Path) -> None:
    inbox = ControlInbox(path)
    assert inbox.poll() == []
    write(path, line(1) + line(2, "stop")[:20])
    assert [(asked.id, asked.cmd, asked.by) for asked in inbox.poll()] == [(f"{1:012x}", "checkpoint", "anna@box")]
    write(path, line(2, "stop")[20:])
    assert [asked.cmd for asked in inbox.poll()] == ["stop"]
    assert inbox.poll() == []


def test_what_was_meant_for_an_earlier_engine_is_passed_over_by_place_not_by_clock(path: Path) -> None:
    write(path, line(1, t=9e9))
    inbox = ControlInbox(path, begin=path.stat().st_size)
    assert inbox.poll() == []
    write(path, line(2, t=1.0))  # from a laptop whose clock is decades behind
    assert numbers(inbox) == [2]


def test_a_command_that_came_twice_is_done_once(path: Path) -> None:
    inbox = ControlInbox(path)
    write(path, line(1) + line(1))
    assert numbers(inbox) == [1]
    write(path, line(1) + line(2))  # a sender whose answer was lost with the link sends again
    assert numbers(inbox) == [2]


@pytest.mark.parametrize("begins_behind", [False, True])
def test_a_file_that_was_emptied_or_written_anew_is_read_from_its_start(path: Path, begins_behind: bool) -> None:
    write(path, line(1) + line(2))
    inbox = ControlInbox(path, begin=path.stat().st_size if begins_behind else 0)
    assert numbers(inbox) == ([] if begins_behind else [1, 2])
    path.write_text("")
    assert inbox.poll() == []
    write(path, line(3))
    assert numbers(inbox) == [3]
    path.write_text(line(4))  # `echo ... > control.jsonl`: of the very same size
    assert numbers(inbox) == [4]
    path.write_text(line(1) + line(2) + line(4) + line(5))  # an editor writes all that it has
    assert numbers(inbox) == [5]


def test_a_line_that_a_crash_left_torn_costs_no_later_command(path: Path) -> None:
    write(path, line(1)[:30])
    inbox = ControlInbox(path)
    command = new_command("stop")
    append_command(path, command)
    found = inbox.poll()
    assert isinstance(found[0], Refused) and found[1:] == [command]
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("stop", "not a command"),
        ("[]", "not a command but list"),
        ('{"id": "x"}', "v: this engine reads commands of version 1"),
        (line(1, "dance"), "'dance' is not available; possible are stop, checkpoint, evaluate, pause, resume, scale"),
        (line(1, cmd=["stop"]), "is not available"),
        (line(1, v=2), "version 1, found 2"),
        (line(1, v=True), "version 1, found True"),
        (line(1, id="1"), "id: expected 12 to 32 hexadecimal digits"),
        (line(1, id=10**20), "id: expected 12 to 32 hexadecimal digits"),
        (line(1, t="now"), "t: expected unix seconds"),
        (line(1, t=10**400), "t: expected unix seconds"),
        (line(1, t=float("nan")), "NaN is no number of JSON"),
        (line(1, by=""), "by: expected 1 to 80 visible characters"),
        (line(1, by="x" * 81), "by: expected 1 to 80 visible characters"),
        (line(1, by="\x1b[2Jroot"), "by: expected 1 to 80 visible characters"),
        (line(1, by="\u202egnp.exe"), "by: expected 1 to 80 visible characters"),
        (line(1, args={"now": True}), "args: checkpoint takes none"),
        (line(1, args=[]), "args: checkpoint takes none"),
        (line(1, "scale_lr"), "args: scale_lr takes factor"),
        (line(1, "scale_lr", args={"factor": "0.5"}), "factor: expected more than 0 and at most 10"),
        (line(1, "scale_lr", args={"factor": True}), "factor: expected"),
        (line(1, "scale_lr", args={"factor": -1}), "factor: expected"),
        (line(1, "scale_lr", args={"factor": 1e9}), "factor: expected"),
        (line(1, "scale_lr", args={"factor": 10**400}), "factor: expected"),
        (line(1, extra=1), "'extra' is not one of its fields"),
        (line(1).replace("{", '{"v": 1, ', 1), "a field stands twice"),
        (line(1).replace('"args": {}', '"args": {"a": {}, "a": 1}'), "a field stands twice"),
        ("[" * 4000, "not a command"),
        ('{"a":' * 800, "not a command"),
        (line(1, by="x" * 5000), "at most 4,096 bytes"),
        (b"\xff\xfe{}", "not a command"),
    ],
)
def test_what_is_no_command_is_answered_and_holds_nothing_up(path: Path, text: str | bytes, why: str) -> None:
    inbox = ControlInbox(path)
    write(path, (text if isinstance(text, bytes) else text.encode()).rstrip(b"\n") + b"\n" + line(2).encode())
    refused, good = inbox.poll()
    assert isinstance(refused, Refused) and why in refused.why
    assert refused.why.isprintable() and len(refused.why) < 300
    assert isinstance(good, Command)


def test_a_line_without_end_is_refused_once_and_passed_over(path: Path) -> None:
    inbox = ControlInbox(path)
    write(path, b"[" * (MOST_READ + 5000))
    first = inbox.poll()
    assert len(first) == 1 and isinstance(first[0], Refused) and first[0].why.startswith("a command has at most")
    write(path, b"[" * 200_000)
    assert [inbox.poll() for _ in range(5)] == [[]] * 5
    write(path, b"[" * 10_000_000 + b"\n" + line(1).encode())
    assert [number for _ in range(4) for number in numbers(inbox)] == [1], "megabytes cost no more than a few looks"


def test_a_flood_is_answered_in_pieces(path: Path) -> None:
    inbox = ControlInbox(path)
    write(path, "x\n" * 250 + line(1))
    assert [len(inbox.poll()) for _ in range(4)] == [MOST_LINES, MOST_LINES, 51, 0]


def test_a_file_that_others_may_write_is_not_obeyed_nor_what_was_written_meanwhile(path: Path) -> None:
    inbox = ControlInbox(path)
    write(path, line(1))
    path.chmod(0o666)
    [why] = refusals(inbox)
    assert "others may write it (its mode is 0666; `chmod 600` makes it yours alone)" in why
    write(path, line(2))
    assert inbox.poll() == [], "said once"
    path.chmod(0o600)
    assert inbox.poll() == []
    write(path, line(3))
    assert numbers(inbox) == [3]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file to another user")
def test_a_file_of_another_user_is_not_obeyed(path: Path) -> None:
    write(path, line(1, "stop"))
    os.chown(path, 12345, 12345)
    [why] = refusals(ControlInbox(path))
    assert "it belongs to the user of number 12345, and only root may steer this run" in why


@pytest.mark.parametrize("kind", ["pipe", "link", "folder", "socket"])
def test_what_is_no_file_never_stops_the_training(path: Path, kind: str) -> None:
    if kind == "pipe":
        os.mkfifo(path, 0o600)
    elif kind == "folder":
        path.mkdir()
    elif kind == "link":
        write(path.with_name("elsewhere"), line(1))
        path.symlink_to("elsewhere")
    else:
        os.mknod(path, 0o600 | stat.S_IFSOCK)
    inbox = ControlInbox(path)
    [why] = refusals(inbox)
    assert "control.jsonl is not obeyed: it" in why
    assert inbox.poll() == []
    with pytest.raises(OSError):
        append_command(path, new_command("stop"))


def test_what_a_person_sends_is_what_the_engine_reads(path: Path) -> None:
    inbox = ControlInbox(path)
    sent = [new_command("pause"), new_command("scale_lr", factor=0.25), new_command("stop")]
    for command in sent:
        append_command(path, command)
    assert inbox.poll() == sent
    with pytest.raises(ValueError, match="more than 0 and at most 10"):
        new_command("scale_lr", factor=0.0)
    with pytest.raises(ValueError, match="args: stop takes none"):
        new_command("stop", factor=1.0)

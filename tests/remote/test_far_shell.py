"""Questions to a shell on another machine: their answers, and what is not part of them."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from pgs_tui.remote.channel import Channel
from pgs_tui.remote.facts import facts_of
from pgs_tui.remote.far_shell import Answer, FarShell
from pgs_tui.remote.programs import APPEND, CHECK, FOLLOW, PART, SPIKE, SURVEY
from pgs_tui.remote.ssh import Connection


def a_run(folder: Path, log: bytes = b'{"event": "step"}\n') -> Path:
    folder.mkdir()
    (folder / "run.json").write_text('{\n  "host": "h",\n  "pid": 1,\n  "pid_start": "1"\n}\n')
    (folder / "events.jsonl").write_bytes(log)
    return folder


def test_a_survey_brings_a_short_log_whole_with_who_runs_it(box: Connection, tmp_path: Path) -> None:
    run = a_run(tmp_path / "it's a run; $(touch PWNED)")
    shell = box.shell()
    answer = shell.ask(SURVEY, str(run), 65536, 120, 4096, 131072)
    assert answer["whole"] == b'{"event": "step"}\n'
    assert answer.text("folder") == str(run)
    assert answer.text("log").split() == ["18", str((run / "events.jsonl").stat().st_ino)]
    assert answer["process"].startswith(b"1 (") and answer.text("clock").isdecimal()
    assert shell.ask(SPIKE, str(run), 7).parts == ()
    shell.close()


def test_a_survey_of_a_long_log_brings_samples_of_it(box: Connection, tmp_path: Path) -> None:
    log = bytes(range(256)) * 4096
    run = a_run(tmp_path / "run", log)
    shell = box.shell()
    answer = shell.ask(SURVEY, str(run), 1000, 10, 4096, 2000)
    assert answer["head"] == log[:1000] and answer["tail"] == log[-2000:]
    places = [len(log) // 4096 * i // 10 * 4096 for i in range(1, 10)]
    assert answer["places"] == b"".join(log[place : place + 4096] for place in places)
    assert shell.ask(PART, str(run), "events.jsonl", 77, 100_001)["bytes"] == log[77:100_078]
    check = shell.ask(CHECK, str(run), 5000)
    assert check["head"] == log[:64] and check["before"] == log[4936:5000]
    shell.close()


def test_a_log_that_grows_while_it_is_surveyed_is_told_as_of_one_moment(tmp_path: Path) -> None:
    log = bytes(range(256)) * 256
    run = a_run(tmp_path / "run", log)
    grows = tmp_path / "bin" / "wc"
    grows.parent.mkdir()
    grows.write_text(f"#!/bin/sh\n{shutil.which('wc')} \"$@\"; printf 'another event\\n' >>'{run}/events.jsonl'\n")
    grows.chmod(0o755)
    path = f"{grows.parent}{os.pathsep}{os.environ['PATH']}"
    shell = FarShell(Channel(("sh",), "box", {**os.environ, "PATH": path, "HOME": str(tmp_path)}))
    answer = shell.ask(SURVEY, str(run), 1000, 10, 4096, 2000)
    assert int(answer.text("log").split()[0]) == len(log) < (run / "events.jsonl").stat().st_size
    assert answer["tail"] == log[-2000:]
    shell.close()


def test_a_followed_log_comes_as_it_is_written(box: Connection, tmp_path: Path) -> None:
    run = a_run(tmp_path / "run", b"one\ntwo\n")
    stream = box.shell().stream(FOLLOW, str(run), "events.jsonl", 4)
    news = iter(stream)
    assert next(news) == b"two\n"
    with (run / "events.jsonl").open("ab") as log:
        log.write(b"three\n")
    assert next(news) == b"three\n"
    stream.close()


def test_a_line_is_put_behind_the_control_file(box: Connection, tmp_path: Path) -> None:
    run = a_run(tmp_path / "run")
    shell = box.shell()
    assert shell.ask(APPEND, str(run), '{"cmd": "it\'s $(me) \\n"}').text("result") == "written"
    control = run / "control.jsonl"
    assert control.read_text() == '{"cmd": "it\'s $(me) \\n"}\n'
    assert control.stat().st_mode & 0o777 == 0o600
    shell.close()


_RECORDS = [b"[]", b'{"pid": "x", "host": 3}']
_ODD = st.sampled_from([b"", b"-", b"- -", b"1 2", b"9" * 400, b"1 (a) R", b"\xff", "٣".encode(), *_RECORDS])
_PARTS = st.sampled_from(["run", "process", "boot", "host", "clock", "log"])


@given(st.dictionaries(_PARTS, _ODD | st.binary(max_size=9)))
def test_whatever_a_broken_machine_answers_is_judged_or_unknown(parts: dict[str, bytes]) -> None:
    facts = facts_of(Answer(tuple(parts.items())), now=1.8e9)
    assert facts.life(looked_for=1.0, last_event_age=2.0)

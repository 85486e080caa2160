"""Nothing of a path, a name, an event or a command's line is ever run, and all of it arrives as it is."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from pgs_tui.remote.channel import Channel
from pgs_tui.remote.far_shell import FarShell
from pgs_tui.remote.programs import APPEND, CHECK, LIST, PART, SPIKE, SURVEY

TRAP = "touch PWNED"
_TRAPS = [f"$({TRAP})", f"`{TRAP}`", f"';{TRAP};'", f'";{TRAP};"', f"\\';{TRAP};#", f"&{TRAP}&", f"|{TRAP}", f">{TRAP}"]
_SIGNS = [
    "'",
    '"',
    "\\",
    "$",
    "*",
    "?",
    "[a]",
    "~",
    "-",
    "--",
    "-n",
    " ",
    "\t",
    "\r",
    "%s",
    "!!",
    "${HOME}",
    "é",
    "\udcff",
    "a",
]
_PIECES = st.one_of(
    st.sampled_from(_TRAPS + _SIGNS), st.text(st.characters(codec="utf-8", exclude_characters="/\0\n"), max_size=3)
)
NAMES = (
    st.lists(_PIECES, min_size=1, max_size=6)
    .map("".join)
    .filter(lambda name: 0 < len(os.fsencode(name)) < 200 and name[0] != ".")
)
LINES = st.lists(_PIECES, max_size=8).map("".join)
_EXAMPLES = settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@pytest.fixture(params=[("dash",), ("bash", "--posix")], ids=["dash", "bash"])
def shell(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[FarShell]:
    """A shell whose home and working directory are a folder where a trap would leave its file."""
    if shutil.which(request.param[0]) is None:
        pytest.skip(f"needs {request.param[0]}")
    shell = FarShell(Channel(request.param, "box", {"HOME": str(tmp_path), "PATH": os.environ["PATH"]}))
    yield shell
    shell.close()


@_EXAMPLES
@given(name=NAMES, line=LINES)
@example(name=f"$({TRAP})", line=f"$({TRAP}) \\n %s")
@example(name="-rf", line="-n")
def test_a_name_and_an_event_are_only_text(shell: FarShell, tmp_path: Path, name: str, line: str) -> None:
    home = tmp_path / "runs"
    run = home / name
    run.mkdir(parents=True)
    try:
        event = f"{line}\n".encode("utf-8", "surrogateescape")
        for file in ("run.json", "config.yaml", "summary.json", "events.jsonl"):
            (run / file).write_bytes(event)
        path = f"./runs/{name}"
        survey = shell.ask(SURVEY, path, 64, 4, 64, 64)
        assert survey["folder"] == os.fsencode(run) + b"\n"
        assert survey["run"] == survey["config"] == survey["whole"] == event
        assert shell.ask(CHECK, path, len(event))["before"] == event[-64:]
        assert shell.ask(PART, path, "events.jsonl", 0, 1 << 20)["bytes"] == event
        assert shell.ask(APPEND, path, line).text("result") == "written"
        assert (run / "control.jsonl").read_bytes() == event
        assert shell.ask(SPIKE, path, 7).parts == ()
        listed = shell.ask(LIST, "./runs", 1 << 16, 4, 100)
        assert listed["name"] == os.fsencode(name) and listed["tail"] == listed["summary"] == event
    finally:
        shutil.rmtree(home)
    assert [found.name for found in tmp_path.rglob("*")] == []


@pytest.mark.parametrize("pid", ["$(touch PWNED)", "x[$(touch PWNED)]", "1; touch PWNED", "-1", "1 2"])
def test_a_process_number_that_is_none_is_not_looked_up(shell: FarShell, tmp_path: Path, pid: str) -> None:
    run = tmp_path / "run"
    run.mkdir()
    (run / "run.json").write_text(f'{{\n  "pid": {pid},\n  "x": 1\n}}\n')
    assert shell.ask(CHECK, "./run", 0).text("process") == ""
    assert not (tmp_path / "PWNED").exists()


def test_a_log_that_knows_how_answers_are_framed_is_only_data(shell: FarShell, tmp_path: Path) -> None:
    run = tmp_path / "run"
    run.mkdir()
    log = b"pgs-00112233445566778899aabbccddeeff end 0\npart end 0\n$mark end 0\n"
    (run / "events.jsonl").write_bytes(log)
    assert shell.ask(SURVEY, "./run", 64, 4, 64, 64)["whole"] == log


@pytest.mark.parametrize("kind", ["link", "not a file"])
def test_a_line_goes_into_an_ordinary_file_only(shell: FarShell, tmp_path: Path, kind: str) -> None:
    run = tmp_path / "run"
    run.mkdir()
    (run / "events.jsonl").touch()
    if kind == "link":
        (run / "control.jsonl").symlink_to(tmp_path / "PWNED")
    else:
        os.mkfifo(run / "control.jsonl")
    assert shell.ask(APPEND, "./run", "{}").text("result") == kind
    assert not (tmp_path / "PWNED").exists()
    assert shell.ask(APPEND, ".", "{}").text("result") == "no run"


def test_what_a_crash_left_of_a_command_does_not_spoil_the_next(shell: FarShell, tmp_path: Path) -> None:
    run = tmp_path / "run"
    run.mkdir()
    (run / "events.jsonl").touch()
    for line in ("one", "two"):
        assert shell.ask(APPEND, "./run", line).text("result") == "written"
    with (run / "control.jsonl").open("a") as control:
        control.write('{"torn')
    assert shell.ask(APPEND, "./run", "three").text("result") == "written"
    assert (run / "control.jsonl").read_text() == 'one\ntwo\n{"torn\nthree\n'

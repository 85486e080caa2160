"""The console's log of a run on another machine: its end, then what is written, and what becomes of it."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from pgs_tui.remote.channel import Channel
from pgs_tui.remote.console_copy import ConsoleCopy
from pgs_tui.remote.facts import file_facts
from pgs_tui.remote.far_shell import FarShell
from pgs_tui.remote.mirror import Mirror
from pgs_tui.remote.programs import SURVEY
from pgs_tui.runs.console import TAIL_BYTES, ConsoleTail


@pytest.fixture(params=("everything", "sh, tail and cat alone"))
def desk(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[FarShell]:
    path = os.environ["PATH"]
    if request.param != "everything":
        path = str(tmp_path / "bin")
        Path(path).mkdir()
        for name in ("sh", "tail", "cat"):
            (Path(path) / name).symlink_to(shutil.which(name) or "")
    shell = FarShell(Channel(("sh",), "box", {"PATH": path, "HOME": str(tmp_path)}))
    yield shell
    shell.close()


def test_its_end_is_followed_and_a_new_one_is_noticed(desk: FarShell, tmp_path: Path) -> None:
    log = tmp_path / "far" / "console.log"
    log.parent.mkdir()
    log.write_bytes(b"old\n" * TAIL_BYTES + b"newest\n")
    mirror = Mirror(tmp_path / "mirror")
    told = file_facts(desk.ask(SURVEY, str(log.parent), 64, 4, 64, 64).text("console"))
    assert told is not None
    copy = ConsoleCopy(mirror, str(log.parent), told.size)
    tail = ConsoleTail(mirror.run.console_log)
    copy.bring(desk)
    lines = tail.poll()
    assert set(lines[:-1]) == {"old"} and lines[-1] == "newest" and len(lines) <= TAIL_BYTES // 4
    copy.bring(desk)
    assert tail.poll() == ()
    with log.open("ab") as file:
        file.write(b"a line\nhalf")
    copy.bring(desk)
    assert tail.poll() == ("a line",)
    log.write_bytes(b"another engine\n")
    copy.bring(desk)
    assert tail.poll()[-1] == "another engine"
    mirror.close()

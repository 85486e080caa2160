"""Two engines never write one run."""

import errno
import fcntl
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from engine.rundir import RunDir
from engine.session.lock import RunLock, RunLockedError

HOLD = """
import os, sys
from pathlib import Path
from engine.rundir import RunDir
from engine.session.lock import RunLock
lock = RunLock(RunDir(Path(sys.argv[1])))
lock.take()
if sys.argv[2:] and os.fork() == 0:
    lock.release()
    os._exit(0)
if sys.argv[2:]:
    os.wait()
print("holds", flush=True)
sys.stdin.read()
"""


@contextmanager
def held_by_another(folder: Path, *and_forks: str) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-c", HOLD, str(folder), *and_forks]
    holder = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert holder.stdin is not None and holder.stdout is not None
    try:
        assert holder.stdout.readline() == "holds\n"
        yield holder
    finally:
        holder.kill()
        holder.communicate()


@pytest.mark.parametrize("and_forks", [(), ("a child that closes what it got",)])
def test_a_held_folder_is_refused_and_the_death_of_the_holder_frees_it(
    tmp_path: Path, and_forks: tuple[str, ...]
) -> None:
    lock = RunLock(RunDir(tmp_path))
    with held_by_another(tmp_path, *and_forks) as holder:
        with pytest.raises(RunLockedError, match=rf"process {holder.pid} on .* since .* holds its folder") as refused:
            lock.take()
        assert f"pgs-tui attach {tmp_path.name}" in str(refused.value)
        holder.kill()
        holder.wait()
        with lock:
            assert str(os.getpid()) in (tmp_path / "run.lock").read_text()


def test_a_folder_is_free_again_when_its_lock_is_given_back(tmp_path: Path) -> None:
    with RunLock(RunDir(tmp_path)) as lock:
        lock.take()
    with held_by_another(tmp_path), pytest.raises(RunLockedError):
        lock.take()


def test_a_disk_that_knows_no_locks_is_said_and_stops_no_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*arguments: object) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "lockf", refused)
    with RunLock(RunDir(tmp_path)) as lock:
        assert lock.note is not None and "knows no locks (No locks available)" in lock.note


def test_a_link_in_the_place_of_the_lock_is_not_followed(tmp_path: Path) -> None:
    precious = tmp_path / "precious"
    precious.write_text("content")
    (tmp_path / "run.lock").symlink_to(precious)
    with pytest.raises(OSError, match="symbolic link"):
        RunLock(RunDir(tmp_path)).take()
    assert precious.read_text() == "content"

"""A run on another machine is seen as one here would be: all of it, each event once, as it is written."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from engine.events import Batch, End, EventReader
from engine.rundir import read_run_info
from pgs_tui.remote.lost import LinkRefusedError
from pgs_tui.remote.ssh import Connection
from tests.remote.proxy import Proxy
from tests.remote.sshd import HOST, Sshd, serving
from tests.remote.watching import FarRun, Watched, line_of, steps

Watch = Callable[[Path], Watched]


def test_what_is_there_and_what_is_written_later(tmp_path: Path, watch: Watch) -> None:
    far = FarRun(tmp_path / "run", steps(1, 3))
    seen = watch(far.run.path)
    seen.until(lambda: seen.steps == [1, 2, 3])
    assert (seen.now.life, seen.now.loading, seen.states[-1]) == ("live", False, "up")
    far.write(steps(4, 4))
    seen.until(lambda: seen.steps == [1, 2, 3, 4])
    assert seen.log == ["the engine starts"]
    assert seen.source.name == "a_config"
    assert seen.source.run.config_yaml.read_text() == far.run.config_yaml.read_text()
    assert read_run_info(seen.source.run) == read_run_info(far.run)
    assert seen.notes == []


def test_a_long_log_is_shown_at_once_and_read_behind_it(tmp_path: Path, proxy: Proxy, watch: Watch) -> None:
    far = FarRun(tmp_path / "run", steps(1, 8000))
    seen = watch(far.run.path)
    seen.until(lambda: bool(seen.shown))
    assert (seen.shown[0], seen.shown[-1]) == (1, 8000) and len(seen.shown) < 8000
    assert seen.steps == []
    proxy.rate = 50_000  # a slow line: what is written now need not wait for what was before
    far.write(steps(8001, 8020))
    seen.until(lambda: seen.shown[-1] == 8020)
    assert seen.now.loading and seen.now.progress is not None
    proxy.rate = 0
    seen.until(lambda: not seen.now.loading)
    assert seen.steps == list(range(1, 8021))
    far.write(steps(8021, 8021))
    seen.until(lambda: seen.steps[-1] == 8021)
    assert far.run.events.read_bytes() == seen.source.run.events.read_bytes()


def test_attaching_again_fetches_only_what_is_new(tmp_path: Path, proxy: Proxy, watch: Watch) -> None:
    far = FarRun(tmp_path / "run", steps(1, 3000))
    first = watch(far.run.path)
    first.until(lambda: len(first.steps) == 3000)
    first.close()
    far.write(steps(3001, 4000))
    fetched = proxy.down
    again = watch(far.run.path)
    again.until(lambda: len(again.steps) == 4000)
    again.close()
    assert again.steps == list(range(1, 4001))
    assert again.source.run.path == first.source.run.path
    assert proxy.down - fetched < fetched


def test_two_dashboards_of_one_run_have_a_mirror_each(tmp_path: Path, watch: Watch) -> None:
    far = FarRun(tmp_path / "run", steps(1, 3))
    one, other = watch(far.run.path), watch(far.run.path)
    far.write(steps(4, 4))
    for seen in (one, other):
        seen.until(lambda seen=seen: seen.steps == [1, 2, 3, 4])
    assert one.source.run.path != other.source.run.path
    other.close()
    assert not other.source.run.path.exists()


def test_thousands_of_events_a_second(tmp_path: Path, watch: Watch) -> None:
    far = FarRun(tmp_path / "run")
    seen = watch(far.run.path)
    for first in range(1, 10_001, 500):
        far.write(steps(first, first + 499))
        seen.poll()
    seen.until(lambda: len(seen.steps) == 10_000)
    assert seen.steps == list(range(1, 10_001))


def test_a_run_that_ends_is_over(tmp_path: Path, watch: Watch) -> None:
    far = FarRun(tmp_path / "run", steps(1, 2))
    seen = watch(far.run.path)
    seen.until(lambda: seen.steps == [1, 2])
    record = far.run.run_json.read_text().replace('"pid_start": "', '"pid_start": "9')  # its process is another one now
    far.run.run_json.write_text(record)
    far.run.console_log.write_bytes(b"the engine starts\nand ends\n")
    far.write(line_of(End(status="finished", exit_code=0, last_step=2, reason="")))
    seen.until(lambda: seen.now.life == "gone" and seen.log[-1] == "and ends")
    assert isinstance(seen.events[-1].event, End)


def test_a_run_that_has_no_log_yet(tmp_path: Path, watch: Watch) -> None:
    far = FarRun(tmp_path / "run", log=None)
    seen = watch(far.run.path)
    seen.until(lambda: seen.now.life == "live")
    far.write(steps(1, 2))
    seen.until(lambda: seen.steps == [1, 2])


def test_a_folder_without_a_run_is_refused_in_one_sentence(tmp_path: Path, watch: Watch) -> None:
    seen = watch(tmp_path)
    seen.until(lambda: seen.states[-1:] == ["refused"])
    assert seen.now.link is not None
    assert seen.now.link.why == f"box:{tmp_path} is no run: there is neither run.json nor events.jsonl"
    with pytest.raises(LinkRefusedError, match="is no run"):
        seen.source.wait_for_run(5)


def test_a_shell_that_prints_on_login_changes_nothing_but_a_note(tmp_path: Path, noisy: Sshd, watch: Watch) -> None:
    far = FarRun(tmp_path / "run", steps(1, 1))
    seen = watch(far.run.path)
    seen.until(lambda: seen.steps == [1])
    far.write(steps(2, 2))
    seen.until(lambda: seen.steps == [1, 2])
    (note,) = seen.notes
    assert note == "the shell of box prints on login; 2 lines passed over: Welcome, today is Monday · quota ok"
    batch: Batch = EventReader(seen.source.run.events).poll()
    assert batch.offsets == (0, len(steps(1, 1))), "offsets count the file's bytes"


@pytest.mark.parametrize("channels", [1, 2])
def test_a_server_that_opens_few_channels(
    tmp_path: Path, watch: Watch, monkeypatch: pytest.MonkeyPatch, channels: int
) -> None:
    far = FarRun(tmp_path / "run", steps(1, 3000))
    with serving(tmp_path / "strict", f"MaxSessions {channels}") as server:
        monkeypatch.setenv("PGS_TUI_SSH", server.ssh)
        seen = watch(far.run.path)
        if channels == 1:
            seen.until(lambda: seen.now.trouble is not None)
            assert seen.now.trouble == "box opens no further channel on this connection (MaxSessions of its sshd)"
        else:
            seen.until(lambda: bool(seen.steps) and not seen.now.loading)
            assert seen.steps == list(range(1, 3001))
        seen.close()
        Connection(HOST).drop()


def test_a_machine_with_three_programs_is_followed_from_the_first_byte(
    tmp_path: Path, watch: Watch, monkeypatch: pytest.MonkeyPatch
) -> None:
    far = FarRun(tmp_path / "run", steps(1, 2000))  # more than is sent in one answer
    programs = tmp_path / "bin"
    programs.mkdir()
    for name in ("sh", "tail", "cat"):
        (programs / name).symlink_to(shutil.which(name) or name)
    with serving(tmp_path / "bare", f"SetEnv PATH={programs}") as server:
        monkeypatch.setenv("PGS_TUI_SSH", server.ssh)
        seen = watch(far.run.path)
        seen.until(lambda: bool(seen.updates) and not seen.now.loading)
        assert len(seen.steps) == 2000, "a log of unknown size counts as read when no more comes"
        far.write(steps(2001, 2001))
        seen.until(lambda: seen.steps == list(range(1, 2002)))
        seen.until(lambda: (seen.now.life, seen.states[-1]) == ("live", "up"))
        assert seen.shown == []
        seen.close()
        Connection(HOST).drop()

"""A connection that is cut, at any byte: no gap, nothing twice, and the run is not taken for dead."""

from __future__ import annotations

import json
import random
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from engine.events.control_line import parse_command
from pgs_tui.remote import link as link_module
from pgs_tui.remote.link import Link
from pgs_tui.remote.lost import LinkLostError, LinkRefusedError
from pgs_tui.runs.link_status import LinkStatus
from tests.remote.proxy import Proxy
from tests.remote.sshd import Sshd
from tests.remote.watching import FarRun, Watched, steps

Watch = Callable[[Path], Watched]


@pytest.fixture(autouse=True)
def _does_not_wait_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(link_module, "FIRST_PAUSE", 0.02)


def test_cut_amid_an_event_it_goes_on_with_that_events_first_byte(tmp_path: Path, proxy: Proxy, watch: Watch) -> None:
    far = FarRun(tmp_path / "run", steps(1, 5))
    seen = watch(far.run.path)
    sixth = steps(6, 6)
    far.write(sixth[:50])
    live = lambda: seen.source._fetching._log._live  # noqa: E731
    seen.until(lambda: seen.steps == [1, 2, 3, 4, 5] and live().received == far.run.events.stat().st_size)
    proxy.cut(refuse=True)
    far.write(sixth[50:] + steps(7, 20))
    seen.until(lambda: seen.states[-1] == "lost")
    assert seen.now.link is not None and seen.now.link.retry_at is not None and seen.now.link.why
    assert seen.now.life == "live" and seen.steps == [1, 2, 3, 4, 5], "nobody knows more"
    assert seen.source._fetching.mirror.size == len(steps(1, 5))
    proxy.mend()
    seen.until(lambda: seen.states[-1] == "up" and len(seen.steps) == 20)
    assert seen.steps == list(range(1, 21))
    assert seen.notes == []


def test_cut_again_and_again_at_any_byte(tmp_path: Path, proxy: Proxy, watch: Watch) -> None:
    last = 2000
    far = FarRun(tmp_path / "run", steps(1, last))
    seen = watch(far.run.path)
    seen.until(lambda: bool(seen.shown))
    for count in (1, 300, 3_000, 30_000):
        proxy.cut_after = count
        while proxy.cut_after is not None:
            if seen.now.link is not None and seen.now.link.state == "up":
                far.write(steps(last + 1, last + 100))
                last += 100
            seen.poll()
    seen.until(lambda: not seen.now.loading and seen.steps[-1:] == [last])
    assert seen.steps == list(range(1, last + 1))
    assert proxy.connections > 4


def test_a_command_whose_answer_was_lost_is_obeyed_once(tmp_path: Path, proxy: Proxy, watch: Watch) -> None:
    far = FarRun(tmp_path / "run", steps(1, 1))
    seen = watch(far.run.path)
    seen.until(lambda: seen.steps == [1])
    proxy.cut_after = 1  # of what comes back: the line has been written by then
    sent: list[str] = []
    sender = threading.Thread(target=lambda: sent.append(seen.source.send("scale_lr", factor=0.5)))
    sender.start()
    while sender.is_alive():
        seen.poll()
    sender.join()
    commands = [parse_command(line) for line in far.run.control.read_bytes().splitlines()]
    assert {command.id for command in commands} == set(sent), "whoever obeys an id once obeys it once"
    assert far.run.control.stat().st_mode & 0o777 == 0o600


def test_a_command_that_cannot_be_given_says_why(tmp_path: Path, watch: Watch) -> None:
    far = FarRun(tmp_path / "run", steps(1, 1))
    seen = watch(far.run.path)
    seen.until(lambda: seen.steps == [1])
    far.run.control.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(OSError, match="is a link, which nobody writes through"):
        seen.source.send("pause")
    assert not (tmp_path / "elsewhere").exists()


def test_a_recorded_batch_is_brought_when_it_is_asked_for(tmp_path: Path, watch: Watch) -> None:
    far = FarRun(tmp_path / "run", steps(1, 1))
    far.run.spikes.mkdir()
    far.run.spike(7).write_text(json.dumps({"v": 1, "step": 7}))
    seen = watch(far.run.path)
    seen.until(lambda: seen.steps == [1])
    source = seen.source
    assert (source.has_spike(7), source.has_spike(8)) == (True, False)
    assert not source.run.spike(7).exists()
    assert source.bring_spike(7) and not source.bring_spike(8)
    assert json.loads(source.run.spike(7).read_text()) == {"v": 1, "step": 7}


def test_a_key_that_is_taken_away_ends_the_trying(tmp_path: Path, sshd: Sshd, proxy: Proxy, watch: Watch) -> None:
    far = FarRun(tmp_path / "run", steps(1, 1))
    seen = watch(far.run.path)
    seen.until(lambda: seen.steps == [1])
    key = sshd.folder / "user.pub"
    aside = key.rename(sshd.folder / "aside")
    try:
        proxy.cut()
        seen.until(lambda: seen.states[-1] == "refused")
        assert seen.now.link is not None and "Permission denied" in seen.now.link.why
    finally:
        aside.rename(key)
    seen.source.try_now()
    seen.until(lambda: seen.states[-1] == "up")


class Clock:
    """A clock that stands still until somebody waits."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def test_pauses_grow_up_to_half_a_minute_and_begin_anew_after_success(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(link_module, "FIRST_PAUSE", 1.0)
    clock = Clock()
    link = Link(clock, random.Random(1))
    pauses = []
    for _ in range(8):
        link.connecting()
        link.lost(LinkLostError("no route"))
        assert link.status.retry_at is not None
        pauses.append(link.status.retry_at - clock.now)
        clock.now = link.status.retry_at
        link.wait_to_try()
    for pause, usual in zip(pauses, (1, 2, 4, 8, 16, 30, 30, 30), strict=True):
        assert usual * 0.8 <= pause <= usual * 1.2
    link.up()
    assert link.status == LinkStatus("up", clock.now, 1000.0)
    link.lost(LinkLostError("again"))
    assert link.status.retry_at is not None and link.status.retry_at - clock.now <= 1.2


def test_who_does_not_want_to_wait_need_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(link_module, "FIRST_PAUSE", 1000.0)
    link = Link()
    link.lost(LinkRefusedError("Permission denied"))
    assert link.status.state == "refused" and link.status.retry_at is None
    link.try_now()
    link.wait_to_try()
    link.close()
    link.wait_to_try()
    assert link.closed

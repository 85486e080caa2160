import errno
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from engine.events import Batch, End
from engine.rundir import STARTING_SECONDS, RunDir, liveness, this_process, write_run_info
from pgs_tui.runs import follow
from pgs_tui.runs.follow import Follower, Update
from pgs_tui.runs.life import Engine
from tests.pgs_tui.making import ScriptedEngine, ScriptedLog, ScriptedReader, stamped, step


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def follower(reader=None, log=None, engine=None, clock=None) -> Follower:
    engine = engine or ScriptedEngine()
    return Follower(reader or ScriptedReader(), log or ScriptedLog(), engine.look, clock or Clock())


def test_a_poll_brings_one_update_with_all_that_is_new() -> None:
    following = follower(ScriptedReader(Batch(stamped(step(1)), ("a note",))), ScriptedLog(("a line",)))
    (update,) = following.poll()
    assert update == Update(stamped(step(1)), ("a line",), ("a note",), "live")
    assert list(following.poll()) == [], "no news, no update"


def test_a_long_past_comes_in_slices() -> None:
    events = stamped(*(step(number) for number in range(1, 4501)))
    updates = list(follower(ScriptedReader(Batch(events)), ScriptedLog(("x",))).poll())
    assert [event for update in updates for event in update.events] == list(events)
    assert all(0 < len(update.events) <= follow.EVENTS_PER_UPDATE for update in updates)
    assert [update.loading for update in updates] == [True] * (len(updates) - 1) + [False]
    assert [update.log for update in updates] == [()] * (len(updates) - 1) + [("x",)]


def test_polling_slows_down_while_nothing_happens() -> None:
    following = follower(ScriptedReader(Batch(stamped(step(1)))))
    list(following.poll())
    assert following.pause == follow.FASTEST
    for _ in range(20):
        list(following.poll())
    assert following.pause == follow.SLOWEST


def test_polling_is_slow_once_the_run_is_over() -> None:
    end = End(status="finished", reason="", exit_code=0, last_step=1)
    following = follower(ScriptedReader(Batch(stamped(end))), engine=ScriptedEngine("gone", 0))
    for _ in range(20):
        list(following.poll())
    assert following.pause == follow.SLOWEST_AFTER_END


def test_a_log_with_more_to_come_is_read_on_at_once() -> None:
    following = follower(ScriptedReader(Batch(stamped(step(1)), more=True)))
    (update,) = following.poll()
    assert update.loading
    assert following.pause == 0.0


def test_the_death_of_the_engine_is_news_and_brings_its_last_words() -> None:
    engine, clock = ScriptedEngine(), Clock()
    following = follower(ScriptedReader(Batch(stamped(step(1)))), ScriptedLog(unfinished=("cut of",)), engine, clock)
    list(following.poll())
    engine.life, engine.exit_code = "gone", -9
    clock.now += follow.LIFE_EVERY
    (update,) = following.poll()
    assert (update.life, update.exit_code, update.log) == ("gone", -9, ("cut of",))


def test_the_engine_is_looked_at_more_than_once_within_two_seconds() -> None:
    assert follow.LIFE_EVERY + follow.SLOWEST < 2


def test_following_ends_when_nobody_wants_it() -> None:
    delivered: list[Update] = []
    pauses: list[float] = []

    def wait(seconds: float) -> bool:
        pauses.append(seconds)
        return len(pauses) == 3

    follower(ScriptedReader(Batch(stamped(step(1))))).run(delivered.append, wait)
    assert len(delivered) == 1
    assert len(pauses) == 3


def test_whoever_reads_faster_than_the_screen_folds_waits_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(follow, "LOOK_UP_EVERY", 0.001)
    events = stamped(*(step(number) for number in range(1, 2001)))
    delivered: list[Update] = []
    following = follower(ScriptedReader(Batch(events)))

    taken: list[float] = []

    def take_one(seconds: float) -> bool:
        taken.append(seconds)
        following.taken()
        return len(taken) > 1

    following.run(delivered.append, take_one)
    assert len(delivered) == follow.UNDELIVERED + 1


class Failing(ScriptedReader):
    """Cannot be read on every other poll."""

    fails = False

    def poll(self) -> Batch:
        self.fails = not self.fails
        if self.fails:
            raise OSError(errno.ESTALE, os.strerror(errno.ESTALE), "events.jsonl")
        return super().poll()


def test_a_log_that_cannot_be_read_is_told_and_tried_again() -> None:
    following = follower(Failing(Batch(stamped(step(1)))))
    (told,) = following.poll()
    assert told.trouble and "events.jsonl" in told.trouble and "tale" in told.trouble
    (recovered,) = following.poll()
    assert (len(recovered.events), recovered.trouble) == (1, None)


def test_a_console_that_cannot_be_read_keeps_no_event_back() -> None:
    class NoConsole(ScriptedLog):
        def poll(self) -> tuple[str, ...]:
            raise PermissionError(errno.EACCES, "Permission denied", "console.log")

    (update,) = follower(ScriptedReader(Batch(stamped(step(1)))), NoConsole()).poll()
    assert (len(update.events), update.trouble) == (1, None)


def test_a_new_start_of_the_log_is_told_once() -> None:
    events = stamped(*(step(number) for number in range(1, 500)))
    offsets = tuple(range(len(events)))
    updates = list(follower(ScriptedReader(Batch(events, restarted=True, offsets=offsets))).poll())
    assert [update.restarted for update in updates] == [True] + [False] * (len(updates) - 1)
    assert [offset for update in updates for offset in update.offsets] == list(offsets)


@pytest.fixture
def run(tmp_path: Path) -> RunDir:
    return RunDir(tmp_path)


def test_a_child_lives_until_it_exits_and_leaves_no_zombie(run: RunDir) -> None:
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    engine = Engine(run, child)
    assert engine.look() == ("live", None)
    child.communicate(b"\n")
    assert engine.look() == ("gone", 0)


def test_an_engine_of_another_program_is_known_by_run_json(run: RunDir) -> None:
    write_run_info(run, this_process(run, "x"))
    assert Engine(run).look() == ("live", None)


def test_another_process_with_the_same_number_is_not_the_engine(run: RunDir) -> None:
    info = this_process(run, "x")
    write_run_info(run, type(info)(**{**{k: getattr(info, k) for k in info.__slots__}, "pid_start": "1"}))
    assert Engine(run).look()[0] == "gone"


def test_a_run_of_another_host_is_not_called_dead(run: RunDir) -> None:
    info = this_process(run, "x")
    fields = {key: getattr(info, key) for key in info.__slots__}
    write_run_info(run, type(info)(**{**fields, "host": "elsewhere.example", "boot_id": "b", "pid": os.getpid()}))
    assert Engine(run).look()[0] == "elsewhere"


def test_a_run_without_run_json_is_starting_for_a_while(run: RunDir) -> None:
    assert Engine(run).look()[0] == "starting" and liveness(run) == "starting"
    long_ago = time.time() - 2 * STARTING_SECONDS
    os.utime(run.path, (long_ago, long_ago))
    assert Engine(run).look()[0] == "gone" and liveness(run) == "killed", "the same for whoever looks"


def test_a_log_without_anything_is_told_once() -> None:
    follower = Follower(ScriptedReader(), ScriptedLog(), ScriptedEngine("starting").look)
    assert [update.loading for update in follower.poll()] == [False], "whoever waits knows that all is read"
    assert not list(follower.poll())

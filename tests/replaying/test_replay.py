"""A run that is played shows what it showed then."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine.events import Step
from engine.rundir import RunDir
from pgs_tui.history.history import History
from pgs_tui.replaying.follower import ReplayFollower
from pgs_tui.replaying.playback import SPEEDS, Playback
from pgs_tui.replaying.replayed_run import ReplayedRun
from pgs_tui.runs.source import LocalRun
from tests.replaying.playing import Hand, Watcher, night_events, night_on_disk


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> RunDir:
    return night_on_disk(tmp_path_factory.mktemp("replay") / "20260101-000000-night")


def watching(run: RunDir, clock: Hand, at: int | None = None, plays: bool = True) -> tuple[Watcher, Playback]:
    playback = Playback(1.0, clock)
    follower = ReplayFollower(run.events, run.console_log, playback, "gone", at, plays)
    return Watcher(follower), playback


def told_until(t: float) -> History:
    """What the log told by then."""
    history = History()
    for one in night_events():
        if one.t <= t:
            history.take(one.event, one.t)
    return history


def seen(history: History) -> tuple[object, ...]:
    """What a person sees of it."""
    incidents = tuple((one.id, one.severity, one.open, one.count) for one in history.incidents.all())
    losses = history.columns("loss", 0, 1000, 50)
    return (
        history.last_step,
        len(history.steps),
        [*losses.low],
        [*losses.high],
        history.evals.newest,
        history.best,
        incidents,
        history.checkpoint,
        history.tokens,
        history.end,
        history.phase,
        [tuple(sorted((index, card.utilisation) for index, card in history.gpus.items()))],
    )


@pytest.mark.parametrize("seconds", [0.5, 100.0, 243.9, 480.0, 620.0, 700.0])
def test_what_is_shown_is_what_had_been_told_by_then(run: RunDir, seconds: float) -> None:
    clock = Hand()
    watcher, playback = watching(run, clock)
    watcher.look()
    clock.now = seconds
    history = watcher.look()
    moment = playback.moment()
    assert moment is not None
    assert seen(history) == seen(told_until(moment.t))


def test_it_is_the_same_in_small_steps_and_in_one(run: RunDir) -> None:
    slow, quick = Hand(), Hand()
    slowly, _ = watching(run, slow)
    at_once, _ = watching(run, quick)
    at_once.look()
    for slow.now in range(0, 400, 7):
        slowly.look()
    quick.now = slow.now
    assert seen(slowly.look()) == seen(at_once.look())


def test_seeking_back_and_forth_shows_the_same_as_playing(run: RunDir) -> None:
    clock = Hand()
    watcher, playback = watching(run, clock)
    watcher.look()
    playback.play()
    playback.seek(500)
    first = seen(watcher.look())
    for step in (10, 400, 3, 599, 250, 500):
        assert playback.seek(step) == step
        history = watcher.look()
        assert history.last_step == step
    assert seen(watcher.history) == first
    assert watcher.afresh > 0


def test_one_step_on_and_back(run: RunDir) -> None:
    watcher, playback = watching(run, Hand(), at=100)
    assert watcher.look().last_step == 100
    assert playback.step_by(1) == 101
    assert watcher.look().last_step == 101
    assert playback.step_by(-1) == 100
    assert watcher.look().last_step == 100
    assert not playback.plays


def test_a_step_that_was_taken_twice_is_shown_as_it_was_the_last_time(run: RunDir) -> None:
    watcher, playback = watching(run, Hand())
    watcher.look()
    playback.seek(455)
    history = watcher.look()
    assert history.last_step == 455
    assert history.superseded, "the steps before the resume were put aside by then"


def test_what_follows_a_step_belongs_to_it_and_the_next_step_does_not(run: RunDir) -> None:
    watcher, _ = watching(run, Hand(), at=200, plays=False)
    history = watcher.look()
    assert history.last_step == 200
    assert any(one.code == "SPIKE_SKIPPED" and one.step == 200 for one in history.incidents.all())


@pytest.mark.parametrize("plays", [True, False])
def test_a_step_that_the_run_never_came_to_is_said_not_to_exist(run: RunDir, plays: bool) -> None:
    def notes(at: int) -> list[str]:
        follower = ReplayFollower(run.events, run.console_log, Playback(1.0, Hand()), "gone", at, plays)
        return [note for update in follower.poll() for note in update.notes]

    assert any(note.startswith("there is no step 9,999: the last one is ") for note in notes(9999))
    assert not any("there is no step" in note for note in notes(100))


def test_a_gap_of_an_hour_is_skipped(run: RunDir) -> None:
    clock = Hand()
    watcher, playback = watching(run, clock)
    watcher.look()
    clock.now = 900.0
    watcher.look()
    assert playback.is_at_end, "the night has a gap of an hour, and less than 900 s beside it"
    assert watcher.history.end is not None


def test_it_says_that_the_end_is_reached_and_begins_anew_from_there(run: RunDir) -> None:
    clock = Hand()
    watcher, playback = watching(run, clock)
    watcher.look()
    clock.now = 1e6
    watcher.look()
    assert (playback.is_at_end, playback.plays, watcher.last.life) == (True, False, "gone")
    assert playback.play()
    clock.now += 5
    assert (watcher.look().last_step or 0) < 10


def test_speed_goes_from_1_to_1000_and_holding_stops_it(run: RunDir) -> None:
    clock = Hand()
    watcher, playback = watching(run, clock)
    watcher.look()
    assert [playback.change_speed(1) for _ in SPEEDS][-2:] == [1000.0, 1000.0]
    clock.now = 0.1
    step = watcher.look().last_step
    assert step is not None and 70 < step < 90
    assert not playback.play()
    clock.now = 50.0
    assert watcher.look().last_step == step
    assert [playback.change_speed(-1) for _ in SPEEDS][-1] == 1.0


def test_the_engines_log_goes_along(run: RunDir) -> None:
    watcher, playback = watching(run, Hand(), at=100, plays=False)
    watcher.look()
    assert watcher.lines[0] == "the engine starts"
    assert "step=100 " in watcher.lines[-1]
    playback.seek(50)
    watcher.look()
    assert "step=50 " in watcher.lines[-1]
    playback.seek(600)
    watcher.look()
    assert watcher.lines[-1] == "stopped: by request"


def test_a_log_that_is_not_there_is_told_of(tmp_path: Path) -> None:
    watcher, _ = watching(RunDir(tmp_path), Hand())
    watcher.look()
    assert watcher.last.trouble is not None and "events.jsonl" in watcher.last.trouble


def test_a_log_without_events_is_told_of(tmp_path: Path) -> None:
    (tmp_path / "events.jsonl").write_text("no event\n")
    watcher, _ = watching(RunDir(tmp_path), Hand())
    watcher.look()
    assert watcher.last.trouble == "its log tells nothing that could be played"


def test_a_line_that_is_no_event_stops_nothing(run: RunDir, tmp_path: Path) -> None:
    damaged = RunDir(tmp_path)
    lines = run.events.read_bytes().splitlines(keepends=True)
    damaged.events.write_bytes(
        b"\0\0torn\n" + b"".join(lines[:300]) + b"no event\n" + b"".join(lines[300:]) + b'{"v": 1'
    )
    watcher, playback = watching(damaged, Hand(), at=600, plays=False)
    assert watcher.look().last_step == 600
    playback.step_by(-1)
    assert watcher.look().last_step == 599


def test_nothing_can_be_asked_of_a_replay_and_it_says_why(run: RunDir) -> None:
    source = ReplayedRun(LocalRun(run))
    assert "control" not in source.abilities
    assert "replay" in source.why_not("control")
    with pytest.raises(OSError, match="replay"):
        source.send("stop")
    assert not run.control.exists()


def test_its_time_of_day_is_that_of_the_run(run: RunDir) -> None:
    source = ReplayedRun(LocalRun(run), at=300, plays=False)
    watcher = Watcher(source.follower())
    history = watcher.look()
    assert history.last_t is not None
    assert 0 <= source.now() - history.last_t < 2
    told = next(one.t for one in night_events() if isinstance(one.event, Step) and one.event.step == 300)
    assert 0 <= source.now() - told < 3

"""What is told of each run: its value, how far it is from the baseline, or why it has none."""

from pathlib import Path

import pytest

from engine.events import Stamped
from pgs_tui.comparing.compared import Compared, compared, short_names
from pgs_tui.comparing.comparison import Comparison, Shown
from pgs_tui.comparing.table import delta_words, measured, told_of
from pgs_tui.runs.follow import Update
from pgs_tui.runs.source import LocalRun
from screens.dashboard.live import LiveRun
from tests.comparing.made_runs import FINISHED, evaluated, falling, told, write


@pytest.fixture
def runs(tmp_path: Path) -> tuple[Compared, ...]:
    """One of 100 steps, one of 200 whose loss is higher by 0.5, and one that tells no tokens."""
    events = [told(falling(100)), told(falling(200, lift=0.5)), told(falling(100, lift=1.0), tokens=0)]
    lives = []
    for number, one in enumerate(events):
        live = LiveRun(LocalRun(write(tmp_path / f"20261130-10{number}000-made", one), "made"))
        live.take(Update(events=tuple(one)))
        lives.append(live)
    return compared(lives)


def test_at_the_cursor_the_difference_is_that_of_the_same_step(runs: tuple[Compared, ...]) -> None:
    found = told_of(runs[1], runs[0], "loss", "step", 60.0, None)
    assert found.step == 60
    assert found.delta == pytest.approx(0.5)
    assert delta_words(found, "loss") == f"+0.500 ({0.5 / falling(100)[59] * 100:+.1f} %)"


def test_beyond_a_run_it_says_that_it_had_ended_or_has_still_to_come_there(runs: tuple[Compared, ...]) -> None:
    going = told_of(runs[0], runs[1], "loss", "step", 150.0, None)
    assert (going.value, going.delta, going.why) == (None, None, "not there yet")
    runs[0].live.take(Update(events=(Stamped(2000.0, FINISHED),)))
    assert told_of(runs[0], runs[1], "loss", "step", 150.0, None).why == "ended before"


def test_without_a_cursor_the_newest_values_are_told_but_compared_where_both_have_been(
    runs: tuple[Compared, ...],
) -> None:
    longer = told_of(runs[1], runs[0], "loss", "step", None, None)
    assert (longer.step, longer.at) == (200, 100.0)
    assert longer.delta == pytest.approx(0.5)
    shorter = told_of(runs[0], runs[1], "loss", "step", None, None)
    assert (shorter.step, shorter.at) == (100, None)
    assert shorter.delta == pytest.approx(-0.5)


def test_a_run_of_few_steps_is_averaged_like_the_others(tmp_path: Path) -> None:
    lives = []
    for number, steps in enumerate((200, 20)):
        events = told(falling(steps))
        live = LiveRun(LocalRun(write(tmp_path / f"20261130-10{number}000-made", events), "made"))
        live.take(Update(events=tuple(events)))
        lives.append(live)
    comparison = Comparison(lives)
    assert comparison.shown.alpha and comparison.is_averaged("loss")
    assert comparison.told(comparison.runs[1], "loss").delta == pytest.approx(0)


def test_a_run_without_tokens_says_so(runs: tuple[Compared, ...]) -> None:
    found = told_of(runs[2], runs[0], "loss", "tokens", None, None)
    assert found.why == "tells no tokens" and found.delta is None


def test_another_baseline_turns_the_sign(runs: tuple[Compared, ...]) -> None:
    comparison = Comparison([run.live for run in runs])
    before = comparison.told(comparison.runs[1], "loss").delta
    comparison.shown = Shown(base=1)
    after = comparison.told(comparison.runs[0], "loss").delta
    assert before is not None and after is not None and before > 0 > after


def test_when_the_longest_run_is_hidden_the_cursor_stays_where_it_is(runs: tuple[Compared, ...]) -> None:
    comparison = Comparison([run.live for run in runs])
    ground = comparison.ground
    assert ground is not None
    comparison.view = comparison.view.at(60, ground)
    comparison.hide({1})
    assert comparison.cursor == 60.0


def test_on_another_axis_the_step_under_the_cursor_stays(runs: tuple[Compared, ...]) -> None:
    comparison = Comparison([run.live for run in runs])
    ground = comparison.ground
    assert ground is not None
    comparison.view = comparison.view.at(60, ground)
    comparison.on_axis("tokens")
    assert comparison.cursor == 6000.0
    comparison.on_axis("time")
    assert comparison.cursor == 59.0


def test_only_metrics_with_values_are_offered(runs: tuple[Compared, ...]) -> None:
    assert measured(runs) == ("loss", "grad_norm", "tok_s", "dt", "lr")
    runs[0].live.take(Update(events=tuple(evaluated(told(falling(5)), {5: 2.0})[-1:])))
    assert measured(runs)[:2] == ("loss", "eval")


@pytest.mark.parametrize(
    ("ids", "short"),
    [
        (["20261130-101500-quick", "20261130-113000-quick"], ("101500-quick", "113000-quick")),
        (["a", "b"], ("a", "b")),
        (["20261130-101500-quick", "20261130-101500-quick-2"], ("20261130-101500-quick", "20261130-101500-quick-2")),
        (["x-\x1b[31mred", "x-blue"], ("red", "blue")),
    ],
)
def test_names_are_as_short_as_tells_them_apart(ids: list[str], short: tuple[str, ...]) -> None:
    assert short_names(ids) == short

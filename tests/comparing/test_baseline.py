"""Which runs may stand below the curves, and that the choice is remembered."""

from pathlib import Path

import pytest

from engine.rundir import register_run, this_process, write_run_info
from pgs_tui.comparing import baseline_file
from pgs_tui.comparing.baseline import BaselineError, candidates, read_baseline
from pgs_tui.listing.labels import Labels, write_labels
from tests.comparing.made_runs import FINISHED, falling, told, write


@pytest.fixture(autouse=True)
def own_registry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


def registered(folder: Path, name: str, started: float, over: bool = True) -> Path:
    run = write(folder, told(falling(30)), FINISHED if over else None)
    if not over:
        write_run_info(run, this_process(run, name))
    register_run(run, name, started)
    return folder


def test_runs_that_are_over_are_offered_tagged_ones_first_then_those_of_the_config(tmp_path: Path) -> None:
    registered(tmp_path / "20261130-100000-mine", "mine", 1.0)
    registered(tmp_path / "20261130-110000-other", "other", 2.0)
    registered(tmp_path / "20261130-120000-mine", "mine", 3.0)
    registered(tmp_path / "20261130-130000-going", "mine", 4.0, over=False)
    tagged = registered(tmp_path / "20261130-090000-tagged", "third", 0.0)
    write_labels(tagged, Labels(tags=("baseline",)))
    own = registered(tmp_path / "20261130-140000-mine", "mine", 5.0)
    found = candidates(own, "mine")
    assert [one.name[16:] + one.name[8:11] for one in found] == ["tagged-09", "mine-12", "mine-10", "other-11"]
    assert "finished" in found[0].note and "30" in found[0].note


def test_a_baseline_is_read_whole(tmp_path: Path) -> None:
    run = write(tmp_path / "run", told(falling(300)))
    found = read_baseline(run.path)
    assert len(found.history.steps) == 300 and found.name == "run"


@pytest.mark.parametrize("is_there", [True, False])
def test_a_run_without_a_step_is_refused_in_words(tmp_path: Path, is_there: bool) -> None:
    folder = tmp_path / "empty"
    folder.mkdir()
    if is_there:
        (folder / "events.jsonl").touch()
    with pytest.raises(BaselineError, match="empty"):
        read_baseline(folder)


def test_the_choice_is_remembered_for_each_config_until_it_is_taken_back(tmp_path: Path) -> None:
    one, other = tmp_path / "one", tmp_path / "other"
    one.mkdir(), other.mkdir()
    assert baseline_file.load("a") is None
    assert baseline_file.save("a", one) == "" and baseline_file.save("b", other) == ""
    assert (baseline_file.load("a"), baseline_file.load("b")) == (one, other)
    one.rmdir()
    assert baseline_file.load("a") is None, "a run that is gone"
    baseline_file.save("b", None)
    assert baseline_file.load("b") is None


@pytest.mark.parametrize("text", ["", "{", "[]", '{"baselines": 3}', '{"baselines": {"a": 7}}', "[" * 100_000])
def test_a_broken_file_remembers_nothing_and_is_replaced(tmp_path: Path, text: str) -> None:
    path = tmp_path / "state" / "pgs-tui" / "baselines.json"
    path.parent.mkdir(parents=True)
    path.write_text(text)
    assert baseline_file.load("a") is None
    assert baseline_file.save("a", tmp_path) == "" and baseline_file.load("a") == tmp_path

"""Which run was a config's last one, and how it went."""

import math
from pathlib import Path

import pytest

from engine.events import End, ModelInfo, Start
from engine.events.codec import encode
from engine.events.summary import FILE_NAME, RunSummary, summary_text
from engine.rundir import RunDir, create_run_dir, register_run, this_process, write_run_info
from pgs_tui.listing.reading import SHORT_BYTES
from pgs_tui.picking.last_runs import last_runs
from pgs_tui.picking.words import age, long_run, short_run, told_run
from tests.pgs_tui.making import step


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return tmp_path / "state"


def trained(folder: Path, config: Path | str, started: float, loss: float = 2.0, ended: bool = True) -> RunDir:
    """A run of the config, with three steps of ten in its log."""
    name = Path(config).stem
    run = create_run_dir(folder / "runs", name)
    register_run(run, name, started)
    write_run_info(run, this_process(run, name))
    model = ModelInfo(name="m", params=1, trainable=1)
    command = f"pgs train --config '{config}' --train.max_steps 10"
    events = [Start(run=run.id, command=command, config=name, model=model, device="cpu", total_steps=10)]
    events += [step(number, loss) for number in (1, 2, 3)]
    events += [End(status="stopped", reason="asked", exit_code=0, last_step=3)] if ended else []
    run.events.write_text("".join(encode(event, 4e9) + "\n" for event in events))
    return run


def test_the_newest_run_of_each_config(tmp_path: Path) -> None:
    one, other, never = (tmp_path / f"{name}.yaml" for name in ("one", "other", "never"))
    trained(tmp_path, one, 100, loss=3.0)
    newest = trained(tmp_path, one, 200, loss=2.5)
    trained(tmp_path, other, 150)
    found = last_runs([one, other, never])
    assert set(found) == {one, other}
    run = found[one]
    assert (run.id, run.life, run.step, run.total_steps, run.loss) == (newest.id, "stopped", 3, 10, 2.5)


def test_two_configs_of_one_name_are_told_apart_by_their_paths(tmp_path: Path) -> None:
    mine, yours = tmp_path / "my" / "a.yaml", tmp_path / "your" / "a.yaml"
    run = trained(tmp_path, mine, 100)
    assert {path: last.id for path, last in last_runs([mine, yours]).items()} == {mine: run.id}


def test_a_run_whose_log_names_no_path_is_known_by_its_name(tmp_path: Path) -> None:
    run = trained(tmp_path, "a.yaml", 100)
    assert last_runs([tmp_path / "a.yaml"])[tmp_path / "a.yaml"].id == run.id


def test_logs_that_are_empty_torn_or_gone(tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    run = trained(tmp_path, path, 100)
    run.events.write_text(run.events.read_text()[:-20] + "\x00\xff{")
    assert last_runs([path])[path].step == 3
    run.events.write_text("")
    assert last_runs([path])[path].loss is None
    run.events.unlink()
    assert last_runs([path])[path].step is None


def test_what_its_engine_has_summed_up_is_believed(tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    run = trained(tmp_path, path, 100)
    summary = RunSummary(step=7, loss=1.25, total_steps=9, status="failed", last_t=4e9)
    summary.log_bytes = run.events.stat().st_size
    (run.path / FILE_NAME).write_text(summary_text(summary))
    last = last_runs([path])[path]
    assert (last.step, last.loss, last.total_steps, last.life) == (7, 1.25, 9, "failed")


def test_of_a_long_log_without_a_summary_the_end_is_read(tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    run = trained(tmp_path, path, 100, ended=False)
    with run.events.open("a") as log:
        log.writelines(encode(step(number, 2.0), 4e9) + "\n" for number in range(4, 5000))
        log.write(encode(End(status="stopped", reason="asked", exit_code=0, last_step=4999), 4e9) + "\n")
    assert run.events.stat().st_size > SHORT_BYTES
    last = last_runs([path])[path]
    assert (last.step, last.total_steps, last.life) == (4999, 10, "stopped")


def test_a_run_that_goes_on_and_a_loss_that_is_no_number(tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    trained(tmp_path, path, 100, loss=math.nan, ended=False)
    run = last_runs([path])[path]
    assert run.life == "live" and run.is_going
    assert (short_run(run, 7300), long_run(run, 7300)) == ("● now", "● now        NaN")
    assert told_run(run, 7300) == f"is going: step 3 of 10, loss NaN, started 2 h ago ({run.id})"


@pytest.mark.parametrize(
    ("seconds", "text"), [(-5, "now"), (0, "now"), (59, "now"), (61, "1 m"), (7200, "2 h"), (9e4, "1 d"), (1e7, "17 w")]
)
def test_how_long_ago(seconds: float, text: str) -> None:
    assert age(seconds) == text

import dataclasses
import json
import os
import shutil
import subprocess
import sys
import time
from dataclasses import replace
from datetime import datetime
from pathlib import Path

import pytest

from engine.events import End, EventWriter
from engine.rundir import (
    LOST_SECONDS,
    QUIET_SECONDS,
    ProcessFacts,
    RunDir,
    RunInfo,
    RunNotFoundError,
    create_run_dir,
    judged,
    list_runs,
    liveness,
    name_of,
    process_start,
    read_run_info,
    register_run,
    registry_path,
    resolve_run,
    this_process,
    unfinished_runs,
    write_run_info,
)

NOON = datetime(2026, 1, 2, 12, 0, 0)


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


def started(output_dir: Path, name: str = "quickstart", now: datetime = NOON) -> RunDir:
    run = create_run_dir(output_dir, name, now)
    info = this_process(run, name)
    write_run_info(run, info)
    register_run(run, name, info.started)
    return run


def end(run: RunDir, status: str = "finished") -> None:
    writer = EventWriter(run.events)
    writer.write(End(status=status, reason="", exit_code=0, last_step=1))  # type: ignore[arg-type]
    writer.close()


def test_runs_of_the_same_second_get_names_of_their_own(tmp_path: Path) -> None:
    names = [create_run_dir(tmp_path, "qwen35_4b/a100_40gb", NOON).id for _ in range(3)]
    first = "20260102-120000-qwen35_4b-a100_40gb"
    assert names == [first, f"{first}-2", f"{first}-3"]


def test_run_json_comes_back_and_forgives_unknown_fields(tmp_path: Path) -> None:
    run = create_run_dir(tmp_path, "a", NOON)
    assert read_run_info(run) is None
    info = this_process(run, "a", versions={"torch": "2"}, data_hashes={"x.jsonl": "00"})
    write_run_info(run, info)
    record = json.loads(run.run_json.read_text()) | {"new_field": 1}
    run.run_json.write_text(json.dumps(record))
    assert read_run_info(run) == info
    assert not run.run_json.with_suffix(".json.tmp").exists()


def test_a_run_of_a_living_process_is_live_until_it_writes_its_end(tmp_path: Path) -> None:
    run = started(tmp_path)
    assert liveness(run) == "live"
    end(run, "stopped")
    assert liveness(run) == "stopped"


def test_a_resumed_run_is_live_again_in_spite_of_its_earlier_end(tmp_path: Path) -> None:
    run = started(tmp_path)
    end(run, "stopped")
    time.sleep(0.01)
    write_run_info(run, this_process(run, "quickstart"))
    assert liveness(run) == "live"


def test_a_vanished_process_means_killed(tmp_path: Path) -> None:
    run = started(tmp_path)
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    info = this_process(run, "quickstart")
    info = dataclasses.replace(info, pid=child.pid, pid_start=process_start(child.pid) or "")
    write_run_info(run, info)
    assert liveness(run) == "live"
    child.kill()
    while process_start(child.pid) is not None:
        time.sleep(0.01)
    assert liveness(run) == "killed"  # a zombie does not train either
    child.wait()
    assert liveness(run) == "killed"


@pytest.mark.parametrize("change", [{"boot_id": "another boot"}, {"pid_start": "1"}])
def test_a_later_process_of_the_same_number_is_not_taken_for_the_engine(tmp_path: Path, change: dict[str, str]) -> None:
    run = started(tmp_path)
    write_run_info(run, dataclasses.replace(this_process(run, "quickstart"), **change))  # type: ignore[arg-type]
    assert liveness(run, now=time.time() + QUIET_SECONDS) == "killed"


def test_a_run_of_another_host_is_not_called_dead_while_its_log_grows(tmp_path: Path) -> None:
    run = started(tmp_path)
    write_run_info(run, dataclasses.replace(this_process(run, "quickstart"), host="far-away"))
    assert liveness(run) == "elsewhere"
    assert liveness(run, now=time.time() + LOST_SECONDS + 1) == "lost"
    end(run)
    assert liveness(run) == "finished"
    assert liveness(run, now=time.time() + 10 * 86400) == "finished"


INFO = RunInfo(
    id="r", name="r", host="box", boot_id="b1", pid=7, pid_start="500", started=1000.0, pid_namespace="pid:[1]"
)
HERE = ProcessFacts("box", "b1", "500", "pid:[1]")


@pytest.mark.parametrize(
    ("facts", "silent", "is_"),
    [
        (HERE, 9999.0, "live"),  # a process that is there and stopped, or whose disk is full, is no dead one
        (replace(HERE, pid_start=None), 1.0, "killed"),
        (replace(HERE, pid_start="900"), 1.0, "killed"),  # another process with that number
        (replace(HERE, boot_id="b2"), 3600.0, "killed"),  # the machine was started anew, and the number taken again
        (replace(HERE, boot_id="b2"), 5.0, "elsewhere"),  # two machines of one name, and the other one trains
        (
            replace(HERE, pid_namespace="pid:[2]", pid_start=None),
            5.0,
            "elsewhere",
        ),  # seen from outside a container
        (replace(HERE, pid_namespace="pid:[2]"), 3600.0, "lost"),
        (replace(HERE, pid_namespace=""), 5.0, "live"),  # seen over a shell that did not ask for it
        (replace(HERE, host="renamed"), 5.0, "elsewhere"),
        (ProcessFacts("other", "b9", "500"), 5.0, "elsewhere"),
        (ProcessFacts("other", "b9", None), 5.0, "elsewhere"),
        (ProcessFacts("other", "b9", "500"), 3600.0, "lost"),
        (ProcessFacts("box", "", "500"), 3600.0, "live"),  # a system without names for its boots
        (ProcessFacts("box", "", None), 5.0, "killed"),
    ],
)
def test_who_lives_is_judged_by_process_boot_container_and_silence(
    facts: ProcessFacts, silent: float, is_: str
) -> None:
    assert judged(INFO, facts, None, silent) == is_
    assert judged(INFO, facts, (999.0, "stopped"), silent) == is_, "the end of an earlier process of a resumed run"
    assert judged(INFO, facts, (1001.0, "failed"), silent) == "failed"


TRAINS = """
import sys
from pathlib import Path
from engine.events import EventWriter, Phase
from engine.rundir import RunDir, this_process, write_run_info
run = RunDir(Path(sys.argv[1]))
write_run_info(run, this_process(run, "in a container"))
EventWriter(run.events).write(Phase(name="training"))
print("trains", flush=True)
sys.stdin.read()
"""


def test_an_engine_in_a_container_is_not_looked_for_among_the_processes_outside(tmp_path: Path) -> None:
    apart = ["unshare", "-pf", "--mount-proc", *([] if os.geteuid() == 0 else ["-r"])]
    if not shutil.which("unshare") or subprocess.run([*apart, "true"], capture_output=True, check=False).returncode:
        pytest.skip("no process namespace of one's own can be made here")
    run = create_run_dir(tmp_path, "a", NOON)
    command = [*apart, sys.executable, "-c", TRAINS, str(run.path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as engine:
        assert engine.stdout is not None and engine.stdout.readline() == "trains\n"
        info = read_run_info(run)
        assert info is not None and info.pid < 10, "its number in there; outside this is another process, or none"
        assert liveness(run) == "elsewhere"
        engine.communicate("")
    assert liveness(run, now=time.time() + LOST_SECONDS + 1) == "lost"


@pytest.mark.parametrize("change", [{"pid": "../7"}, {"pid": -1}, {"pid": True}, {"host": 5}, {"started": "now"}])
def test_a_run_json_that_names_no_process_is_none(tmp_path: Path, change: dict[str, object]) -> None:
    run = started(tmp_path)
    run.run_json.write_text(json.dumps(json.loads(run.run_json.read_text()) | change))
    assert read_run_info(run) is None


def test_a_run_and_the_list_of_runs_are_their_owners_alone(tmp_path: Path) -> None:
    run = started(tmp_path / "deep" / "runs")
    modes = {path: path.stat().st_mode & 0o777 for path in (run.path, run.run_json, registry_path())}
    assert modes == {run.path: 0o700, run.run_json: 0o600, registry_path(): 0o600}


def test_a_fresh_folder_is_starting_and_an_old_one_killed(tmp_path: Path) -> None:
    run = create_run_dir(tmp_path, "a", NOON)
    assert liveness(run) == "starting"
    assert liveness(run, now=time.time() + 3600) == "killed"


def test_a_person_names_a_run_by_path_id_beginning_or_latest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = started(tmp_path / "runs", "alpha")
    second = started(tmp_path / "runs", "beta")
    monkeypatch.chdir(tmp_path)
    for text in ("runs/" + first.id, str(first.path), str(first.run_json), first.id, "20260102-120000-al"):
        assert resolve_run(text) == first, text
    assert resolve_run("latest") == second
    assert [run.id for run in list_runs()] == [second.id, first.id]


def test_a_run_that_is_in_no_list_is_named_by_its_path(tmp_path: Path) -> None:
    listed = started(tmp_path / "runs", "alpha")
    copied = RunDir(shutil.copytree(listed.path, tmp_path / "elsewhere" / listed.id))
    assert name_of(listed) == listed.id and name_of(copied) == str(copied.path)
    assert resolve_run(name_of(listed)) == listed and resolve_run(name_of(copied)) == copied


def test_names_that_fit_no_run_or_several_are_explained(tmp_path: Path) -> None:
    with pytest.raises(RunNotFoundError, match="no run has been started yet"):
        resolve_run("latest")
    first, second = started(tmp_path, "alpha"), started(tmp_path, "beta")
    with pytest.raises(RunNotFoundError, match=r"2 runs answer to this") as error:
        resolve_run("20260102")
    assert first.id in str(error.value) and second.id in str(error.value)
    with pytest.raises(RunNotFoundError, match="no such run; the newest runs are"):
        resolve_run("2031")
    (tmp_path / "empty").mkdir()
    with pytest.raises(RunNotFoundError, match="is no run"):
        resolve_run(str(tmp_path / "empty"))
    (tmp_path / "train.log").write_text("step=1 loss=2\n")
    with pytest.raises(RunNotFoundError, match=r"pgs monitor .*train\.log"):
        resolve_run(str(tmp_path / "train.log"))


def test_a_folder_that_may_not_be_read_is_named_as_such(tmp_path: Path) -> None:
    run = started(tmp_path, "alpha")
    run.path.chmod(0)
    try:
        if os.access(run.path, os.X_OK):
            pytest.skip("root may look into every folder")
        with pytest.raises(RunNotFoundError, match=r"may not be read.*train\.private"):
            resolve_run(str(run.path))
    finally:
        run.path.chmod(0o700)


def test_the_registry_forgives_broken_lines_and_forgets_deleted_runs(tmp_path: Path) -> None:
    run = started(tmp_path)
    registry = Path(os.environ["XDG_STATE_HOME"]) / "pgs-tui" / "runs.jsonl"
    registry.write_text(
        "not json\n" + registry.read_text() + '{"id": "gone", "name": "x", "path": "/nowhere", "started": 1}\n'
    )
    assert [found.id for found in list_runs()] == [run.id]


def test_the_unfinished_run_to_go_on_with_comes_first(tmp_path: Path) -> None:
    older, empty = (started(tmp_path, "a") for _ in range(2))
    for run in (older, empty):
        end(run, "stopped")
    assert [run.id for run in unfinished_runs(tmp_path, "a")] == [empty.id, older.id]
    (older.checkpoints / "step-5").mkdir(parents=True)
    assert [run.id for run in unfinished_runs(tmp_path, "a")] == [older.id, empty.id]
    live = started(tmp_path, "a")
    assert [run.id for run in unfinished_runs(tmp_path, "a")] == [live.id, older.id, empty.id]


def test_finished_runs_and_those_of_other_names_are_left_out(tmp_path: Path) -> None:
    older, done, newer = (started(tmp_path, "a") for _ in range(3))
    started(tmp_path, "b")
    end(older, "stopped")
    end(done, "finished")
    assert [run.id for run in unfinished_runs(tmp_path, "a")] == [newer.id, older.id]
    assert unfinished_runs(tmp_path / "nothing", "a") == []


def test_a_user_without_a_home_has_no_registry(monkeypatch: pytest.MonkeyPatch) -> None:
    def homeless() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.delenv("XDG_STATE_HOME", raising=False)
    monkeypatch.setattr(Path, "home", homeless)
    assert list_runs() == []
    with pytest.raises(OSError, match="no home directory"):
        registry_path()

"""The ways people start what is to run for hours: the dashboard, tmux, Slurm, systemd-run. The engine is the real one.

With nohup the run of `tests/remote/test_hundred_kills.py` is started.
"""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from engine.rundir import RunDir, liveness, read_run_info
from tests.terminal.terminal import PATIENCE, Terminal, environment, program
from tests.terminal.test_full_run import config  # noqa: F401
from tests.terminal.test_tmux import Tmux

pytestmark = pytest.mark.terminal

KILL_WAIT = 30
"""Seconds that Slurm leaves between SIGTERM and SIGKILL, where nobody has set another number."""


def engine(config: Path, *overrides: str) -> tuple[str, ...]:  # noqa: F811
    return (sys.executable, "-m", "engine", "train", "--config", str(config), "--train.max_steps", "20000", *overrides)


def the_run(folder: Path) -> RunDir:
    """The one run below the folder, once it has trained some steps."""
    end = time.monotonic() + PATIENCE
    while True:
        found = [RunDir(path) for path in (folder / "runs").glob("*")]
        if found and len(steps(found[0])) > 3:
            (run,) = found
            return run
        assert time.monotonic() < end, [path.read_text() for path in folder.glob("runs/*/console.log")]
        time.sleep(0.05)


def steps(run: RunDir) -> list[int]:
    if not run.events.exists():
        return []
    lines = run.events.read_bytes().split(b"\n")[:-1]
    return [event["step"] for event in map(json.loads, lines) if event["event"] == "step"]


def wait_for_steps(run: RunDir, more: int) -> None:
    """Wait until the run has so many more steps than now."""
    before, end = len(steps(run)), time.monotonic() + PATIENCE
    while len(steps(run)) < before + more:
        assert time.monotonic() < end, run.console_log.read_text()
        time.sleep(0.05)


def wait_for_liveness(run: RunDir, *wanted: str) -> None:
    end = time.monotonic() + PATIENCE
    while (now := liveness(run)) not in wanted:
        assert time.monotonic() < end, f"{now}\n{run.console_log.read_text()}"
        time.sleep(0.05)


def started_by(run: RunDir) -> str:
    info = read_run_info(run)
    assert info is not None
    return info.started_by


@pytest.mark.needs("tmux")
def test_a_run_that_loses_its_tmux_saves_itself_and_goes_on_as_a_slurm_job(config: Path, tmp_path: Path) -> None:  # noqa: F811
    variables = environment(tmp_path, TERM="screen-256color", OMP_NUM_THREADS="1")
    tmux = Tmux(engine(config), variables, (80, 24))
    try:
        run = the_run(tmp_path)
        assert started_by(run) == "tmux"
        tmux.run("kill-session")
    finally:
        tmux.close()
    wait_for_liveness(run, "stopped")
    done = len(steps(run))
    assert (run.checkpoints / f"step-{done}").is_dir()

    script = tmp_path / "job.sh"
    words = " ".join(engine(config, "--train.resume_from", "auto"))
    script.write_text(f"#!/bin/sh\n#SBATCH --signal=TERM@120 --requeue --open-mode=append\nexec {words}\n")
    with (tmp_path / "slurm-7.out").open("wb") as out:
        job = subprocess.Popen(
            ("sh", script),
            env={**variables, "SLURM_JOB_ID": "7"},
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=out,
            start_new_session=True,
        )
    end = time.monotonic() + PATIENCE
    while len(steps(run)) < done + 3:
        assert time.monotonic() < end and job.poll() is None, (tmp_path / "slurm-7.out").read_text()
        time.sleep(0.05)
    assert started_by(run) == "Slurm job 7" and the_run(tmp_path) == run
    os.killpg(job.pid, signal.SIGTERM)  # the time is over, or somebody has cancelled the job
    assert job.wait(KILL_WAIT) == 0
    assert liveness(run) == "stopped"
    assert steps(run) == list(range(1, len(steps(run)) + 1))
    assert (run.checkpoints / f"step-{len(steps(run))}").is_dir()


def test_a_run_from_the_dashboard_goes_on_when_the_link_drops_and_after_ctrl_c(
    config: Path,  # noqa: F811
    tmp_path: Path,
) -> None:
    variables = environment(tmp_path, OMP_NUM_THREADS="1")
    dashboard = Terminal(program(str(config), "--train.max_steps", "20000"), variables)
    dashboard.wait_for("● training", "step=")
    run = the_run(tmp_path)
    os.killpg(dashboard.process.pid, signal.SIGHUP)
    dashboard.close()
    wait_for_steps(run, 3)
    again = Terminal(program("attach", run.id), variables)
    try:
        again.wait_for("● training")
        again.type(b"\x03")
        again.wait_for("Leave; the run goes on")
        again.type(b"\r")
        assert again.wait_for_end() == 0
    finally:
        again.close()
    wait_for_steps(run, 3)
    info = read_run_info(run)
    assert info is not None and liveness(run) == "live" and info.started_by == "dashboard"
    os.kill(info.pid, signal.SIGTERM)
    wait_for_liveness(run, "stopped")


def test_a_run_started_by_systemd_run_is_a_unit_that_can_be_stopped(config: Path, tmp_path: Path) -> None:  # noqa: F811
    if shutil.which("systemd-run") is None or not Path("/run/systemd/system").is_dir():
        pytest.skip("systemd is not the first process of this system")
    manager = ("systemd-run", *(() if os.getuid() == 0 else ("--user",)))
    if subprocess.run((*manager, "--wait", "--quiet", "true"), capture_output=True, check=False).returncode != 0:
        pytest.skip("this user may start no units of systemd")
    unit = f"pgs-test-{os.getpid()}"
    variables = (f"--setenv={name}={text}" for name, text in environment(tmp_path, OMP_NUM_THREADS="1").items())
    where = (f"--unit={unit}", f"--working-directory={tmp_path}", "--collect", "--quiet")
    subprocess.run((*manager, *where, *variables, *engine(config)), check=True)
    try:
        run = the_run(tmp_path)
        assert started_by(run) == f"systemd unit {unit}.service"
    finally:
        subprocess.run(("systemctl", *manager[1:], "stop", unit), check=True)
    wait_for_liveness(run, "stopped")
    assert (run.checkpoints / f"step-{len(steps(run))}").is_dir()

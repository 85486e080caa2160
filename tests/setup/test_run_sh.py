"""run.sh: what it installs and when, what it starts, and what it says when it cannot."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

from tests.setup.conftest import Project

FULL_INSTALLATION = ["venv", "pip hatchling"]


def wait_until(condition: Callable[[], bool], seconds: float = 20) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "nothing happened in time"
        time.sleep(0.02)


def test_first_start_installs_and_later_starts_do_not(project: Project) -> None:
    first = project.run()
    assert first.returncode == 0, first.stderr
    assert project.calls == ["venv", "pip hatchling", f"pip {project.root}"]
    project.forget_calls()
    second = project.run()
    assert second.stdout == first.stdout
    assert project.calls == []


def test_the_arguments_reach_pgs_tui_as_they_are(project: Project) -> None:
    done = project.run("my config.yaml", "--train.max_steps", "3", "--data.packing=false")
    assert done.stdout == "pgs-tui|my config.yaml|--train.max_steps|3|--data.packing=false|\n"
    assert done.stderr.endswith("pgs-tui: no NVIDIA GPU found; training on the CPU\n")
    assert project.run().stdout == "pgs-tui|quickstart|\n", "without a config it trains the one of the program"


def test_attaching_says_nothing_of_gpus(project: Project) -> None:
    project.run()
    done = project.run("attach", "latest")
    assert (done.stdout, done.stderr) == ("pgs-tui|attach|latest|\n", "")


def test_it_starts_from_elsewhere_and_through_a_link(project: Project, tmp_path: Path) -> None:
    link = tmp_path / "elsewhere" / "go"
    link.parent.mkdir()
    link.symlink_to(Path("..") / "project" / "run.sh")
    done = project.run("mine.yaml", cwd=link.parent, script=link)
    assert done.stdout == "pgs-tui|mine.yaml|\n", done.stderr


def test_help_needs_no_installation(project: Project) -> None:
    done = project.run("--help")
    assert done.returncode == 0
    assert done.stdout.startswith("./run.sh [CONFIG]")
    assert project.calls == []


def test_changed_pins_and_a_moved_folder_install_again(project: Project) -> None:
    project.run()
    project.forget_calls()
    with (project.root / "constraints.txt").open("a") as pins:
        pins.write("six==1.16.0\n")
    project.run()
    assert f"pip {project.root}" in project.calls
    project.forget_calls()
    project.root = project.root.rename(project.root.with_name("moved"))
    project.run()
    assert f"pip {project.root}" in project.calls


def test_a_failed_installation_says_why_and_is_not_taken_for_done(project: Project) -> None:
    failed = project.run(PIP_FAILS="yes")
    assert failed.returncode == 1
    assert "No space left on device" in failed.stderr
    assert "the installation failed; the whole log is in" in failed.stderr
    project.forget_calls()
    assert project.run().returncode == 0
    assert project.calls[0] == "venv", "what the failed installation left is not trusted"


def test_an_interrupted_installation_starts_clean_the_next_time(project: Project) -> None:
    process = project.start(PIP_SECONDS="30")
    wait_until(lambda: "pip hatchling" in project.calls)
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
    project.forget_calls()
    done = project.run()
    assert done.returncode == 0, done.stderr
    assert project.calls[:2] == FULL_INSTALLATION


def test_two_starts_at_once_install_once(project: Project) -> None:
    starts = [project.start(PIP_SECONDS="0.5") for _ in range(2)]
    results = [process.communicate(timeout=60) for process in starts]
    assert [process.returncode for process in starts] == [0, 0], results
    assert project.calls.count("venv") == 1
    assert sum("waiting for it" in errors for _, errors in results) == 1


def test_two_starts_at_once_without_flock(project: Project, tools: Path) -> None:
    (tools / "flock").unlink()
    starts = [project.start(PIP_SECONDS="0.5") for _ in range(2)]
    results = [process.communicate(timeout=60) for process in starts]
    assert [process.returncode for process in starts] == [0, 0], results
    assert project.calls.count("venv") == 1


def test_a_lock_whose_owner_died_is_taken_over(project: Project, tools: Path) -> None:
    (tools / "flock").unlink()
    gone = subprocess.Popen(["true"])
    gone.wait()
    lock = project.root / ".venv.lock.d"
    lock.mkdir()
    (lock / "pid").write_text(f"{gone.pid}\n")
    assert project.run().returncode == 0


def test_no_python_is_said_in_one_sentence(project: Project, tools: Path) -> None:
    (tools / "python3.11").unlink()
    done = project.run()
    assert done.returncode == 1
    assert "Python 3.11 or newer is needed" in done.stderr


def test_python_without_venv_names_the_package(project: Project) -> None:
    done = project.run(NO_VENV="yes")
    assert done.returncode == 1
    assert "python3.11 has no venv module" in done.stderr
    assert "apt install python3.11-venv" in done.stderr

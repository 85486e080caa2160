"""A project folder with the real run.sh, and a stand-in Python that records what it is asked to do."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]

SYSTEM_PROGRAMS = (
    *("bash", "cat", "chmod", "cksum", "cp", "dirname", "env", "flock"),
    *("grep", "mkdir", "readlink", "rm", "sleep", "tail"),
)

FAKE_PYTHON = r"""#!/usr/bin/env bash
# Stands for Python: makes venvs that hold copies of itself, and writes each call of pip into a file.
case "$1 $2" in
    "-m venv")
        echo "venv" >>"$CALLS"
        rm -rf "$4" && mkdir -p "$4/bin" && cp "$0" "$4/bin/python" && echo "version = 3.11" >"$4/pyvenv.cfg"
        printf '#!/usr/bin/env bash\nprintf "%%s|" pgs-tui "$@"; echo\n' >"$4/bin/pgs-tui"
        chmod +x "$4/bin/pgs-tui"
        ;;
    "-m pip")
        echo "pip ${*: -1}" >>"$CALLS"
        sleep "${PIP_SECONDS:-0}"
        [[ -z ${PIP_FAILS:-} ]] || { echo "ERROR: No space left on device"; exit 1; }
        ;;
    "-c import ensurepip, venv") [[ -z ${NO_VENV:-} ]] ;;
    "--version "*) echo "Python 3.11.9" ;;
esac
"""


@dataclass
class Project:
    """A throw-away checkout; `run` starts its run.sh and waits, `start` does not wait."""

    root: Path
    environment: dict[str, str]
    calls_file: Path
    started: list[subprocess.Popen[str]] = field(default_factory=list)

    def run(
        self, *arguments: str, cwd: Path | None = None, script: Path | None = None, **env: str
    ) -> subprocess.CompletedProcess[str]:
        command = [str(script or self.root / "run.sh"), *arguments]
        return subprocess.run(
            command,
            cwd=cwd or self.root,
            env=self.environment | env,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )

    def start(self, *arguments: str, **env: str) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [str(self.root / "run.sh"), *arguments],
            cwd=self.root,
            env=self.environment | env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        self.started.append(process)
        return process

    @property
    def calls(self) -> list[str]:
        return self.calls_file.read_text().splitlines() if self.calls_file.exists() else []

    def forget_calls(self) -> None:
        self.calls_file.unlink(missing_ok=True)


def _executable(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)


@pytest.fixture
def tools(tmp_path: Path) -> Path:
    """A folder for the PATH with the system programs that the scripts use, and nothing else."""
    folder = tmp_path / "tools"
    folder.mkdir()
    for name in SYSTEM_PROGRAMS:
        found = shutil.which(name)
        if found:
            (folder / name).symlink_to(found)
    return folder


@pytest.fixture
def add_tool(tools: Path) -> Callable[[str, str], None]:
    """Put a script of this name and text on the PATH."""

    def add(name: str, text: str) -> None:
        _executable(tools / name, text)

    return add


@pytest.fixture
def project(tmp_path: Path, tools: Path) -> Iterator[Project]:
    """A folder with the real scripts, and `python3.11` on the PATH being the stand-in."""
    root = tmp_path / "project"
    (root / ".ci").mkdir(parents=True)
    (root / "configs").mkdir()
    (root / "configs" / "quickstart.yaml").write_text("model: {}\n")
    (root / "pyproject.toml").write_text("[project]\n")
    for name in ["run.sh", "constraints.txt", ".ci/setup.sh", ".ci/gpu.sh"]:
        shutil.copy(REPOSITORY / name, root / name)
    _executable(tools / "python3.11", FAKE_PYTHON)
    calls = tmp_path / "calls"
    environment = {
        "PATH": str(tools),
        "HOME": str(tmp_path),
        "CALLS": str(calls),
        "TERM": os.environ.get("TERM", "xterm"),
    }
    project = Project(root=root, environment=environment, calls_file=calls)
    yield project
    for process in project.started:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()

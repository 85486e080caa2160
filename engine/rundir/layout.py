"""Where everything of one run stands, and how its folder is made."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from engine.durable import flush_folder
from engine.private import make_private_dir


@dataclass(frozen=True, slots=True)
class RunDir:
    """Where everything of one run stands."""

    path: Path

    @property
    def id(self) -> str:
        return self.path.name

    @property
    def config_yaml(self) -> Path:
        return self.path / "config.yaml"

    @property
    def run_json(self) -> Path:
        return self.path / "run.json"

    @property
    def events(self) -> Path:
        return self.path / "events.jsonl"

    @property
    def console_log(self) -> Path:
        return self.path / "console.log"

    @property
    def control(self) -> Path:
        return self.path / "control.jsonl"

    @property
    def lock(self) -> Path:
        return self.path / "run.lock"

    @property
    def checkpoints(self) -> Path:
        return self.path / "checkpoints"

    @property
    def best(self) -> Path:
        return self.checkpoints / "best"

    @property
    def final(self) -> Path:
        return self.path / "final"

    @property
    def spikes(self) -> Path:
        return self.path / "spikes"

    def spike(self, step: int) -> Path:
        return self.spikes / f"step-{step}.json"


def create_run_dir(output_dir: Path, name: str, now: datetime | None = None) -> RunDir:
    """Make `<output_dir>/<YYYYMMDD-HHMMSS>-<name>`, with -2, -3 ... behind it when that exists.

    `name` may hold slashes ("qwen35_4b/a100_40gb"); they become hyphens. The folder is its owner's alone. Raises
    OSError when it cannot be made.
    """
    stem = f"{(now or datetime.now()):%Y%m%d-%H%M%S}-{name.replace('/', '-')}"
    output_dir.mkdir(parents=True, exist_ok=True)
    attempt = 1
    while True:
        path = output_dir / (stem if attempt == 1 else f"{stem}-{attempt}")
        try:
            make_private_dir(path)
        except FileExistsError:
            attempt += 1
            continue
        flush_folder(output_dir)
        return RunDir(path.absolute())


def is_run_dir(path: Path) -> bool:
    """True for a folder that holds a run's files."""
    return (path / "run.json").is_file() or (path / "events.jsonl").is_file()

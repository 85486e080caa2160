"""Reads a config as the engine would, and tells what it trains, or why it cannot be used."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from pgs_tui.format import plain

if TYPE_CHECKING:  # pydantic and YAML take longer to import than the first frame may
    from engine.config import Config, Problem


@dataclass(frozen=True, slots=True)
class Checked:
    """`config` is None for a file that cannot be used; `problems` then has a line for each, `text` all about them."""

    config: Config | None
    notes: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()
    text: str = ""

    @property
    def is_valid(self) -> bool:
        """Whether it can be trained."""
        return self.config is not None


def check(path: Path) -> Checked:
    """Load the config with all its rules. Takes milliseconds; the first one in a process takes longer."""
    from engine.config import ConfigError, load_config

    try:
        loaded = load_config(path)
    except ConfigError as error:
        text = "\n\n".join(in_full(problem, path) for problem in error.problems)
        return Checked(None, problems=tuple(map(one_line, error.problems)), text=text)
    return Checked(loaded.config, loaded.notes)


def in_full(problem: Problem, path: Path) -> str:
    """The problem with its line in the file, what is allowed and what to do, each unwrapped."""
    place = problem.place
    where = str(place).replace(str(path), path.name) if place else ""
    meant = f"; did you mean {problem.nearest}?" if problem.nearest else ""
    head = ": ".join(part for part in (where, problem.key, f"{problem.reason}{meant}") if part)
    lines = [head, place.picture() if place else ""]
    lines += [
        f"      {label}: {text}" for label, text in (("allowed", problem.allowed), ("advice", problem.advice)) if text
    ]
    return "\n".join(line for line in lines if line)


def one_line(problem: Problem) -> str:
    """`line 12: train.learning_rate: must be positive, found -1`."""
    place = f"line {problem.line}" if problem.line is not None else ""
    meant = f"; did you mean {problem.nearest}?" if problem.nearest else ""
    return plain(": ".join(part for part in (place, problem.key, f"{problem.reason}{meant}") if part))


def what_trains(config: Config) -> str:
    """Which weights move."""
    return "mixers" if config.train.freeze_non_attention else "all weights"


def data_sets(config: Config) -> tuple[str, ...]:
    """The data sets by name: a hub name as it is, a file or folder without the folders around it."""
    named = config.data.dataset or tuple(source.path for source in config.data.sources)
    return tuple(Path(one).name if one.startswith("/") else one for one in named)


def batch_and_length(config: Config) -> str:
    """`2 × 2 048`, with accumulation `2·4 × 2 048`."""
    from pgs_tui.format import whole

    passes = config.train.gradient_accumulation_steps
    batch = f"{config.train.per_device_batch_size}" + (f"·{passes}" if passes > 1 else "")
    return f"{batch} × {whole(config.data.max_seq_length)}"

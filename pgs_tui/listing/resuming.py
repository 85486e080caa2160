"""Whether a run can be gone on with from here, and what has to be said before."""

from __future__ import annotations

import shlex
from dataclasses import dataclass

from engine.rundir import RunDir, has_checkpoint
from pgs_tui.format import plain, whole
from pgs_tui.listing.row import RunRow
from pgs_tui.picking.words import code_of


@dataclass(frozen=True, slots=True)
class Question:
    """What a person has to know before a run goes on, and whether code of strangers would run then."""

    text: str
    runs_code: bool


def why_not_resumed(row: RunRow) -> str:
    """One sentence; empty where nothing speaks against it."""
    if row.where:
        return f"it takes the Python of {plain(row.where)} to go on with it"
    if row.is_going:
        return f"{plain(row.name)} is still going on; Enter attaches to it"
    if row.tool is not None:
        return "another tool trains it, which alone can go on with it"
    if row.life is None:
        return plain(row.trouble)
    if row.life == "finished":
        return "it has finished: there is no step left to train"
    if not RunDir(row.path).config_yaml.is_file():
        return "it has no config.yaml to go on with"
    return ""


def resume_command(row: RunRow) -> str:
    """What goes on with the run where it is."""
    words = ("pgs", "train", "--config", str(RunDir(row.path).config_yaml), "--run-dir", str(row.path))
    return shlex.join((*words, "--train.resume_from", "auto"))


def question_before(row: RunRow) -> Question:
    """What is asked before it goes on. Raises ValueError where its config does not load any more."""
    from engine.config import load_config

    config = load_config(RunDir(row.path).config_yaml).config
    step = row.summary.checkpoint if row.summary else None
    if not has_checkpoint(RunDir(row.path)):
        start = "It has no checkpoint, so it begins again at step 1, in its own folder."
    elif step is None:
        start = "It goes on from its newest checkpoint, in its own folder."
    else:
        start = f"It goes on from the checkpoint of step {whole(step)}, in its own folder."
    code = f" {code_of(config.model.name_or_path)}." if config.model.trust_remote_code else ""
    return Question(start + code, config.model.trust_remote_code)

"""What the restored terminal says when somebody leaves a run."""

from __future__ import annotations

import shlex

from pgs_tui.format import plain, whole
from pgs_tui.invocation import own_command
from screens.dashboard.readings.situation import Situation


def farewell_of(situation: Situation, run_id: str, address: str, again: str) -> str:
    """Whether the run goes on, and the command that comes back to it: `again` is that of pgs-tui, `address` the run."""
    step = situation.history.last_step
    where = f" at step {whole(step)}" if step is not None else ""
    name = f"{run_id} on {situation.where}" if situation.where else run_id
    back = f"{own_command()} {again} {shlex.quote(address)}"
    if again != "attach":
        return f"{name}, played{where}.\nLook again with: {back}"
    if situation.outcome != "running":
        return f"{name}: {situation.outcome}{where}.{_why(situation)}\nLook again with: {back}"
    if situation.life == "foreign":
        return f"{name}, a log of another tool{where}.\nLook again with: {back}"
    if situation.is_untold:
        return f"{name}{where}: whether it goes on cannot be told, its files may not be read.\nLook again with: {back}"
    goes_on = "goes on, as far as is known," if situation.is_cut_off else "goes on"
    return f"{name} {goes_on}{where}. Come back with: {back}"


def _why(situation: Situation) -> str:
    end = situation.history.end
    return f"\n{plain(end.reason)}" if end is not None and end.status == "failed" and end.reason else ""

"""The first line of the picker: where it looks, what it has found, and the GPU that memory is compared with."""

from __future__ import annotations

from pgs_tui.drawing.lines import Role
from pgs_tui.format import gib, percent, plain, whole
from pgs_tui.picking.folders import folder_name
from pgs_tui.widgets.status_line import Status
from screens.picker.picking import Picking


def status_of(picking: Picking) -> Status:
    """Folder, state, GPU."""
    sign, state, role = _state(picking)
    return Status(name=plain(folder_name(picking.here)), state=state, sign=sign, role=role, age=_gpu(picking))


def _state(picking: Picking) -> tuple[str, str, Role]:
    found, read = len(picking.collection), picking.collection.checked
    if not picking.searched and not found:
        return "○", "looking for configs", "dim"
    if not picking.searched:
        return "◐", f"looking · {whole(found)} found", "accent"
    if read < found:
        return "◐", f"reading {percent(read / found)}", "accent"
    if picking.collection.invalid:
        return "▲", f"{whole(picking.collection.invalid)} of {whole(found)} invalid", "warn"
    return ("✔", f"{whole(found)} valid", "good") if found else ("○", "nothing here", "dim")


def _gpu(picking: Picking) -> str:
    if not picking.searched and not len(picking.collection):
        return "no data yet"
    if picking.gpu is not None:
        free = f"{gib(picking.gpu.free)} of {gib(picking.gpu.total)} GiB free"
        return f"{plain(picking.gpu.name)} · {free}"
    if picking.ended:
        return "no profiler"
    return "no GPU here: v chooses one" if picking.asked else "working out memory"


def nothing_found(picking: Picking) -> str:
    """What to say in place of a list, line by line."""
    if not picking.searched:
        return "looking for configs"
    return "\n".join(
        (
            f"there is no config below {plain(folder_name(picking.here))}",
            "pgs-tui quickstart   trains a small model within minutes",
            "cp a config of the program's configs here, change it, then press r to look again",
        )
    )


def told_beside(picking: Picking) -> str:
    """What was seen beside the configs, in a few words; empty without anything."""
    tally = picking.tally
    parts = []
    if tally.other_files:
        parts.append(f"{whole(tally.other_files)} other YAML {'file' if tally.other_files == 1 else 'files'}")
    if tally.unreadable:
        parts.append(f"{whole(len(tally.unreadable))} not readable")
    if tally.cut:
        parts.append("there are more folders than were looked into")
    return " · ".join(parts)

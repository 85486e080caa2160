"""The first line of the profile screen, and what stands in place of the verdict while there is none."""

from __future__ import annotations

from pgs_tui.drawing.lines import Role
from pgs_tui.format import counted, gib, percent, plain
from pgs_tui.profiling.profiling import Profiling
from pgs_tui.profiling.shapes import Fitting, GpuRoom
from pgs_tui.widgets.memory_room import SIGNS
from pgs_tui.widgets.status_line import Status

SIZES_NAMED = 4


def status_of(name: str, profiling: Profiling, slow: bool) -> Status:
    """Name of the config, verdict in a word, and the GPU."""
    sign, state, role = _state(profiling, slow)
    changed = len(profiling.what_if.changes) if profiling.what_if else 0
    name = plain(name) + (f" *{changed}" if changed else "")
    gpu = profiling.profile.gpu if profiling.profile else None
    return Status(name=name, state=state, sign=sign, role=role, age=_gpu(gpu) if profiling.profile else "no data yet")


def said_of(profiling: Profiling) -> tuple[str, bool]:
    """What is said in place of the verdict, and whether it is bad news; nothing where the verdict holds."""
    if profiling.ended is not None:
        return f"{profiling.ended.sentence}; s starts it again", True
    if profiling.problem:
        return profiling.problem, True
    state = profiling.measurement.state
    if state is not None and profiling.measurement.is_running:
        steps = f", {state.done} of {counted(state.total, 'step')} done" if state.total else ""
        return f"measuring on this GPU: {state.what or 'starting'}{steps}; Esc stops it", False
    return ("", False) if profiling.profile else ("the model is put together, without its weights", False)


def instead_of_changes(profiling: Profiling) -> str:
    """What is said where there are no changes that would help."""
    profile = profiling.profile
    if profile is None:
        return "no estimate yet"
    if profile.gpu is None:
        return _sizes(profile.sizes) or "choose a GPU to see what would help there"
    if profiling.is_behind or profiling.lacks_advice:
        return "looking for changes that would help"
    if profile.verdict.word == "fits":
        return "it fits as it is, and no change is known that would use the room better"
    return "no change is known that would help"


def _sizes(sizes: tuple[Fitting, ...]) -> str:
    """The smallest GPUs that it would fit, and those on which it would be tight."""
    parts = []
    for word, said in (("fits", "it would fit"), ("tight", "be tight on")):
        found = [one for one in sizes if one.word == word]
        names = ", ".join(f"{one.name}" for one in found[:SIZES_NAMED])
        more = f" and {len(found) - SIZES_NAMED} more" if len(found) > SIZES_NAMED else ""
        parts += [f"{said} {names}{more}"] if found else []
    return "; ".join(parts) or ("it would fit no GPU of the table" if sizes else "")


def _state(profiling: Profiling, slow: bool) -> tuple[str, str, Role]:
    if profiling.ended is not None:
        return "✖", "the profiler ended", "bad"
    measuring = profiling.measurement.state
    if measuring is not None and profiling.measurement.is_running:
        done = f" {percent(measuring.share)}" if measuring.share is not None else ""
        return "◐", f"measuring{done}", "accent"
    if profiling.problem:
        return "✖", "not possible", "bad"
    if profiling.profile is None:
        return "○", "starting the profiler", "dim"
    if slow and profiling.is_behind:
        return "◐", "estimating", "accent"
    word = profiling.profile.verdict.word
    sign, role = SIGNS.get(word, SIGNS["unknown"])
    return sign, word if word in SIGNS and word != "unknown" else "no GPU chosen", role


def _gpu(gpu: GpuRoom | None) -> str:
    if gpu is None:
        return "no GPU"
    free = f", {gib(gpu.free)} free" if gpu.held > 0.05 else ""
    size = "" if "GiB" in gpu.name else f" {gib(gpu.total)} GiB"  # one that is only known by its size is called by it
    return f"{plain(gpu.name)}{size}{free}"

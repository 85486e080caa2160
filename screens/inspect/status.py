"""The first line of the inspect screen: what is looked at, and how far it has come."""

from __future__ import annotations

from pgs_tui.drawing.lines import Role
from pgs_tui.format import counted, percent, plain, value, whole
from pgs_tui.inspection.shapes import OpeningState
from pgs_tui.widgets.status_line import Status
from screens.inspect.inspecting import Inspecting


def status_of(name: str, inspecting: Inspecting) -> Status:
    """Name, state, and the size of what is looked at."""
    sign, state, role = _state(inspecting)
    hello = inspecting.hello
    size = f"{counted(hello.rows, 'row')} · limit {whole(hello.limit)} tokens" if hello else "no data yet"
    return Status(name=plain(name), state=state, sign=sign, role=role, age=size)


def _state(inspecting: Inspecting) -> tuple[str, str, Role]:
    audit, spike = inspecting.audit, inspecting.spike
    if inspecting.ended is not None:
        return "✖", "the inspector ended", "bad"
    if inspecting.hello is None:
        return "○", _opening(inspecting.opened), "dim"
    if spike is not None:
        norm = f" · grad norm {value(spike.grad_norm, 3)}" if spike.grad_norm is not None else ""
        return "▲", f"step {whole(spike.step)} · loss {value(spike.loss)}{norm}", "warn"
    if audit is None:
        return "◐", "inspecting", "accent"
    if audit.error:
        return "✖", "the audit stopped", "bad"
    if audit.finished:
        return "✔", "audited", "good"
    return "◐", f"auditing {percent(audit.done / audit.total if audit.total else 0.0)}", "accent"


def _opening(opened: OpeningState | None) -> str:
    if opened is None or opened.name == "starting":
        return "starting the inspector"
    return f"{plain(opened.name)} {percent(opened.share)}" if opened.share is not None else plain(opened.name)

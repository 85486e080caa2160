"""A sign and a role for each severity, so that no state is told by colour alone."""

from __future__ import annotations

from pgs_tui.drawing.lines import Role

SIGNS: dict[str, tuple[str, Role]] = {
    "info": ("·", "dim"),
    "warning": ("▲", "warn"),
    "error": ("✖", "bad"),
    "critical": ("✖", "bad"),
}

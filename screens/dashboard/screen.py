"""The live view of one run: its charts, memory, alerts, the engine's log."""

from __future__ import annotations

from typing import ClassVar

from textual.binding import BindingType

from pgs_tui.keys import bindings_of
from screens.dashboard.acting import DashboardActing
from screens.dashboard.arranging import DashboardArranging
from screens.dashboard.asking import DashboardAsking
from screens.dashboard.baseline import DashboardBaseline
from screens.dashboard.exporting import DashboardExporting
from screens.dashboard.panes import STYLE_SHEET

__all__ = ["STYLE_SHEET", "DashboardScreen"]


class DashboardScreen(
    DashboardActing,
    DashboardArranging,
    DashboardAsking,
    DashboardBaseline,
    DashboardExporting,
    inherit_bindings=False,
):
    """Give it a run with `follow`. It reports with `Leaving` that the person wants to go."""

    BINDINGS: ClassVar[list[BindingType]] = list(bindings_of("dashboard"))

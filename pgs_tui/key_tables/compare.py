"""Keys of runs laid over each other."""

from __future__ import annotations

from pgs_tui.key_tables.key import Key, Table

COMPARE = Table(
    does=(
        Key(("right", "l"), "← → h l", "right", "cursor", "move the cursor, at which all runs are read"),
        Key(("left", "h"), "", "left", "", ""),
        Key(("L", "shift+l", "shift+right"), "H L", "right_far", "", "move it by ten columns; Shift+← → too"),
        Key(("H", "shift+h", "shift+left"), "", "left_far", "", ""),
        Key(("t",), "t", "axis", "x axis", "lay them over each other by step, by tokens, by time"),
        Key(("b",), "b", "baseline", "baseline", "the run in focus is what the others are measured against"),
        Key(("d",), "d", "differences", "configs", "which keys of their configs differ, and what that does"),
        Key(("plus", "equals_sign"), "+ - 0", "zoom_in", "zoom", "closer, farther away, all of them"),
        Key(("minus",), "", "zoom_out", "", ""),
        Key(("0",), "", "zoom_all", "", ""),
        Key(("less_than_sign", "comma"), "< >", "pan_left", "", "the part before, after the one that is seen"),
        Key(("greater_than_sign", "full_stop"), "", "pan_right", "", ""),
        Key(("1", "2", "3", "4", "5", "6"), "1-6", "toggle_run", "runs", "show or hide the curves of a run"),
        Key(("m",), "m", "metric", "metric", "the next metric: loss, grad norm, tok/s, dt, learning rate"),
        Key(("y",), "y", "log_axis", "log", "log axis"),
        Key(("s",), "s", "smooth", "smooth", "smoothing, or the raw values"),
        Key(("enter",), "Enter", "enter", "", "watch the run in focus"),
    ),
    moves=(
        Key(("up", "k"), "↑ ↓ k j", "up", "", "the run above or below"),
        Key(("home",), "Home End", "first", "", "to the start, to the end of the longest run"),
        Key(("escape",), "Esc", "out", "", "one layer out: the cursor, the zoom, then back to the list"),
    ),
)

OF_CURVES = frozenset({"right", "axis", "zoom_in", "toggle_run", "metric", "log_axis", "smooth"})
"""Actions that are offered where curves are seen."""

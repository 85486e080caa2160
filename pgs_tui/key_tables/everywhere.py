"""Keys that do the same on every screen, in the order in which they stand around those of the screen itself."""

from __future__ import annotations

from pgs_tui.key_tables.key import Key

LEAVE = (Key(("q",), "q", "leave", "leave, run goes on", "leave; a run that is going goes on", "leave"),)
"""Before all others."""

LOOKS = (
    Key(("g",), "g", "glyphs", "glyphs", "draw with braille, blocks or ASCII"),
    Key(("c",), "c", "copy", "copy", "copy the pane in focus, or the whole screen, to clipboard and file"),
    Key(("tab",), "Tab", "next_pane", "", "next pane; Shift+Tab goes back"),
    Key(("shift+tab",), "", "previous_pane", "", ""),
)
"""Between what a screen does and how one moves there."""

CLOSING = (
    Key(("down", "j"), "", "down", "", ""),
    Key(("end",), "", "last", "", ""),
    Key(
        ("ctrl+c",),
        "Ctrl-C",
        "ask_leave",
        "",
        "leave; the dashboard of a run that goes on asks first: leave, stop the run, or stay",
    ),
    Key(("question_mark",), "?", "help", "help", "this page"),
)
"""Behind all others; those without a name of their own are told by the screen's `up` and `first`."""

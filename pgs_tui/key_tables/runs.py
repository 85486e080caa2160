"""Keys of the list of runs."""

from __future__ import annotations

from pgs_tui.key_tables.key import Key, Table

RUNS = Table(
    does=(
        Key(("enter",), "Enter", "enter", "attach", "watch the run"),
        Key(("m",), "m", "mark", "mark", "mark it to compare it with others, up to six"),
        Key(("C", "shift+c"), "C", "compare", "compare", "lay the curves of the marked runs over each other"),
        Key(("s",), "s S", "sort", "sort", "sort by the next column; S: the other way round"),
        Key(("S", "shift+s"), "", "sort_backwards", "", ""),
        Key(
            ("slash",),
            "/",
            "filter",
            "filter",
            "only runs with these words: name, status:failed, model:NAME, tag:NAME",
        ),
        Key(("t",), "t", "tag", "tag", "its tags: words by which it is found again", needs="files"),
        Key(("n",), "n", "note", "note", "a note on it", needs="files"),
        Key(
            ("R", "shift+r"),
            "R",
            "resume",
            "resume",
            "go on with a run that was stopped or broke off (asks first)",
            needs="control",
        ),
        Key(("v",), "v", "replay", "replay", "play a run that is over, as if it were going"),
        Key(("D", "shift+d"), "D", "delete", "delete", "delete it from the disk (asks first)", needs="files"),
        Key(("r",), "r", "rescan", "look again", "look for runs again"),
    ),
    moves=(
        Key(("up", "k"), "↑ ↓ k j", "up", "", "the run above or below; in the details, the line"),
        Key(("pagedown",), "PgUp PgDn", "page_down", "", "a screen up or down"),
        Key(("pageup",), "", "page_up", "", ""),
        Key(("home",), "Home End", "first", "", "to the first, to the last run"),
        Key(("escape",), "Esc", "out", "", "one layer out: from the details, the marks, the filter"),
    ),
)

"""Keys of the list of configs."""

from __future__ import annotations

from pgs_tui.key_tables.key import Key, Table

PICKER = Table(
    does=(
        Key(("enter",), "Enter", "enter", "start", "train the config; of an invalid one, show what is wrong"),
        Key(("p",), "p", "profile", "profile", "its memory in detail, and what other values would do"),
        Key(("i",), "i", "inspect", "inspect", "its data: which tokens are trained, and what is odd"),
        Key(("e",), "e", "edit", "edit", "open it in $VISUAL or $EDITOR, and check it again afterwards"),
        Key(("m",), "m", "mark", "compare", "mark it; on another one: which keys differ, and what that does"),
        Key(("slash",), "/", "filter", "filter", "only configs with these words: name, model, data, invalid"),
        Key(("v",), "v", "gpu", "GPU", "hold the memory of all configs against another GPU"),
        Key(("r",), "r", "rescan", "look again", "look for configs again, and read them anew"),
    ),
    moves=(
        Key(("up", "k"), "↑ ↓ k j", "up", "", "the config above or below; in the details, the line"),
        Key(("pagedown",), "PgUp PgDn", "page_down", "", "a screen up or down"),
        Key(("pageup",), "", "page_up", "", ""),
        Key(("home",), "Home End", "first", "", "to the first, to the last config"),
        Key(("escape",), "Esc", "out", "", "one layer out: from the details, the mark, the filter"),
    ),
)

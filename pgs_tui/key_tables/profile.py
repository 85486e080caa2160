"""Keys of the profile."""

from __future__ import annotations

from pgs_tui.key_tables.key import Key, Table

PROFILE = Table(
    does=(
        Key(("right", "l"), "← →", "right", "change", "the next, the previous value of the setting; l and h too"),
        Key(("left", "h"), "", "left", "", ""),
        Key(("1", "2", "3"), "1-3", "apply_change", "apply", "make one of the changes that would help"),
        Key(
            ("w",),
            "w",
            "write",
            "write YAML",
            "write the changes to a new YAML file, with all comments of this one",
            needs="files",
        ),
        Key(
            ("m",),
            "m",
            "measure",
            "measure",
            "take a few real steps on this machine's GPU (asks first)",
            needs="control",
        ),
        Key(("u",), "u", "undo", "undo", "take the last change back"),
        Key(("r",), "r", "reset", "reset", "everything as in the config"),
        Key(("S", "shift+s"), "S", "start", "start", "train it with these changes (asks first)", needs="control"),
        Key(("a",), "a", "assumptions", "assumptions", "what the estimate rests on, in full sentences"),
        Key(("enter",), "Enter", "enter", "", "choose or write the value; on a change that would help: make it"),
        Key(("slash",), "/", "filter", "", "only settings with these words"),
        Key(("s",), "s", "start_again", "", "start the profiler again, after it has ended"),
    ),
    moves=(
        Key(("up", "k"), "↑ ↓ k j", "up", "", "the setting above or below; with the focus on them, the changes"),
        Key(("home",), "Home End", "first", "", "to the first, to the last setting"),
        Key(("escape",), "Esc", "out", "", "stop measuring; else one layer out: to the settings, then back"),
    ),
)

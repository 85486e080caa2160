"""Keys of a run that is played; it has those of the dashboard too, but these."""

from __future__ import annotations

from pgs_tui.key_tables.key import Key, Table

REPLAY = Table(
    does=(
        Key(("space",), "space", "play", "play, hold", "play, or hold it here"),
        Key(("left_curly_bracket",), "{ }", "slower", "speed", "slower, faster: 1 to 1000 times as fast as it was"),
        Key(("right_curly_bracket",), "", "faster", "", ""),
        Key(("colon",), ":", "seek", "go to step", "go to a step"),
        Key(("comma",), ", .", "step_back", "", "one step back, one step on"),
        Key(("full_stop",), "", "step_on", "", ""),
    ),
)

"""Keys of the data: rows, a sample, a spike."""

from __future__ import annotations

from pgs_tui.key_tables.key import Key, Table

INSPECT = Table(
    does=(
        Key(("escape",), "Esc", "out", "back", "one layer out: from the sample to the rows, then back"),
        Key(("enter",), "Enter", "enter", "", "into the sample; on a finding of the audit: the rows with it"),
        Key(("slash",), "/", "filter", "filter", "only rows with this text, flag:CODE, role:NAME or flagged"),
        Key(("f",), "f F", "next_flagged", "flagged", "the next, the previous row with a warning or an error"),
        Key(("F", "shift+f"), "", "previous_flagged", "", ""),
        Key(("t",), "t", "boxes", "tokens", "borders and ids of the tokens, or their losses in a spike"),
        Key(("o",), "o", "only_trained", "only trained", "only what is trained"),
        Key(("r",), "r", "raw", "raw", "the rendered text as the model gets it, with all of the template"),
        Key(("e",), "e b", "next_trained", "trained parts", "to the next, the previous trained part"),
        Key(("b",), "", "previous_trained", "", ""),
        Key(("w",), "w W", "next_worst", "", "in a spike: to the next worse token, and back"),
        Key(("W", "shift+w"), "", "previous_worst", "", ""),
        Key(("right_square_bracket",), "[ ]", "next_row", "rows", "the previous, the next row, in the sample too"),
        Key(("left_square_bracket",), "", "previous_row", "", ""),
        Key(("s",), "s", "start_again", "", "start the inspector again, after it has ended"),
    ),
    moves=(
        Key(("up", "k"), "↑ ↓ k j", "up", "", "the row above or below; in the sample, the line"),
        Key(("right", "l"), "← → h l", "right", "", "in the sample: from token to token"),
        Key(("left", "h"), "", "left", "", ""),
        Key(("pagedown",), "PgUp PgDn", "page_down", "", "a screen up or down; K and J: half of one"),
        Key(("pageup",), "", "page_up", "", ""),
        Key(("J", "shift+j"), "", "half_down", "", ""),
        Key(("K", "shift+k"), "", "half_up", "", ""),
        Key(("home",), "Home End", "first", "", "to the first, to the last one"),
    ),
)

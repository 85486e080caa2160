"""Every key of every screen, once. Bindings, the key bar and the help page are all made from this table."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

ScreenName = Literal["everywhere", "dashboard", "inspect", "picker", "profile", "runs", "compare", "replay"]

Need = Literal["control", "files", "inspect", "profile", "link"]
"""What a key can do nothing without: a run that takes commands, leave to write files, the machine where the run's data
and model are, a link to another machine.
"""

BESIDES: dict[ScreenName, ScreenName] = {"replay": "dashboard"}
"""Screens that have all keys of another one too, but those that they give another meaning."""

RESERVED: dict[str, str] = {
    "q": "leave",
    "question_mark": "help",
    "slash": "filter",
    "enter": "in",
    "escape": "one layer out",
    "tab": "next pane",
    "shift+tab": "previous pane",
    "ctrl+c": "asks before it leaves",
    **dict.fromkeys(("up", "down", "left", "right", "h", "j", "k", "l"), "move"),
    "home": "to the start",
    "end": "to the end",
}
"""Keys that mean the same on every screen. A screen never gives one of them another meaning."""


@dataclass(frozen=True, slots=True)
class Key:
    """`keys` in Textual's names; `shown` as people write it, empty where another entry speaks for this one too.

    `hint` is for the key bar, empty to stay out of it. Where the bar is too narrow, the later ones are left out.
    """

    screen: ScreenName
    keys: tuple[str, ...]
    shown: str
    action: str
    hint: str
    help: str
    hint_at_end: str | None = None
    """The hint once there is no run going, where it differs."""
    needs: Need | None = None
    """Without that the key is not offered, and says why when it is pressed."""


KEYS: tuple[Key, ...] = (
    Key("everywhere", ("q",), "q", "leave", "leave, run goes on", "leave; a run that is going goes on", "leave"),
    Key("dashboard", ("x",), "x", "stop", "stop…", "stop the run with a checkpoint (asks first)", "", "control"),
    Key(
        "dashboard",
        ("P", "shift+p"),
        "P",
        "pause",
        "",
        "pause the run after its step (asks first), or let it go on",
        needs="control",
    ),
    Key(
        "dashboard",
        ("C", "shift+c"),
        "C E",
        "checkpoint",
        "",
        "save a checkpoint now, evaluate now, between two steps",
        needs="control",
    ),
    Key("dashboard", ("E", "shift+e"), "", "evaluate", "", "", needs="control"),
    Key(
        "dashboard",
        ("r",),
        "r",
        "rate",
        "",
        "multiply the learning rate by a factor, from the next step on (asks first)",
        needs="control",
    ),
    Key(
        "dashboard",
        ("R", "shift+r"),
        "R",
        "reconnect",
        "",
        "of a run on another machine: try a lost connection again now",
        needs="link",
    ),
    Key(
        "dashboard",
        ("i",),
        "i",
        "inspect",
        "inspect",
        "look at the data: which tokens are trained, and what is odd",
        needs="inspect",
    ),
    Key(
        "dashboard",
        ("p",),
        "p",
        "profile",
        "profile",
        "its memory in detail, and what other values would do",
        needs="profile",
    ),
    Key("dashboard", ("b",), "b", "baseline", "", "another run below the curves, to compare with"),
    Key("dashboard", ("right", "l"), "← → h l", "right", "cursor", "move the cursor, whose step all charts show"),
    Key("dashboard", ("left", "h"), "", "left", "", ""),
    Key("dashboard", ("L", "shift+l", "shift+right"), "H L", "right_far", "", "move it by ten columns; Shift+← → too"),
    Key("dashboard", ("H", "shift+h", "shift+left"), "", "left_far", "", ""),
    Key("dashboard", ("n",), "n N", "next_mark", "marks", "to the next, the previous mark: alerts, saves, evaluations"),
    Key("dashboard", ("N", "shift+n"), "", "previous_mark", "", ""),
    Key("dashboard", ("a",), "a A", "next_alert", "", "to the newest alert, then the next, the previous one"),
    Key("dashboard", ("A", "shift+a"), "", "previous_alert", "", ""),
    Key("dashboard", ("plus", "equals_sign"), "+ - 0", "zoom_in", "zoom", "closer, farther away, the whole run"),
    Key("dashboard", ("minus",), "", "zoom_out", "", ""),
    Key("dashboard", ("0",), "", "zoom_all", "", ""),
    Key("dashboard", ("enter",), "Enter", "enter", "", "the data of the step under the cursor, token by token"),
    Key("dashboard", ("w",), "w", "write", "", "write a config with what the alert advises", needs="files"),
    Key(
        "dashboard",
        ("e",),
        "e",
        "export",
        "export",
        "write a chart, the steps or a report of the run into a file",
        needs="files",
    ),
    Key("dashboard", ("less_than_sign", "comma"), "< >", "pan_left", "", "the part before, after the one that is seen"),
    Key("dashboard", ("greater_than_sign", "full_stop"), "", "pan_right", "", ""),
    Key("dashboard", ("f",), "f", "follow", "follow", "follow the newest steps, or stay with these"),
    Key("dashboard", ("t",), "t", "axis", "x axis", "x axis by step, by tokens, by time, by epoch"),
    Key("dashboard", ("space",), "space", "hold", "hold view", "hold the view still; data is still collected"),
    Key("dashboard", ("m",), "m", "maximise", "maximise", "the pane in focus alone, and among the others again"),
    Key(
        "dashboard",
        ("1", "2", "3", "4", "5", "6", "7", "8", "9"),
        "1-9",
        "toggle_panel",
        "panels",
        "show or hide: loss, grad norm, tok/s, dt, memory, alerts, log, time parts, GPU",
    ),
    Key("dashboard", ("v",), "v", "panels", "", "all panels in a list: show, hide and move them"),
    Key(
        "dashboard",
        ("left_square_bracket",),
        "[ ]",
        "panel_back",
        "",
        "move the pane in focus back, on",
    ),
    Key("dashboard", ("right_square_bracket",), "", "panel_on", "", ""),
    Key(
        "dashboard",
        ("y",),
        "y",
        "log_axis",
        "log",
        "log axis of the chart in focus, else of loss and grad norm",
    ),
    Key(
        "dashboard",
        ("s",),
        "s",
        "smooth",
        "smooth",
        "smoothing: an average over the raw values with the constant in the title, or none",
    ),
    Key("inspect", ("escape",), "Esc", "out", "back", "one layer out: from the sample to the rows, then back"),
    Key("inspect", ("enter",), "Enter", "enter", "", "into the sample; on a finding of the audit: the rows with it"),
    Key("inspect", ("slash",), "/", "filter", "filter", "only rows with this text, flag:CODE, role:NAME or flagged"),
    Key("inspect", ("f",), "f F", "next_flagged", "flagged", "the next, the previous row with a warning or an error"),
    Key("inspect", ("F", "shift+f"), "", "previous_flagged", "", ""),
    Key("inspect", ("t",), "t", "boxes", "tokens", "borders and ids of the tokens, or their losses in a spike"),
    Key("inspect", ("o",), "o", "only_trained", "only trained", "only what is trained"),
    Key("inspect", ("r",), "r", "raw", "raw", "the rendered text as the model gets it, with all of the template"),
    Key("inspect", ("e",), "e b", "next_trained", "trained parts", "to the next, the previous trained part"),
    Key("inspect", ("b",), "", "previous_trained", "", ""),
    Key("inspect", ("w",), "w W", "next_worst", "", "in a spike: to the next worse token, and back"),
    Key("inspect", ("W", "shift+w"), "", "previous_worst", "", ""),
    Key(
        "inspect", ("right_square_bracket",), "[ ]", "next_row", "rows", "the previous, the next row, in the sample too"
    ),
    Key("inspect", ("left_square_bracket",), "", "previous_row", "", ""),
    Key("inspect", ("s",), "s", "start_again", "", "start the inspector again, after it has ended"),
    Key(
        "profile", ("right", "l"), "← →", "right", "change", "the next, the previous value of the setting; l and h too"
    ),
    Key("profile", ("left", "h"), "", "left", "", ""),
    Key("profile", ("1", "2", "3"), "1-3", "apply_change", "apply", "make one of the changes that would help"),
    Key(
        "profile",
        ("w",),
        "w",
        "write",
        "write YAML",
        "write the changes to a new YAML file, with all comments of this one",
    ),
    Key("profile", ("m",), "m", "measure", "measure", "take a few real steps on this machine's GPU (asks first)"),
    Key("profile", ("u",), "u", "undo", "undo", "take the last change back"),
    Key("profile", ("r",), "r", "reset", "reset", "everything as in the config"),
    Key("profile", ("S", "shift+s"), "S", "start", "start", "train it with these changes (asks first)"),
    Key("profile", ("a",), "a", "assumptions", "assumptions", "what the estimate rests on, in full sentences"),
    Key("profile", ("enter",), "Enter", "enter", "", "choose or write the value; on a change that would help: make it"),
    Key("profile", ("slash",), "/", "filter", "", "only settings with these words"),
    Key("profile", ("s",), "s", "start_again", "", "start the profiler again, after it has ended"),
    Key("picker", ("enter",), "Enter", "enter", "start", "train the config; of an invalid one, show what is wrong"),
    Key("picker", ("p",), "p", "profile", "profile", "its memory in detail, and what other values would do"),
    Key("picker", ("i",), "i", "inspect", "inspect", "its data: which tokens are trained, and what is odd"),
    Key("picker", ("e",), "e", "edit", "edit", "open it in $VISUAL or $EDITOR, and check it again afterwards"),
    Key("picker", ("m",), "m", "mark", "compare", "mark it; on another one: which keys differ, and what that does"),
    Key("picker", ("slash",), "/", "filter", "filter", "only configs with these words: name, model, data, invalid"),
    Key("picker", ("v",), "v", "gpu", "GPU", "hold the memory of all configs against another GPU"),
    Key("picker", ("r",), "r", "rescan", "look again", "look for configs again, and read them anew"),
    Key("runs", ("enter",), "Enter", "enter", "attach", "watch the run"),
    Key("runs", ("m",), "m", "mark", "mark", "mark it to compare it with others, up to six"),
    Key("runs", ("C", "shift+c"), "C", "compare", "compare", "lay the curves of the marked runs over each other"),
    Key("runs", ("s",), "s S", "sort", "sort", "sort by the next column; S: the other way round"),
    Key("runs", ("S", "shift+s"), "", "sort_backwards", "", ""),
    Key(
        "runs",
        ("slash",),
        "/",
        "filter",
        "filter",
        "only runs with these words: name, status:failed, model:NAME, tag:NAME",
    ),
    Key("runs", ("t",), "t", "tag", "tag", "its tags: words by which it is found again"),
    Key("runs", ("n",), "n", "note", "note", "a note on it"),
    Key(
        "runs", ("R", "shift+r"), "R", "resume", "resume", "go on with a run that was stopped or broke off (asks first)"
    ),
    Key("runs", ("v",), "v", "replay", "replay", "play a run that is over, as if it were going"),
    Key("runs", ("D", "shift+d"), "D", "delete", "delete", "delete it from the disk (asks first)"),
    Key("runs", ("r",), "r", "rescan", "look again", "look for runs again"),
    Key("compare", ("right", "l"), "← → h l", "right", "cursor", "move the cursor, at which all runs are read"),
    Key("compare", ("left", "h"), "", "left", "", ""),
    Key("compare", ("L", "shift+l", "shift+right"), "H L", "right_far", "", "move it by ten columns; Shift+← → too"),
    Key("compare", ("H", "shift+h", "shift+left"), "", "left_far", "", ""),
    Key("compare", ("t",), "t", "axis", "x axis", "lay them over each other by step, by tokens, by time"),
    Key("compare", ("b",), "b", "baseline", "baseline", "the run in focus is what the others are measured against"),
    Key("compare", ("d",), "d", "differences", "configs", "which keys of their configs differ, and what that does"),
    Key("compare", ("plus", "equals_sign"), "+ - 0", "zoom_in", "zoom", "closer, farther away, all of them"),
    Key("compare", ("minus",), "", "zoom_out", "", ""),
    Key("compare", ("0",), "", "zoom_all", "", ""),
    Key("compare", ("less_than_sign", "comma"), "< >", "pan_left", "", "the part before, after the one that is seen"),
    Key("compare", ("greater_than_sign", "full_stop"), "", "pan_right", "", ""),
    Key("compare", ("1", "2", "3", "4", "5", "6"), "1-6", "toggle_run", "runs", "show or hide the curves of a run"),
    Key("compare", ("m",), "m", "metric", "metric", "the next metric: loss, grad norm, tok/s, dt, learning rate"),
    Key("compare", ("y",), "y", "log_axis", "log", "log axis"),
    Key("compare", ("s",), "s", "smooth", "smooth", "smoothing, or the raw values"),
    Key("compare", ("enter",), "Enter", "enter", "", "watch the run in focus"),
    Key("replay", ("space",), "space", "play", "play, hold", "play, or hold it here"),
    Key(
        "replay", ("left_curly_bracket",), "{ }", "slower", "speed", "slower, faster: 1 to 1000 times as fast as it was"
    ),
    Key("replay", ("right_curly_bracket",), "", "faster", "", ""),
    Key("replay", ("colon",), ":", "seek", "go to step", "go to a step"),
    Key("replay", ("comma",), ", .", "step_back", "", "one step back, one step on"),
    Key("replay", ("full_stop",), "", "step_on", "", ""),
    Key("everywhere", ("g",), "g", "glyphs", "glyphs", "draw with braille, blocks or ASCII"),
    Key(
        "everywhere", ("c",), "c", "copy", "copy", "copy the pane in focus, or the whole screen, to clipboard and file"
    ),
    Key("dashboard", ("d",), "d", "detach", "detach", "leave and say how to come back; the run goes on", ""),
    Key("everywhere", ("tab",), "Tab", "next_pane", "", "next pane; Shift+Tab goes back"),
    Key("everywhere", ("shift+tab",), "", "previous_pane", "", ""),
    Key("dashboard", ("up", "k"), "↑ ↓ k j", "up", "", "scroll in the pane in focus, else in the log"),
    Key("inspect", ("up", "k"), "↑ ↓ k j", "up", "", "the row above or below; in the sample, the line"),
    Key("runs", ("up", "k"), "↑ ↓ k j", "up", "", "the run above or below; in the details, the line"),
    Key("compare", ("up", "k"), "↑ ↓ k j", "up", "", "the run above or below"),
    Key("everywhere", ("down", "j"), "", "down", "", ""),
    Key("picker", ("up", "k"), "↑ ↓ k j", "up", "", "the config above or below; in the details, the line"),
    Key("profile", ("up", "k"), "↑ ↓ k j", "up", "", "the setting above or below; with the focus on them, the changes"),
    Key("inspect", ("right", "l"), "← → h l", "right", "", "in the sample: from token to token"),
    Key("inspect", ("left", "h"), "", "left", "", ""),
    Key("inspect", ("pagedown",), "PgUp PgDn", "page_down", "", "a screen up or down; K and J: half of one"),
    Key("inspect", ("pageup",), "", "page_up", "", ""),
    Key("inspect", ("J", "shift+j"), "", "half_down", "", ""),
    Key("inspect", ("K", "shift+k"), "", "half_up", "", ""),
    Key("picker", ("pagedown",), "PgUp PgDn", "page_down", "", "a screen up or down"),
    Key("picker", ("pageup",), "", "page_up", "", ""),
    Key("runs", ("pagedown",), "PgUp PgDn", "page_down", "", "a screen up or down"),
    Key("runs", ("pageup",), "", "page_up", "", ""),
    Key("dashboard", ("slash",), "/", "filter", "", "only lines of the log with a text"),
    Key("dashboard", ("home",), "Home End", "first", "", "to the first, to the newest step; in the log, to that line"),
    Key("inspect", ("home",), "Home End", "first", "", "to the first, to the last one"),
    Key("picker", ("home",), "Home End", "first", "", "to the first, to the last config"),
    Key("profile", ("home",), "Home End", "first", "", "to the first, to the last setting"),
    Key("runs", ("home",), "Home End", "first", "", "to the first, to the last run"),
    Key("compare", ("home",), "Home End", "first", "", "to the start, to the end of the longest run"),
    Key("everywhere", ("end",), "", "last", "", ""),
    Key(
        "dashboard",
        ("escape",),
        "Esc",
        "out",
        "",
        "one layer out: window, panel alone, alert, filter, cursor, zoom, focus",
    ),
    Key("picker", ("escape",), "Esc", "out", "", "one layer out: from the details, the mark, the filter"),
    Key("runs", ("escape",), "Esc", "out", "", "one layer out: from the details, the marks, the filter"),
    Key("compare", ("escape",), "Esc", "out", "", "one layer out: the cursor, the zoom, then back to the list"),
    Key("profile", ("escape",), "Esc", "out", "", "stop measuring; else one layer out: to the settings, then back"),
    Key("everywhere", ("ctrl+c",), "Ctrl-C", "ask_leave", "", "ask whether to leave, to stop the run, or to stay"),
    Key("everywhere", ("question_mark",), "?", "help", "help", "this page"),
)


def keys_of(screen: ScreenName, lacking: Collection[Need] = ()) -> Iterator[Key]:
    """The keys that work on the screen: its own, and those that work everywhere; none that needs what is lacking."""
    own = {key for entry in KEYS if entry.screen == screen for key in entry.keys}
    besides = BESIDES.get(screen)
    for entry in KEYS:
        if entry.needs in lacking:
            continue
        if entry.screen in (screen, "everywhere"):
            yield entry
        elif entry.screen == besides and (left := tuple(key for key in entry.keys if key not in own)):
            yield replace(entry, keys=left)


def bindings_of(screen: ScreenName) -> Iterator[tuple[str, str, str]]:
    """Textual's bindings: key, action, description. A key out of several for one action is the action's argument."""
    for entry in keys_of(screen):
        several = entry.action in ("toggle_panel", "toggle_run", "apply_change")
        for key in entry.keys:
            yield key, f"{entry.action}({key!r})" if several else entry.action, entry.help


def hints_of(screen: ScreenName, going: bool = True, lacking: Collection[Need] = ()) -> list[tuple[str, str]]:
    """Key and meaning for the key bar, help last. `going` says that there is a run which the keys act on."""
    hints = ((entry.shown, _hint(entry, going)) for entry in keys_of(screen, lacking))
    return [(shown, hint) for shown, hint in hints if hint]


def _hint(entry: Key, going: bool) -> str:
    return entry.hint if going or entry.hint_at_end is None else entry.hint_at_end


def fitting(hints: Sequence[tuple[str, str]], columns: int) -> list[tuple[str, str]]:
    """The hints that fit into a line; the later ones are left out first, but the last one (help) always stays."""
    kept = list(hints)
    while len(kept) > 1 and sum(len(key) + len(meaning) + 3 for key, meaning in kept) - 1 > columns:
        del kept[-2]
    return kept

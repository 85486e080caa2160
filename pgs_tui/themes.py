"""Colours: dark, light, and the terminal's own. States are told by sign and word too, so none depends on them."""

from __future__ import annotations

from textual.theme import BUILTIN_THEMES, Theme

from pgs_tui.look import ThemeName

_DARK = {
    "ink-text": "#d5d9e0",
    "ink-dim": "#7d8694",
    "ink-frame": "#39414d",
    "ink-focus": "#6ea8fe",
    "ink-title": "#aab3c0",
    "ink-value": "#f2f4f8",
    "ink-accent": "#6ea8fe",
    "ink-raw": "#46618c",
    "ink-good": "#5ec8b2",
    "ink-warn": "#f0a35e",
    "ink-bad": "#ff7a90",
    "ink-key": "#9fc3ff",
}
_LIGHT = {
    "ink-text": "#2a2f37",
    "ink-dim": "#6b7482",
    "ink-frame": "#cbd0d8",
    "ink-focus": "#1f5fc4",
    "ink-title": "#4a525e",
    "ink-value": "#0d1117",
    "ink-accent": "#1f5fc4",
    "ink-raw": "#a9c0e4",
    "ink-good": "#0f7d68",
    "ink-warn": "#b25a00",
    "ink-bad": "#c0203f",
    "ink-key": "#5a8ae0",
}
_TERMINAL = {
    "ink-text": "ansi_default",
    "ink-dim": "ansi_default",
    "ink-frame": "ansi_bright_black",
    "ink-focus": "ansi_blue",
    "ink-title": "ansi_default",
    "ink-value": "ansi_default",
    "ink-accent": "ansi_blue",
    "ink-raw": "ansi_cyan",
    "ink-good": "ansi_green",
    "ink-warn": "ansi_yellow",
    "ink-bad": "ansi_red",
    "ink-key": "ansi_blue",
}

DARK = Theme(
    name="pgs-dark",
    primary="#6ea8fe",
    secondary="#5ec8b2",
    warning="#f0a35e",
    error="#ff7a90",
    success="#5ec8b2",
    accent="#6ea8fe",
    foreground="#d5d9e0",
    background="#12151a",
    surface="#191d24",
    panel="#191d24",
    variables=_DARK,
)
LIGHT = Theme(
    name="pgs-light",
    primary="#1f5fc4",
    secondary="#0f7d68",
    warning="#b25a00",
    error="#c0203f",
    success="#0f7d68",
    accent="#1f5fc4",
    foreground="#2a2f37",
    background="#fbfbfa",
    surface="#f1f2f4",
    panel="#f1f2f4",
    dark=False,
    variables=_LIGHT,
)
TERMINAL = Theme(
    name="pgs-terminal",
    ansi=True,
    primary="ansi_blue",
    secondary="ansi_cyan",
    warning="ansi_yellow",
    error="ansi_red",
    success="ansi_green",
    accent="ansi_blue",
    foreground="ansi_default",
    background="ansi_default",
    surface="ansi_default",
    panel="ansi_default",
    boost="ansi_default",
    variables={**BUILTIN_THEMES["ansi-dark"].variables, **_TERMINAL},
)
THEMES: dict[ThemeName, Theme] = {"dark": DARK, "light": LIGHT, "terminal": TERMINAL}

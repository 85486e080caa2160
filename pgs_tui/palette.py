"""The colours of every role in every theme. States are told by sign and word too, so none depends on a colour."""

from __future__ import annotations

from pgs_tui.look import ThemeName

PALETTES: dict[ThemeName, dict[str, str]] = {
    "dark": {
        "background": "#12151a",
        "surface": "#191d24",
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
    },
    "light": {
        "background": "#fbfbfa",
        "surface": "#f1f2f4",
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
    },
    "terminal": {
        "background": "ansi_default",
        "surface": "ansi_default",
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
    },
}

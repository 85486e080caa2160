"""How things are drawn in this terminal: theme, characters, mouse. From arguments, then the environment."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeVar, get_args

ThemeName = Literal["dark", "light", "terminal"]
GlyphName = Literal["braille", "blocks", "ascii"]
THEME_NAMES: tuple[ThemeName, ...] = get_args(ThemeName)
GLYPH_NAMES: tuple[GlyphName, ...] = get_args(GlyphName)
_PLAIN_FONTS = ("linux", "vt100", "vt220", "ansi")
"""Terminals whose fonts have no braille dots, and often no rounded corners."""

Name = TypeVar("Name", bound=str)


@dataclass(frozen=True, slots=True)
class Look:
    """`ascii_only`: the terminal's encoding has no other characters, so `g` cannot leave ASCII."""

    theme: ThemeName = "dark"
    glyphs: GlyphName = "braille"
    ascii_only: bool = False
    mouse: bool = False


def look_of(environment: Mapping[str, str], encoding: str, theme: ThemeName | None = None, mouse: bool = False) -> Look:
    """The look for a terminal with this environment and output encoding.

    `theme` from the command line goes before `PGS_TUI_THEME`; `NO_COLOR` and 16-colour terminals get the terminal's
    own colours; `COLORFGBG` tells of a light background. `PGS_TUI_GLYPHS` chooses the characters; without it consoles
    whose fonts are plain get ASCII. The mouse is off
    unless asked for: the terminal's own selection works then, and a link that drops leaves no mouse codes behind.
    Raises ValueError for a name that is none.
    """
    ascii_only = encoding.lower().replace("-", "").replace("_", "") not in ("utf8", "utf8mb4")
    wanted_theme = theme or _choice(environment, "PGS_TUI_THEME", THEME_NAMES)
    plain_font = environment.get("TERM", "") in _PLAIN_FONTS
    glyphs = _choice(environment, "PGS_TUI_GLYPHS", GLYPH_NAMES) or ("ascii" if plain_font else "braille")
    return Look(
        theme="terminal" if environment.get("NO_COLOR") else wanted_theme or _fitting_theme(environment),
        glyphs="ascii" if ascii_only else glyphs,
        ascii_only=ascii_only,
        mouse=mouse,
    )


def _choice(environment: Mapping[str, str], variable: str, names: tuple[Name, ...]) -> Name | None:
    text = environment.get(variable, "")
    if not text:
        return None
    found = next((name for name in names if name == text), None)
    if found is None:
        raise ValueError(f"{variable}={text}: no such choice; use one of {', '.join(names)}")
    return found


def _fitting_theme(environment: Mapping[str, str]) -> ThemeName:
    if environment.get("TERM", "") in ("linux", "vt100", "vt220", "ansi", "screen", "xterm-16color"):
        return "terminal" if not environment.get("COLORTERM") else "dark"
    background = environment.get("COLORFGBG", "").rpartition(";")[2]
    return "light" if background in ("7", "15") else "dark"

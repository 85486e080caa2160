"""The palettes as Textual's themes."""

from __future__ import annotations

from textual.theme import BUILTIN_THEMES, Theme

from pgs_tui.appearance.look import ThemeName
from pgs_tui.appearance.palette import PALETTES


def _theme(name: ThemeName) -> Theme:
    colours = PALETTES[name]
    own = name == "terminal"
    return Theme(
        name=f"pgs-{name}",
        ansi=own,
        dark=name != "light",
        primary=colours["ink-accent"],
        secondary=colours["ink-good"],
        warning=colours["ink-warn"],
        error=colours["ink-bad"],
        success=colours["ink-good"],
        accent=colours["ink-accent"],
        foreground=colours["ink-text"],
        background=colours["background"],
        surface=colours["surface"],
        panel=colours["surface"],
        boost=colours["surface"] if own else None,
        variables={**(BUILTIN_THEMES["ansi-dark"].variables if own else {}), **colours},
    )


THEMES: dict[ThemeName, Theme] = {name: _theme(name) for name in PALETTES}

"""Widgets that are drawn as lines of spans. Only the cells that changed are sent to the terminal."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest
from typing import Self

from rich.segment import Segment
from rich.style import Style
from textual.color import Color
from textual.geometry import Region, Size
from textual.strip import Strip
from textual.widget import Widget

from pgs_tui.appearance.look import GlyphName
from pgs_tui.drawing.lines import Line, Role, changed_runs, fit, line, to_ascii

BOLD: frozenset[Role] = frozenset({"title", "value", "bad", "heat-4"})
DIM: frozenset[Role] = frozenset({"dim", "raw", "frame", "template", "cut"})
HEAVY: frozenset[Role] = frozenset({"lit", "lit-sign", "lit-warn", "heat-2"})
UNDERLINED: frozenset[Role] = frozenset({"lit", "lit-sign", "lit-warn", "heat-3", "heat-4"})
SLANTED: frozenset[Role] = frozenset({"heat-1"})
REVERSED: frozenset[Role] = frozenset({"cursor"})
"""Told apart by weight where there are no colours but the terminal's own: all of these but BOLD."""
STRUCK: frozenset[Role] = frozenset({"cut"})


class Drawn(Widget):
    """Subclasses say what they look like in `draw`; `redraw` after a change of what they show."""

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:
        super().__init__(id=id, classes=classes, markup=False)
        self.glyphs: GlyphName = "braille"
        self._lines: tuple[Line, ...] = ()
        self._size_drawn: Size | None = None
        self._role_styles: dict[Role, Style] = {}
        self._look_drawn: tuple[Style, str] | None = None
        self._drawn_before: list[Line] = []
        self._fitted: tuple[Line, ...] = ()
        self._fitted_how: tuple[int, GlyphName] | None = None
        self._painted_lines: tuple[Line, ...] = ()
        self._painted: list[Strip] = []

    def draw(self, width: int, height: int) -> Sequence[Line]:
        """The widget as at most `height` lines; they are cut or filled to `width` cells."""
        raise NotImplementedError

    def redraw(self) -> None:
        """Draw again and repaint the cells that differ. What is hidden is drawn when it is seen again."""
        size = self.size
        if self._size_drawn != size:  # never painted at this size: painting will draw
            self._size_drawn = None  # also where it comes back in the size that it had before
            return
        if not self.display:
            self._size_drawn = None
            super().refresh()
            return
        before, self._lines = self._lines, self._drawn(*size)
        changed = [
            Region(first, row, behind - first, 1)
            for row, (old, new) in enumerate(zip_longest(before, self._lines, fillvalue=()))
            if old is not new
            for first, behind in changed_runs(old, new)
        ]
        if changed:
            self.refresh(*changed)

    def refresh(self, *regions: Region, repaint: bool = True, layout: bool = False, recompose: bool = False) -> Self:
        """Repaint regions, or, without any, what differs; Textual asks so on every change of the focus."""
        if regions or layout or recompose or not repaint or self._is_stale():
            return super().refresh(*regions, repaint=repaint, layout=layout, recompose=recompose)
        self.redraw()
        return self

    def _is_stale(self) -> bool:
        """Painted in another size, or with other colours."""
        return self._size_drawn != self.size or self._look_drawn != (self.rich_style, self.app.theme)

    def show_with(self, glyphs: GlyphName) -> None:
        """Draw with these characters from now on."""
        if glyphs != self.glyphs:
            self.glyphs = glyphs
            self.redraw()

    @property
    def lines(self) -> tuple[Line, ...]:
        """What is on the screen now."""
        return self._lines

    def render_lines(self, crop: Region) -> list[Strip]:
        """A part of the widget, for Textual, which otherwise looks at each line for borders, tints and the like.

        Of all that a style sheet can say we have the background alone.
        """
        if self._size_drawn != self.size:
            self._size_drawn, self._lines = self.size, self._drawn(*self.size)
        if self._painted_lines is not self._lines:
            self._paint()
        strips = self._painted[crop.y : crop.bottom]
        whole = (crop.x, crop.right) == (0, self.size.width)
        return strips if whole else [strip.crop(crop.x, crop.right) for strip in strips]

    def _paint(self) -> None:
        """A strip of each line that there was none of."""
        width = self.size.width
        known = {id(spans): strip for spans, strip in zip(self._painted_lines, self._painted, strict=True)}
        self._painted = [known.get(id(spans)) or self._painted_line(spans, width) for spans in self._lines]
        self._painted_lines, self._look_drawn = self._lines, (self.rich_style, self.app.theme)

    def _painted_line(self, spans: Line, width: int) -> Strip:
        style = self._style
        return Strip([Segment(text, style(role)) for text, role in spans], width)

    def notify_style_update(self) -> None:
        """The theme or a class changed."""
        self._role_styles.clear()
        self._painted_lines, self._painted = (), []
        super().notify_style_update()

    def _drawn(self, width: int, height: int) -> tuple[Line, ...]:
        if width <= 0 or height <= 0:
            return ()
        drawn = list(self.draw(width, height)[:height])
        drawn += [line()] * (height - len(drawn))
        how = (width, self.glyphs)
        known = zip(self._drawn_before, self._fitted, strict=True) if how == self._fitted_how else ()
        same = [after if spans is before else None for spans, (before, after) in zip(drawn, known, strict=False)]
        same += [None] * (height - len(same))
        pairs = zip(drawn, same, strict=True)
        self._fitted = tuple([self._fit(spans, width) if fitted is None else fitted for spans, fitted in pairs])
        self._drawn_before, self._fitted_how = drawn, how
        return self._fitted

    def _fit(self, spans: Line, width: int) -> Line:
        fitted = fit(spans, width)
        return to_ascii(fitted) if self.glyphs == "ascii" else fitted

    def _style(self, role: Role) -> Style:
        style = self._role_styles.get(role)
        if style is None:
            ink = Color.parse(self.app.theme_variables[f"ink-{role}"])
            paper = self.app.theme_variables.get(f"paper-{role}")
            own = self.app.native_ansi_color
            style = Style(
                color=ink.rich_color,
                bgcolor=Color.parse(paper).rich_color if paper else self.rich_style.bgcolor,
                bold=role in BOLD or (own and role in HEAVY) or None,
                dim=(own and role in DIM) or None,
                underline=(own and role in UNDERLINED) or None,
                italic=(own and role in SLANTED) or None,
                reverse=(own and role in REVERSED) or None,
                strike=role in STRUCK or None,
            )
            style = self._role_styles[role] = self._filtered(style)
        return style

    def _filtered(self, style: Style) -> Style:
        """The style as Textual's filters make it, such as that of NO_COLOR: once for each role, not for each text."""
        _, background = self.background_colors
        segments = [Segment("", style)]
        for line_filter in self.get_line_filters():
            segments = line_filter.apply(segments, background)
        return segments[0].style or Style.null()

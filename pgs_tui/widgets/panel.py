"""A frame with a title and a value in its upper edge and a summary in its lower one."""

from __future__ import annotations

from collections.abc import Sequence

from pgs_tui.drawing.lines import Line, Role, first_fitting, fit, joined, line, line_width, spread
from pgs_tui.widgets.drawn import Drawn

SMALLEST_FRAME = 3
"""Rows below which a panel is a single line without a frame."""
NARROWEST_FRAME = 12
FRAME: Role = "frame"


class Panel(Drawn, can_focus=True):
    """Subclasses fill it by `title`, `value`, `summary` and `body`. Too small for its frame, it becomes one line."""

    framed = True

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:
        super().__init__(id=id, classes=classes)
        self._inside: list[Line] = []
        self._inside_framed: list[Line] = []
        self._inside_width = 0
        self._edges: dict[str, tuple[tuple[object, ...], Line]] = {}
        """The edges as they were drawn last, and of what, by their left corners."""

    def title(self) -> Line:
        """The left of the upper edge."""
        return ()

    def value(self) -> Line:
        """The right of the upper edge."""
        return ()

    def summary(self) -> Sequence[Line]:
        """The left of the lower edge, the fullest form first; the first that fits is taken."""
        return ()

    def body(self, width: int, height: int) -> Sequence[Line]:
        """What stands inside the frame."""
        return ()

    def brief(self, width: int) -> Line:
        """The whole panel as one line."""
        head = [self.title(), self.value()]
        return first_fitting([joined([*head, form], "  ") for form in (*self.summary(), ())], width)

    def watch_has_focus(self, _has_focus: bool) -> None:
        """The upper edge shows the focus, in the refresh that follows. No style sheet of ours tells it.

        Textual would work out all styles of the panel here, which takes as long as to draw it.
        """

    def draw(self, width: int, height: int) -> Sequence[Line]:
        """The frame around the body, or the brief form where there is no room for it."""
        if not self.framed or height < SMALLEST_FRAME or width < NARROWEST_FRAME:
            brief = line((" ", "text"), *self.brief(width - 1))
            return [brief, *([] if height < 2 else self.body(width, height - 1))]
        inner = width - 4
        body = list(self.body(inner, height - 2)[: height - 2])
        body += [()] * (height - 2 - len(body))
        return [
            self._upper_edge(width),
            *self._between_sides(body, inner),
            self._edge("╰─", first_fitting(self.summary(), width - 6), (), "─╯", width),
        ]

    def _between_sides(self, body: list[Line], inner: int) -> list[Line]:
        """Each row between the frame's sides; a row that is the same object as the last time is not made again."""
        known = zip(self._inside, self._inside_framed, strict=True) if inner == self._inside_width else ()
        framed = [after if row is before else None for row, (before, after) in zip(body, known, strict=False)]
        framed += [None] * (len(body) - len(framed))
        side, end = ("│ ", FRAME), (" │", FRAME)
        self._inside_framed = [
            line(side, *fit(row, inner), end) if same is None else same for row, same in zip(body, framed, strict=True)
        ]
        self._inside, self._inside_width = body, inner
        return self._inside_framed

    def _upper_edge(self, width: int) -> Line:
        """The one line that tells the focus: with the whole frame, moving it would repaint both panels."""
        if self.has_focus:
            return self._edge("╭━", self.title(), self.value(), "━╮", width, "focus", "━")
        return self._edge("╭─", self.title(), self.value(), "─╮", width)

    def _edge(
        self, left: str, text: Line, value: Line, right: str, width: int, role: Role = FRAME, rule_sign: str = "─"
    ) -> Line:
        what = (text, value, width, role)
        known = self._edges.get(left)
        if known is None or known[0] != what:
            known = self._edges[left] = what, _edge(left, text, value, right, width, role, rule_sign)
        return known[1]


def _edge(left: str, text: Line, value: Line, right: str, width: int, role: Role, rule_sign: str) -> Line:
    room = width - len(left) - len(right)
    tail = line((" ", "text"), *value, (" ", "text")) if value else ()
    head = line((" ", "text"), *text, (" ", "text")) if text else ()
    if line_width(head) + line_width(tail) > room:
        head = fit(head, max(room - line_width(tail), 0))
    rule = room - line_width(head) - line_width(tail)
    if rule < 0:
        return fit(spread(text, value, width), width)
    return line((left, role), *head, (rule_sign * rule, role), *tail, (right, role))

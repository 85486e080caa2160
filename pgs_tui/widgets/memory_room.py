"""Whether it fits: the verdict in words, and all that a run takes as one bar against the GPU's size."""

from __future__ import annotations

from collections.abc import Sequence

from pgs_tui.drawing.lines import Line, Role, Span, joined, line, line_width, wrapped_into
from pgs_tui.format import gib, plain
from pgs_tui.profiling.shapes import GpuRoom, Profile
from pgs_tui.widgets.bars import Part, scaled_bar
from pgs_tui.widgets.component_colours import parts_of
from pgs_tui.widgets.panel import NARROWEST_FRAME, SMALLEST_FRAME, Panel

SIGNS: dict[str, tuple[str, Role]] = {
    "fits": ("✔", "good"),
    "tight": ("▲", "warn"),
    "does not fit": ("✖", "bad"),
    "unknown": ("○", "dim"),
}
HELD: Role = "frame"


class MemoryRoom(Panel):
    """Show an estimate with `show`, or `say` why there is none."""

    def __init__(self, *, id: str) -> None:
        super().__init__(id=id)
        self._profile: Profile | None = None
        self._said = ""
        self._is_bad = False

    def show(self, profile: Profile | None, said: str = "", bad: bool = False) -> None:
        """Show the estimate; what is said stands in place of its verdict."""
        if (profile, said, bad) != (self._profile, self._said, self._is_bad):
            self._profile, self._said, self._is_bad = profile, said, bad
            self.redraw()

    def title(self) -> Line:
        gpu = self._profile.gpu if self._profile else None
        return joined([line(("memory", "title")), line((plain(gpu.name), "text")) if gpu else ()])

    def value(self) -> Line:
        profile = self._profile
        if profile is None:
            return ()
        total = f" of {gib(profile.gpu.total)}" if profile.gpu else ""
        return line((gib(profile.total), "value"), (f"{total} GiB", "dim"))

    def summary(self) -> Sequence[Line]:
        profile = self._profile
        if profile is None:
            return ()
        peak = line(("at the peak ", "dim"), (gib(profile.peak), "text"), (f" in {plain(profile.decides)}", "dim"))
        held = line((" · reserved ", "dim"), (gib(profile.reserved), "text"))
        context = line((" · CUDA itself ", "dim"), (gib(max(profile.total - profile.reserved, 0.0)), "text"))
        others = self._others(profile)
        return [(*peak, *held, *context, *others), (*peak, *held, *others), (*peak, *held), peak]

    def draw(self, width: int, height: int) -> Sequence[Line]:
        if self.framed and height >= SMALLEST_FRAME and width >= NARROWEST_FRAME:
            return super().draw(width, height)
        rows = self._verdict(width - 2, height if self._is_bad else 1)  # a refusal is worth more than the bar
        return [*(line((" ", "text"), *row) for row in rows), self._bar(width)][:height]

    def body(self, width: int, height: int) -> Sequence[Line]:
        below = [self._bar(width), *([self._legend(width)] if height >= 3 else [])] if self._profile else []
        return [*self._verdict(width, max(height - len(below), 1)), *below][:height]

    def _verdict(self, width: int, height: int) -> list[Line]:
        """The sentence behind its sign, in up to `height` lines."""
        sign, role, text = self._spoken()
        rows = wrapped_into(plain(" ".join(text.split())), max(width - 2, 1), height, role)
        return [line((f"{sign} " if place == 0 else "  ", role), *row) for place, row in enumerate(rows)] or [()]

    def _spoken(self) -> tuple[str, Role, str]:
        if self._said:
            return ("✖", "bad", self._said) if self._is_bad else ("○", "dim", self._said)
        if self._profile is None:
            return "○", "dim", "no estimate yet"
        verdict = self._profile.verdict
        return *SIGNS.get(verdict.word, SIGNS["unknown"]), " · ".join((verdict.sentence, *verdict.warnings))

    def _bar(self, width: int) -> Line:
        """Own parts from the left, what others hold at the right; a bar that needs more than there is says so."""
        profile = self._profile
        if profile is None:
            return line(("░" * width, "frame"))
        parts = self._parts(profile)
        gpu = profile.gpu
        if gpu is None:
            return scaled_bar(parts, profile.total, width)
        whole = max(gpu.total, profile.total + gpu.held)
        held = round(gpu.held / whole * width) if gpu.held > 0.05 else 0
        own = self._own(parts, profile, gpu, width - held)
        return (*own, *line(("▒" * held, HELD)))

    @staticmethod
    def _own(parts: tuple[Part, ...], profile: Profile, gpu: GpuRoom, width: int) -> Line:
        """What is needed within what is free, or beyond it."""
        if profile.total <= gpu.free:
            return scaled_bar(parts, gpu.free, width)
        inside, outside = _cut(
            scaled_bar(parts, profile.total, width - 1), round(gpu.free / profile.total * (width - 1))
        )
        over, room = f" +{gib(profile.total - gpu.free)}", line_width(outside)
        beyond = over.ljust(room, "░") if room >= len(over) else "░" * room
        return (*inside, *line(("┃", "bad"), (beyond, "bad")))

    @staticmethod
    def _parts(profile: Profile) -> tuple[Part, ...]:
        """The components, what the allocator holds but does not use, and the GPU's context."""
        spare = Part("spare", profile.reserved - profile.peak, "dim")
        return (*parts_of(profile.components), spare, Part("CUDA", profile.total - profile.reserved, "frame"))

    def _legend(self, width: int) -> Line:
        assert self._profile is not None, "there is nothing to explain"
        spans: list[Span] = []
        for part in self._parts(self._profile):
            if part.amount < 0.005:
                continue
            entry: Line = line((" " if spans else "", "text"), ("■ ", part.role), (f"{part.name} ", "dim"))
            entry = (*entry, (gib(part.amount), "text"))
            if line_width(tuple(spans)) + line_width(entry) > width:
                break
            spans += entry
        return tuple(spans)

    @staticmethod
    def _others(profile: Profile) -> Line:
        gpu = profile.gpu
        if gpu is None or not gpu.others:
            return ()
        most = max(gpu.others, key=lambda one: one.gib)
        who = f"pid {most.pid}" if most.pid is not None else "others"
        more = f" and {len(gpu.others) - 1} more" if len(gpu.others) > 1 else ""
        return line((" · held by ", "dim"), (f"{who} {plain(most.name)}".strip(), "text"), (f"{more} ", "dim"))


def _cut(spans: Line, cells: int) -> tuple[Line, Line]:
    left: list[Span] = []
    right: list[Span] = []
    for text, role in spans:  # every character of a bar has one cell
        room = max(cells - sum(len(one) for one, _ in left), 0)
        left += [(text[:room], role)] if text[:room] else []
        right += [(text[room:], role)] if text[room:] else []
    return tuple(left), tuple(right)

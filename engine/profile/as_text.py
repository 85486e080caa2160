"""A profile as text for people: the verdict, where the memory goes, what to change, what it takes in time."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence
from pathlib import Path

from engine.memory.estimate.phases import COMPONENTS
from engine.printing.paper import Ink, Paper
from engine.profile.amounts import dollars, duration, operations, setting
from engine.profile.comparison import compare, comparison_lines, sentence
from engine.profile.document import Fitting, Measured, Profile

WIDTH = 80
_NARROWEST, _NAME, _NUMBER = 40, 18, 8
_STYLES = {"fits": "trained", "tight": "warning", "does not fit": "error", "unknown": "heading"}
_WHAT_CHANGES_DO = {
    "fits": "What would use the room",
    "tight": "What would make it fit with room to spare, the cheapest first",
    "does not fit": "What would make it fit, the cheapest first",
    "unknown": "What would change it",
}
_TIED = "\N{NO-BREAK SPACE}"
_EIGHTHS = " ▏▎▍▌▋▊▉"


class ProfilePrinter:
    """Prints one profile on a paper of 80 columns, or fewer where the terminal has fewer."""

    def __init__(self, paper: Paper, is_full: bool) -> None:
        self._paper = paper
        self._is_full = is_full
        self._width = max(_NARROWEST, min(WIDTH, paper.width or WIDTH)) - 1
        self._is_plain = paper.signs.is_plain

    def print(self, profile: Profile) -> None:
        self._headline(profile)
        self._verdict(profile)
        self._components(profile)
        self._phases(profile)
        if profile.measured is not None:
            self._measured(profile.measured)
        self._sizes(profile.sizes)
        self._changes(profile)
        self._work(profile)
        self._assumptions(profile)

    def _headline(self, profile: Profile) -> None:
        estimate, show = profile.estimate, self._paper.signs.show_in_line
        share = estimate.trained / estimate.parameters if estimate.parameters else 0
        self._paragraph(f"{show(profile.model)}, {show(_from_here(profile.config))}", style="heading")
        what = "all" if estimate.trained == estimate.parameters else f"{estimate.trained:,} ({share:.0%}) of"
        self._paragraph(f"trains {what} {estimate.parameters:,} weights")
        if profile.room is None:
            self._paragraph(profile.why_no_room)
        else:
            room = profile.room
            self._paragraph(f"on {show(room.name)}: {room.free_gib:.1f} of {room.total_gib:.1f} GiB are free")
            if room.note:
                self._paragraph(show(room.note))

    def _verdict(self, profile: Profile) -> None:
        verdict = profile.verdict
        self._paper.print()
        self._paragraph(verdict.sentence, style=_STYLES[verdict.word])
        for warning in verdict.warnings:
            self._paragraph(f"warning: {warning}", style="warning")

    def _components(self, profile: Profile) -> None:
        estimate, room = profile.estimate, profile.room
        against = room.total_gib if room is not None else estimate.total_gib
        self._heading(f"Where it goes, GiB (in the phase that decides: {estimate.decides})")
        rows = [(name, size, "") for name, size in estimate.components.items()]
        rows.append(("peak", estimate.peak_gib, "what its tensors take"))
        rows.append(("reserved", estimate.reserved_gib, "what the allocator holds for them"))
        whole = f"with {estimate.context_gib:.1f} of CUDA itself"
        if room is not None:
            whole += f"; {room.free_gib:.1f} of {room.total_gib:.1f} are free"
        rows.append(("total", estimate.total_gib, whole))
        for name, size, meaning in rows:
            is_sum = bool(meaning)
            head = f"{name:<{_NAME}}{size:>{_NUMBER}.2f}  "
            if is_sum:
                self._paragraph(f"{head}{meaning}", margin=len(head), style="heading" if name == "total" else "")
            else:
                self._paper.print(head, Ink(self._bar(size / against, self._width - len(head)), "info"))

    def _bar(self, share: float, columns: int) -> str:
        """A bar of that share of the columns, at least a sign long."""
        share = min(1.0, share)
        if self._is_plain:
            return "#" * max(1, round(share * columns))
        eighths = max(1, round(share * columns * 8))
        return "█" * (eighths // 8) + _EIGHTHS[eighths % 8].strip()

    def _phases(self, profile: Profile) -> None:
        estimate = profile.estimate
        self._heading("Phase by phase, GiB")
        room = (self._width - _NAME) // max(1, len(estimate.phases))
        mark = "*" if _longest_word(estimate.decides) + 2 <= room else " *"
        names = [f"{phase.name}{mark if phase.name == estimate.decides else ''}" for phase in estimate.phases]
        width = max(_NUMBER, min(max(map(_longest_word, names)) + 1, room))
        for line in _in_columns(names, width):
            self._paper.print((" " * _NAME + line).rstrip())
        there = {name for phase in estimate.phases for name in phase.parts}
        for name in (name for name in COMPONENTS if name in there):
            sizes = (phase.parts.get(name, 0.0) for phase in estimate.phases)
            cells = (f"{size:>{width}.2f}" if size else f"{'-':>{width}}" for size in sizes)
            self._paper.print(f"{name:<{_NAME}}{''.join(cells)}")
        peaks = "".join(f"{phase.peak_gib:>{width}.2f}" for phase in estimate.phases)
        self._paper.print(Ink(f"{'peak':<{_NAME}}{peaks}", "heading"))
        self._paper.print(Ink("* decides", "faint"))

    def _measured(self, measured: Measured) -> None:
        self._heading("Estimated and measured")
        self._paragraph(sentence(measured.estimate, measured.measurement))
        for line in comparison_lines(compare(measured.estimate, measured.measurement)):
            self._paper.print(line)
        for note in measured.measurement.notes:
            self._paragraph(f"note: {note}", margin=6)

    def _sizes(self, sizes: Sequence[Fitting]) -> None:
        if not sizes:
            return
        self._heading("On GPUs with nothing else on them")
        by_word: dict[str, list[str]] = {}
        for size in sizes:
            by_word.setdefault(size.word, []).append(size.name.replace(" ", _TIED))
        for word, names in by_word.items():
            named = ", ".join(names) if len(by_word) > 1 else f"all {len(names)} GPUs that are known"
            self._paragraph(f"{word + ':':<14}{named}", margin=14)

    def _changes(self, profile: Profile) -> None:
        if not profile.changes:
            return
        self._heading(_WHAT_CHANGES_DO[profile.verdict.word])
        for number, change in enumerate(profile.changes, 1):
            self._paragraph(f"{number}. {change.sentence}", margin=3)
            if change.keys:
                flags = " ".join(f"--{key} {setting(value)}" for key, value in change.keys.items())
                self._paragraph(f"   {flags}", margin=5, style="faint")

    def _work(self, profile: Profile) -> None:
        work = profile.work
        self._heading("Work")
        rows = [
            ("a step", f"{work.tokens_per_step:,} tokens, {operations(work.flops_per_step)}"),
            ("an epoch", _steps(work.steps_per_epoch)),
            ("the run", _steps(work.total_steps)),
        ]
        if work.tok_s is not None and work.seconds_per_step is not None:
            rows.append(("speed", f"about {work.tok_s:,.0f} tokens a second, {duration(work.seconds_per_step)} a step"))
        if work.seconds is not None:
            rows.append(("time", f"about {duration(work.seconds)}{_money(profile)}"))
        for name, value in rows:
            self._paragraph(f"{name:<{_NAME}}{value}", margin=_NAME)

    def _assumptions(self, profile: Profile) -> None:
        assumptions = (*profile.estimate.assumptions, *profile.work.assumptions)
        if not self._is_full:
            self._paper.print()
            self._paragraph(f"{len(assumptions)} assumptions are behind this; --full shows them", style="faint")
            return
        self._heading("What this rests on")
        for assumption in assumptions:
            self._paragraph(f"- {assumption}", margin=2)

    def _heading(self, text: str) -> None:
        self._paper.print()
        self._paragraph(text, style="heading")

    def _paragraph(self, text: str, margin: int = 0, style: str = "") -> None:
        """Text broken between words; further lines begin `margin` columns further in."""
        lines = textwrap.wrap(
            text,
            self._width,
            subsequent_indent=" " * margin,
            break_on_hyphens=False,
            break_long_words=False,  # a path or a flag is to be copied
            replace_whitespace=False,
        )
        for line in lines or [text]:
            self._paper.print(Ink(line.replace(_TIED, " "), style))


def _from_here(path: str) -> str:
    """A path below the working directory as people write it."""
    here = Path(path)
    return str(here.relative_to(Path.cwd())) if here.is_relative_to(Path.cwd()) else path


def _steps(count: int | None) -> str:
    if count is None:
        return "not known; --full says why"
    return f"{count:,} step{'' if count == 1 else 's'}"


def _money(profile: Profile) -> str:
    if profile.work.dollars is None or profile.price is None:
        return ""
    return f", {dollars(profile.work.dollars)} at {dollars(profile.price)} an hour"


def _longest_word(text: str) -> int:
    return max(map(len, text.split()), default=0)


def _in_columns(names: list[str], width: int) -> Iterable[str]:
    """Headings of columns, right-aligned, broken between words so that the last line of each is beside the numbers."""
    broken = [textwrap.wrap(name, width - 1, break_long_words=False) for name in names]
    height = max(map(len, broken), default=0)
    for row in range(height):
        cells = []
        for lines in broken:
            place = row - (height - len(lines))
            cells.append(f"{lines[place] if place >= 0 else '':>{width}}")
        yield "".join(cells)

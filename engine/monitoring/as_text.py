"""The state of a run as text for people: whole, in a line, or change by change as it is followed."""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Iterator

from engine.events import Advice, Step
from engine.events.rates import rates_of
from engine.health.advice import as_text
from engine.incidents import Incident
from engine.monitoring.source import Source
from engine.monitoring.summary import Summary, Told
from engine.printing.paper import Ink, Paper

_MARGIN = 4
_STYLES = {
    "ok": "trained",
    "failed": "error",
    "killed": "error",
    "lost": "error",
    "finished": "trained",
    "unknown": "warning",
}


class MonitorPrinter:
    """Prints on paper; `is_brief` leaves everything out but what decides."""

    def __init__(self, paper: Paper, is_brief: bool) -> None:
        self._paper = paper
        self._is_brief = is_brief

    def report(self, source: Source) -> None:
        """How things stand now."""
        if self._is_brief:
            self._paper.print(*self._one_line(source))
            return
        summary = source.summary
        for inks in self._head(source):
            self._paper.print(*inks)
        for one in summary.incidents.open():
            self._incident(one, one.severity)
        if over := Counter(one.code for one in summary.incidents.all() if not one.open):
            counted = ", ".join(f"{code} ×{count}" if count > 1 else code for code, count in over.items())
            self._paper.paragraph(Ink("over: ", "faint"), self._shown(counted), _MARGIN)
        if summary.incidents.forgotten:
            self._paper.print(f"{_count(summary.incidents.forgotten, 'older incident')} more that are over")
        for note in source.notes:
            self._paper.paragraph(Ink("note: ", "faint"), self._shown(note), _MARGIN)
        if source.bad_lines:
            self._paper.print(f"{_count(source.bad_lines, 'line')} could not be read in full")
        self._paper.print(*self._verdict(source))

    def told(self, told: Told) -> None:
        """A change, with the time of the day."""
        at = Ink(f"{_time_of_day(told.t)} ", "faint")
        if told.incident is None:
            if told.words and not self._is_brief:
                self._paper.print(at, self._shown(told.words))
        elif told.change is not None:
            word = "over" if told.change == "closed" else told.incident.severity
            self._incident(told.incident, word, at)

    def verdict(self, source: Source) -> None:
        """The last line of a run that was followed."""
        self._paper.print(*(self._one_line(source) if self._is_brief else self._verdict(source)))

    def _head(self, source: Source) -> Iterator[list[Ink | str]]:
        summary = source.summary
        state = Ink(self._state(source), _STYLES.get(source.state, "heading"))
        yield [Ink(self._shown(source.name), "heading"), "  ", state, _steps(summary)]
        if summary.step is not None:
            yield ["  ".join(_values(summary.step, summary))]
        evaluations = _evaluations(summary)
        if evaluations:
            yield [evaluations]
        parts = [f"data {_age(source.age)} old"] if source.age is not None else ["no data yet"]
        parts += [f"{_count(summary.skipped, 'step')} skipped"] if summary.skipped else []
        yield [Ink(" · ".join(parts) if not self._paper.signs.is_plain else ", ".join(parts), "faint")]
        if summary.end is not None and summary.end.reason:
            yield [self._shown(summary.end.reason)]

    def _one_line(self, source: Source) -> list[Ink | str]:
        summary = source.summary
        step = summary.step
        parts = [self._shown(source.name), self._state(source) + _steps(summary)]
        parts += [f"loss {_number(step.loss)}"] if step is not None and step.loss is not None else []
        parts += [f"data {_age(source.age)} old"] if source.age is not None else []
        worst = next(iter(summary.incidents.open()), None)
        inks: list[Ink | str] = ["  ".join(parts), "  ", Ink(source.health.word, self._style(source))]
        if worst is not None:
            others = len(summary.incidents.open()) - 1
            inks.append(f": {worst.code}{_at(worst)}" + (f" and {others} more" if others else ""))
        return inks

    def _verdict(self, source: Source) -> list[Ink | str]:
        word = source.health.word
        meaning = {
            "ok": "nothing is wrong as far as can be seen" if source.summary.step else "there is no step to judge yet",
            "unknown": "there is no step to judge",
            "warning": "something to look at",
            "failed": "the run ended with an error",
            "killed": "the engine vanished",
            "lost": "its engine is where this machine cannot look, and nothing has been heard of it for long",
        }.get(word, "something is wrong")
        return [Ink(f"health: {word}", self._style(source)), f" ({meaning})"]

    def _incident(self, one: Incident, word: str, before: Ink | None = None) -> None:
        inks = [before] if before is not None else []
        style = "faint" if word == "over" else word
        steps = f" ({_count(one.count, 'step')})" if one.count > 1 else ""
        self._paper.print(*inks, Ink(word, style), f" {self._shown(one.code)}{_at(one)}{steps}")
        if self._is_brief:
            return
        self._paper.paragraph(Ink(" " * _MARGIN), self._shown(one.meaning), _MARGIN)
        for advice in one.advice if word != "over" else ():
            self._paper.paragraph(Ink(f"{' ' * _MARGIN}try ", "faint"), self._shown(_hint(advice)), 2 * _MARGIN)

    def _state(self, source: Source) -> str:
        phase = source.summary.phase
        return phase if source.state == "running" and phase is not None else source.state

    def _style(self, source: Source) -> str:
        return _STYLES.get(source.health.word, source.health.word)

    def _shown(self, text: str) -> str:
        return self._paper.signs.show_in_line(text, is_start=False, is_end=False)


def _time_of_day(t: float) -> str:
    try:
        return time.strftime("%H:%M:%S", time.localtime(t))
    except (OverflowError, OSError, ValueError):  # no moment that the system knows
        return "--:--:--"


def _hint(advice: Advice) -> str:
    """A key and its value; where the value of the run is not known, the key alone and what to do with it."""
    if advice.value is None and not advice.also and advice.why:
        return f"{advice.key}: {advice.why}"
    return as_text(advice)


def _steps(summary: Summary) -> str:
    if summary.last_step is None:
        return ""
    total = f"/{summary.total_steps:,}" if summary.total_steps else ""
    return f"  step {summary.last_step:,}{total}"


def _values(step: Step, summary: Summary) -> Iterator[str]:
    named = (("loss", "loss"), ("lr", "lr"), ("tok_s", "tok/s"), ("grad_norm", "grad_norm"), ("dt", "dt"))
    for metric, name in named:
        value: float | None = getattr(step, metric)
        if value is None or (math.isnan(value) and metric not in ("loss", "grad_norm")):
            continue
        usual = summary.usual(metric) if metric == "loss" else None
        beside = f" (usually {_number(usual)})" if usual is not None else _more_of(step, metric)
        yield f"{name} {_number(value)}{' s' if metric == 'dt' else ''}{beside}"


def _more_of(step: Step, metric: str) -> str:
    """What has to be known to compare the number: which tokens count, and that the gradient was clipped behind it."""
    if metric == "tok_s" and (rates := rates_of(step)) is not None:
        with_padding = f"{_number(rates.padded)} with {100 * rates.padding:.3g} % padding"
        return f" ({with_padding}, {_number(rates.trained)} trained)"
    if metric == "grad_norm" and step.clip_scale is not None and step.clip_scale < 1:
        return f" (clipped to {_number(step.clip_scale)} of it)"
    return ""


def _evaluations(summary: Summary) -> str:
    if summary.eval is None:
        return ""
    best = summary.best
    beside = f", best {_number(best.loss)} at step {best.step:,}" if best is not None else ""
    return f"{summary.eval.name} {_number(summary.eval.loss)} at step {summary.eval.step:,}{beside}"


def _number(value: float | None) -> str:
    if value is None:
        return "n/a"
    return f"{value:,.0f}" if math.isfinite(value) and abs(value) >= 1000 else f"{value:.4g}"


def _at(one: Incident) -> str:
    if one.step is None:
        return ""
    if one.last_step is None or one.last_step == one.step:
        return f" at step {one.step:,}"
    return f" at steps {one.step:,} to {one.last_step:,}"


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}" + ("s" if number != 1 else "")


def _age(seconds: float) -> str:
    if seconds < 60:
        return f"{seconds:.0f} s"
    if seconds < 3600:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.0f} h" if seconds < 48 * 3600 else f"{seconds / 86400:.0f} days"

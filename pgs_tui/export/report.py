"""A run as a report in Markdown: figures, charts, memory, alerts and what to do, evaluations, versions, config."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Sequence
from itertools import chain
from math import isfinite

from engine.health.advice import as_text
from engine.incidents import Incident
from engine.rundir import RunDir, read_run_info
from pgs_tui.appearance.look import GlyphName
from pgs_tui.export.chart_as_text import chart_as_text
from pgs_tui.export.picture import picture_of
from pgs_tui.format import duration, gib, percent, plain, rows, value, whole
from pgs_tui.history.history import History
from pgs_tui.history.mark import Mark
from pgs_tui.incident_words import meaning, measured
from pgs_tui.panel_names import PanelName
from screens.dashboard.live import LiveRun
from screens.dashboard.readings.looking import Looking
from screens.dashboard.readings.wording import WORDINGS

CHARTS: tuple[PanelName, ...] = ("loss", "grad_norm", "tok_s", "dt")
CHART_WIDTH, CHART_HEIGHT = 92, 16
MOST_ROWS = 200
"""Of longer tables the newest rows are kept."""
_FENCE = re.compile("`{3,}")
_MARKUP = re.compile(r"[\\`*\[\]<>|#]|(?<![^\W_])_|_(?![^\W_])")
"""What Markdown would take for its own; an underscore within a word, as in a key, is none."""


def report_of(live: LiveRun, looking: Looking, glyphs: GlyphName) -> str:
    """The report; its charts show what is looked at, everything else the whole run."""
    parts = chain(
        _head(live),
        _figures(live.history),
        _charts(live, looking, glyphs),
        _memory(live),
        _alerts(live.incidents()),
        _evaluations(live.history),
        _checkpoints(live.run, live.history),
        _versions(live),
        _config(live.run),
    )
    return "\n".join(parts) + "\n"


def _head(live: LiveRun) -> Iterator[str]:
    history, status = live.history, live.status()
    yield f"# Run {_words(live.run_id)}\n"
    total = f" of {whole(status.total)}" if status.total else ""
    yield f"- state: {_words(status.state)}"
    if told := live.in_full(()):
        yield f"- {_words(told[0])}"
    yield f"- step: {whole(status.step)}{total}" if status.step is not None else "- no step was taken yet"
    if status.step is not None:
        yield f"- tokens: {whole(history.tokens)}, epoch {value(history.epoch, 3)}"
        yield f"- time in training: {duration(float(history.positions('time')[-1]))}"
    if status.remaining is not None:
        yield f"- still to go: about {duration(status.remaining)}"
    yield f"- folder: `{plain(live.folder)}`\n"


def _figures(history: History) -> Iterator[str]:
    if not history.steps:
        return
    yield "## Figures\n"
    found = [
        (wording.name, *(wording.words(one) for one in (series.last, *_extent(history, metric))))
        for metric, wording in WORDINGS.items()
        if (series := history.series[metric]).last is not None
    ]
    yield from _table(("metric", "newest", "lowest", "highest"), found)


def _extent(history: History, metric: str) -> tuple[float | None, float | None]:
    low, high = history.series[metric].extent(0, len(history.steps))
    return (low, high) if isfinite(low) and isfinite(high) else (None, None)


def _charts(live: LiveRun, looking: Looking, glyphs: GlyphName) -> Iterator[str]:
    if not live.history.steps:
        return
    yield "## Charts\n"
    for name in CHARTS:
        picture = picture_of(live, looking, name, log=False)
        yield _block(chart_as_text(picture, glyphs, CHART_WIDTH, CHART_HEIGHT))


def _memory(live: LiveRun) -> Iterator[str]:
    view = live.memory()
    if view.used is None:
        return
    whole_memory = f" of {gib(view.total)}" if view.total else ""
    what = f"{view.title} ({view.device})" if view.device else view.title
    yield f"## Memory\n\n{_words(what)}: {gib(view.used)}{whole_memory} GiB in use\n"
    found = [(part.name, f"{gib(part.amount)} GiB") for part in view.parts]
    estimate, peak = live.history.estimate, live.history.peak
    found += [("highest peak of a step", f"{gib(peak)} GiB")] if peak is not None else []
    found += [("peak that was expected", f"{gib(estimate.peak)} GiB")] if estimate is not None else []
    yield from _table(("part", "memory"), found)


def _alerts(incidents: Sequence[Incident]) -> Iterator[str]:
    yield f"## Alerts ({len(incidents)})\n"
    if not incidents:
        yield "None.\n"
    for one in incidents[-MOST_ROWS:]:
        where = f" at step {one.step}" if one.step is not None else ""
        until = f" to {one.last_step}" if one.last_step not in (None, one.step) else ""
        yield f"### {_words(one.severity)}: {_words(one.title)}{where}{until}\n"
        told = (
            "open" if one.open else "over",
            f"{one.count} times" if one.count > 1 else "",
            _words(measured(one)),
            f"rows {rows(one.rows, 16)}" if one.rows else "",
        )
        yield ", ".join(part for part in told if part) + f".\n\n{_words(meaning(one))}\n"
        for advice in one.advice:
            yield f"- try {_words(as_text(advice))}"
        yield ""


def _evaluations(history: History) -> Iterator[str]:
    if not len(history.evals):
        return
    yield "## Evaluations\n"
    best = history.best
    found = [
        (whole(one.step), one.name, value(one.loss) + (" (best)" if best and one.step == best.step else ""))
        for one in sorted(history.evals.values(), key=lambda one: one.step)
    ]
    yield from _table(("step", "data", "loss"), found)


def _checkpoints(run: RunDir, history: History) -> Iterator[str]:
    steps = [mark.step for mark in _saved(history)]
    if not steps:
        return
    yield "## Checkpoints\n"
    newest = history.checkpoint
    yield f"Saved after the steps {', '.join(whole(step) for step in steps[-MOST_ROWS:])}."
    if newest is not None:
        where = f"`{plain(newest.path)}` ({newest.bytes / 1e9:.2f} GB, {duration(newest.seconds)} to write)"
        yield f"The newest is {where}."
    kept = [path.relative_to(run.path) for path in (run.best, run.final) if path.exists()]
    yield f"There are also {' and '.join(f'`{path}`' for path in kept)}.\n" if kept else ""


def _saved(history: History) -> Iterator[Mark]:
    mark = history.marks.after(-1)
    while mark is not None:
        yield from (one for one in history.marks.at(mark.step) if one.kind == "checkpoint")
        mark = history.marks.after(mark.step)


def _versions(live: LiveRun) -> Iterator[str]:
    info, start = read_run_info(live.run), live.history.start
    if info is None and start is None:
        return
    yield "## Versions and origin\n"
    found: list[tuple[str, str]] = []
    if start is not None:
        trained = percent(start.model.trainable / start.model.params) if start.model.params else "none"
        found += [("command", start.command), ("model", f"{start.model.name}, {trained} of its weights trained")]
        found += [("GPUs", ", ".join(start.gpus) or start.device)]
    if info is not None:
        found += [("host", info.host), ("started", time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(info.started)))]
        found += [("revision", info.git_revision)] if info.git_revision else []
        found += [("continues", info.parent)] if info.parent else []
        found += list(info.versions.items())
        found += [(f"data {name}", told) for name, told in info.data_hashes.items()]
    yield from _table(("what", "which"), found)


def _config(run: RunDir) -> Iterator[str]:
    try:
        text = run.config_yaml.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return
    yield "## Config\n"
    yield _block(text, "yaml")


def _table(head: Sequence[str], found: Sequence[Sequence[str]]) -> Iterator[str]:
    for row in (head, ["---"] * len(head), *found[-MOST_ROWS:]):
        yield "| " + " | ".join(_words(cell) for cell in row) + " |"
    left_out = len(found) - MOST_ROWS
    yield f"\n{left_out} earlier ones are left out.\n" if left_out > 0 else ""


def _block(text: str, language: str = "") -> str:
    """Text as it is; its fence is longer than any within."""
    fence = "`" * max((len(one) + 1 for one in _FENCE.findall(text)), default=3)
    return f"{fence}{language}\n{text.rstrip()}\n{fence}\n"


def _words(text: str) -> str:
    """Text from anywhere on one line, none of which is taken for Markdown."""
    return _MARKUP.sub(r"\\\g<0>", plain(text)) if text != "---" else text

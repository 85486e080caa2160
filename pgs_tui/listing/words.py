"""What a list says of a run, in words."""

from __future__ import annotations

from collections.abc import Iterator

from engine.events.types import Severity
from engine.rundir import Liveness
from pgs_tui.format import duration, plain, value, whole
from pgs_tui.listing.row import RunRow, Tool
from pgs_tui.picking.words import age

STATES: dict[Liveness, tuple[str, str]] = {
    "live": ("●", "going"),
    "starting": ("○", "starting"),
    "elsewhere": ("●", "elsewhere"),
    "finished": ("✔", "finished"),
    "stopped": ("■", "stopped"),
    "failed": ("✖", "failed"),
    "killed": ("✖", "killed"),
    "lost": ("✖", "lost"),
    "unreadable": ("✖", "unreadable"),
}
"""A sign and a word for each state of a run."""
UNREADABLE = STATES["unreadable"]
PAUSED = ("‖", "paused")
FOREIGN = ("◇", "foreign")
NOTHING = "–"
SEVERITIES: tuple[Severity, ...] = ("critical", "error", "warning", "info")
_SIZES = ("B", "kB", "MB", "GB", "TB", "PB")


def state(row: RunRow) -> tuple[str, str]:
    """A sign, and a word for how it is."""
    if row.life is None:
        return FOREIGN if row.tool else UNREADABLE
    return PAUSED if row.is_paused else STATES[row.life]


def model(row: RunRow) -> str:
    """The model without its owner; a local one with the folder that it is in. Of another tool, which one it is."""
    if row.tool:
        return f"by {row.tool}"
    parts = row.summary.model.rstrip("/").split("/") if row.summary else []
    return "/".join(parts[-2:] if len(parts) > 2 else parts[-1:])


def steps(row: RunRow) -> str:
    """`1 240/6 000`."""
    if row.summary is None or row.summary.step is None:
        return "…" if row.must_sum and not row.cannot_sum else NOTHING
    total = f"/{whole(row.summary.total_steps)}" if row.summary.total_steps else ""
    return f"{whole(row.summary.step)}{total}"


def loss(row: RunRow) -> str:
    """That of its last step."""
    return value(row.summary.loss if row.summary else None, 4)


def best(row: RunRow) -> str:
    """Its lowest loss: of an evaluation, with an `e` behind it, else of a step."""
    low = row.summary.best if row.summary else None
    if row.summary is None or low is None:
        return NOTHING
    return f"{value(low[1], 4)}{'e' if row.summary.best_eval else ' '}"


def alerts(row: RunRow) -> list[tuple[Severity, int]]:
    """How many of each severity, the gravest first; `critical` and `error` are one."""
    if row.summary is None:
        return []
    grave = row.summary.count("critical") + row.summary.count("error")
    counted: tuple[tuple[Severity, int], ...] = (
        ("error", grave),
        ("warning", row.summary.count("warning")),
        ("info", row.summary.count("info")),
    )
    return [(severity, count) for severity, count in counted if count]


def alerts_in_words(row: RunRow) -> str:
    """`1 critical, 3 warnings`; `none`; as far as the log was read."""
    if row.summary is None or (row.must_sum and not row.summary.alert_count):
        return "not known"
    told = [counted(row.summary.count(severity), severity) for severity in SEVERITIES if row.summary.count(severity)]
    return ", ".join(told) or "none"


def size(of: int | None) -> str:
    """`12.3 GB`."""
    if of is None:
        return "…"
    amount, place = float(of), 0
    while amount >= 999.5 and place < len(_SIZES) - 1:
        amount, place = amount / 1000, place + 1
    return f"{amount:.1f} {_SIZES[place]}" if place and amount < 99.95 else f"{amount:.0f} {_SIZES[place]}"


def took(row: RunRow) -> str:
    """How long engines were at work on it: `1 h 52 m`."""
    return duration(row.seconds)


def started(row: RunRow, now: float) -> str:
    """How long ago: `5 m`."""
    return NOTHING if row.started is None else age(now - row.started)


def losses_in_words(row: RunRow) -> str:
    """`loss 1.923 at step 200 · best evaluation 1.890 at step 150 · lowest step 1.402 at step 180`."""
    return " · ".join(_losses(row))


def _losses(row: RunRow) -> Iterator[str]:
    summary = row.summary
    if summary is None or summary.step is None:
        yield (
            (
                ("its files are long" if row.tool else "its log holds no events")
                if row.cannot_sum
                else "its log is still to be read"
            )
            if row.must_sum
            else "no steps"
        )
        return
    yield f"loss {value(summary.loss)} at step {whole(summary.step)}"
    if summary.best_eval:
        yield f"best evaluation {value(summary.best_eval[1])} at step {whole(summary.best_eval[0])}"
    if summary.lows:
        yield f"lowest of a step {value(summary.lows[-1][1])} at step {whole(summary.lows[-1][0])}"


def state_in_words(row: RunRow, now: float) -> str:
    """How it is or ended, and since when it is there."""
    when = started(row, now)
    since = "" if when == NOTHING else f", started {'just now' if when == 'now' else f'{when} ago'}"
    if row.tool is not None:
        ended = f", {row.summary.status}" if row.summary and row.summary.status else ""
        return f"training of another tool, {WORDS_OF_TOOLS[row.tool]}{ended}{since}"
    if row.life is None:
        return plain(row.trouble)
    reason = f": {row.summary.reason}" if row.summary and row.summary.reason and not row.is_going else ""
    by = f" ({row.started_by})" if row.started_by else ""
    host = f" on {row.host}" if row.host and (row.where or row.life in ("elsewhere", "lost")) else ""
    return plain(f"{_LONG[row.life] if not row.is_paused else 'is paused'}{reason}{since}{by}{host}")


WORDS_OF_TOOLS: dict[Tool, str] = {
    "Trainer": "Hugging Face's Trainer",
    "TensorBoard": "as event files of TensorBoard",
}
_LONG: dict[Liveness, str] = {
    "live": "is going",
    "starting": "is starting",
    "elsewhere": "goes on elsewhere",
    "finished": "finished",
    "stopped": "was stopped",
    "failed": "failed",
    "killed": "was killed: its engine is gone and has not said why",
    "lost": "was lost sight of: it trained elsewhere, and its log has been silent since",
    "unreadable": "may not be read",
}


def counted(count: int, severity: Severity) -> str:
    """`1 warning`, `2 warnings`, `2 critical`."""
    plural = "" if count == 1 or severity in ("critical", "info") else "s"
    return f"{whole(count)} {severity}{plural}"

"""The step line that a plain terminal shows, and its parser.

step=50  loss=2.34 lr=4.5e-05 tok/s=6102 grad_norm=0.41 dt=1.2s eval=1.92
SPIKE SKIPPED step=51 loss=9.41 grad_norm=3.1 usual_loss=1.7
step=52 skipped: no token of its 4 rows has loss

Logs of others resemble it, so the parser forgives what a logger or a terminal puts around such a line, and a value that
it cannot read costs that value alone.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from engine.events.console_numbers import rate, read_number, seconds, whole
from engine.events.console_prefix import is_prefix, without_commands
from engine.events.types import Step

_SKIPPED = "SPIKE SKIPPED"
_ABSENT = frozenset({"n/a", "na", "none", "null", "-", "--"})
_STEP = re.compile(
    r"(?<![\w.])(?P<skipped>SPIKE SKIPPED\s+)?step=(?P<step>[\d,_]+)(?:/(?P<total>[\d,_]+))?(?=[\s,;|)\]]|$)"
)
_PAIR = re.compile(r"(?<![\w/.])(?P<name>[A-Za-z][\w/]*)=(?P<value>[^\s|;()\[\]{}]+)")
_NAMES = {
    "loss": "loss",
    "train_loss": "loss",
    "lr": "lr",
    "learning_rate": "lr",
    "tok/s": "tok_s",
    "tok_s": "tok_s",
    "tokens/s": "tok_s",
    "grad_norm": "grad_norm",
    "dt": "dt",
    "eval": "eval_loss",
    "eval_loss": "eval_loss",
    "epoch": "epoch",
}
"""By the name in the line, in lower case: the field."""
_READERS = {"dt": seconds, "tok_s": rate}


@dataclass(frozen=True, slots=True)
class ConsoleStep:
    """The numbers of a step line; None where the line has none. `dt` is in seconds, `total` the steps of the run.

    `unread` names the fields that stand in the line with a value that is no number. Other tools tell some of these in
    other ways (`engine.events.foreign`): the tokens of all steps so far, and the time, unix seconds.
    """

    step: int
    loss: float | None = None
    lr: float | None = None
    tok_s: float | None = None
    grad_norm: float | None = None
    dt: float | None = None
    eval_loss: float | None = None
    skipped: bool = False
    total: int | None = None
    epoch: float | None = None
    unread: tuple[str, ...] = ()
    tokens_seen: float | None = None
    t: float | None = None

    @property
    def is_evaluation(self) -> bool:
        """Whether it tells of an evaluation alone, and of no step of training."""
        trained = (self.loss, self.lr, self.grad_norm, self.dt, self.tok_s)
        return self.eval_loss is not None and not (self.skipped or self.unread or any(x is not None for x in trained))


def format_step(step: Step, eval_loss: float | None = None) -> str:
    """The line for one step, with the evaluation loss where one was taken at this step."""
    line = (
        f"step={step.step}  loss={_number(step.loss, '.4g')} lr={step.lr:.3g} tok/s={step.tok_s:.0f}"
        f" grad_norm={_number(step.grad_norm, '.3g')} dt={step.dt:.3g}s"
    )
    return line if eval_loss is None else f"{line} eval={_number(eval_loss, '.4g')}"


def format_skipped(step: Step, metric: str, usual: float | None = None) -> str:
    """The line for a step whose update was not taken, with the usual level of the metric that it was judged by."""
    line = f"{_SKIPPED} step={step.step} loss={_number(step.loss, '.4g')} grad_norm={_number(step.grad_norm, '.3g')}"
    return line if usual is None else f"{line} usual_{metric}={usual:.4g}"


def parse_step(line: str) -> ConsoleStep | None:
    """The step that a line of console output tells of, or None for any other line.

    Before it may stand what loggers put there (a time, a level, a name); colours are taken out. A step without any of
    the known values is no step line, unless it says that it was skipped.
    """
    return step_in(without_commands(line))


def step_in(text: str) -> ConsoleStep | None:
    """The same of a line without what steers a terminal."""
    found = _STEP.search(text) if "step=" in text else None
    if found is None or not is_prefix(text[: found.start()]):
        return None
    step = whole(found["step"])
    if step is None:
        return None
    rest = text[found.end() :]
    skipped = found["skipped"] is not None or rest.lstrip().startswith("skipped")
    values, unread = _values(rest)
    if not (values or unread or skipped):
        return None
    total = whole(found["total"]) if found["total"] else None
    return ConsoleStep(step=step, skipped=skipped, total=total, unread=tuple(unread), **values)


def _values(text: str) -> tuple[dict[str, float | None], list[str]]:
    """By field: the value, None where the line says that there is none; and the fields that could not be read."""
    values: dict[str, float | None] = {}
    unread: list[str] = []
    for name, written in _PAIR.findall(text):
        field = _NAMES.get(name.lower())
        if field is None or field in values:
            continue
        written = written.rstrip(",:.")
        number = _READERS.get(field, read_number)(written)
        if number is not None or written.lower() in _ABSENT:
            values[field] = number
        else:
            unread.append(field)
    return values, unread


def _number(value: float | None, spec: str) -> str:
    return "n/a" if value is None else format(value, spec)

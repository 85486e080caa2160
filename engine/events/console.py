"""The step line that a plain terminal shows, and its parser.

step=50  loss=2.34 lr=4.5e-05 tok/s=6102 grad_norm=0.41 dt=1.2s eval=1.92
SPIKE SKIPPED step=51 loss=9.41 grad_norm=3.1 usual_loss=1.7
"""

from __future__ import annotations

from dataclasses import dataclass

from engine.events.types import Step

_SKIPPED = "SPIKE SKIPPED"
_ABSENT = "n/a"


@dataclass(frozen=True, slots=True)
class ConsoleStep:
    """The numbers of a step line; None where the line has none."""

    step: int
    loss: float | None = None
    lr: float | None = None
    tok_s: float | None = None
    grad_norm: float | None = None
    dt: float | None = None
    eval_loss: float | None = None
    skipped: bool = False


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
    """The step that a line of console output tells of, or None for any other line."""
    text = line.strip()
    skipped = text.startswith(_SKIPPED)
    pairs = dict(part.split("=", 1) for part in text.removeprefix(_SKIPPED).split() if "=" in part)
    if not text.startswith((_SKIPPED, "step=")) or not pairs.get("step", "").isdecimal():
        return None
    try:
        return ConsoleStep(
            step=int(pairs["step"]),
            loss=_parse(pairs.get("loss")),
            lr=_parse(pairs.get("lr")),
            tok_s=_parse(pairs.get("tok/s")),
            grad_norm=_parse(pairs.get("grad_norm")),
            dt=_parse(pairs.get("dt", "").removesuffix("s") or None),
            eval_loss=_parse(pairs.get("eval")),
            skipped=skipped,
        )
    except ValueError:
        return None


def _number(value: float | None, spec: str) -> str:
    return _ABSENT if value is None else format(value, spec)


def _parse(text: str | None) -> float | None:
    return None if text is None or text == _ABSENT else float(text)

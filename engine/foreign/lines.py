"""Events of other tools as lines of a run's log, written quickly: there may be a hundred thousand steps at once."""

from __future__ import annotations

from math import isfinite

from engine.events.codec import encode, to_strict_json
from engine.events.types import Eval, Event, Stamped, Step

_PLAIN = Step(step=0, epoch=0.0, loss=None, lr=0.0, grad_norm=None, dt=0.0, tokens=0, slots=0, loss_tokens=0, tok_s=0.0)
_BEHIND = encode(_PLAIN, 0.0).partition('"tok_s":0.0')[2]
"""What other tools never tell of a step: the fields behind its speed, empty, as every step of theirs has them."""


def line_of(stamped: Stamped) -> str:
    """The same line as `encode` gives, without its newline."""
    step = stamped.event
    if not isinstance(step, Step) or step.skipped:
        return encode(step, stamped.t)
    return (
        f'{{"v":1,"t":{stamped.t!r},"event":"step","step":{step.step},"epoch":{_number(step.epoch)},'
        f'"loss":{_number(step.loss)},"lr":{_number(step.lr)},"grad_norm":{_number(step.grad_norm)},'
        f'"dt":{_number(step.dt)},"tokens":{step.tokens},"slots":{step.slots},"loss_tokens":{step.loss_tokens},'
        f'"tok_s":{_number(step.tok_s)}{_BEHIND}'
    )


def said_of(event: Event) -> str:
    """The line for people of a step or an evaluation, with what is told of it; empty for other events."""
    if isinstance(event, Eval):
        return f"step={event.step} eval={event.loss:.4g}"
    if not isinstance(event, Step):
        return ""
    told = {"loss": event.loss, "lr": event.lr, "tok/s": event.tok_s, "grad_norm": event.grad_norm, "dt": event.dt}
    words = (f"{name}={value:.4g}" for name, value in told.items() if _is_told(name, value))
    return " ".join((f"step={event.step} ", *words))


def _is_told(name: str, value: float | None) -> bool:
    """A loss and a norm may have been measured as NaN, the others have it where nothing was told."""
    return value is not None and (name in ("loss", "grad_norm") or value == value)


def _number(value: float | None) -> str:
    if value is None:
        return "null"
    return repr(value) if isfinite(value) else f'"{to_strict_json(value)}"'

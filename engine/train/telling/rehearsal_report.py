"""What is told of the rehearsal, and when it ends the run."""

from __future__ import annotations

from collections.abc import Sequence

from engine.backward.rehearsal import Rehearsed
from engine.data.feeding.batches import Batch
from engine.errors import UserError
from engine.events import Alert
from engine.session.session import Session

NO_GRADIENT = "NO_GRADIENT"
MOST_NAMES = 3


def tell_rehearsal(session: Session, found: Rehearsed, batch: Batch, peak: float | None) -> None:
    """Say how it went; `peak` is the device's memory in GiB, where it is known.

    Raises UserError when a trained weight gets no gradient, or one that is not finite: training would pass it by.
    """
    if found.missing:
        raise UserError(
            f"{_names(found.missing)} would be trained but no gradient reaches them, so they would never move: "
            "check train.freeze_non_attention and train.gradient_checkpointing.",
            code=NO_GRADIENT,
        )
    if found.not_finite:
        raise UserError(
            f"the gradient of {_names(found.not_finite)} is not finite on the longest batch, before any weight has "
            "moved: check the weights that model.name_or_path names, and model.torch_dtype.",
            code="NON_FINITE_GRAD",
        )
    if found.zero:
        meaning = f"The gradient of {_names(found.zero)} is zero on the longest batch: they may not learn anything."
        alert = Alert(
            id="no-gradient", state="open", code=NO_GRADIENT, severity="warning", meaning=meaning, rows=batch.rows
        )
        session.emit(alert)
        session.say(f"warning: {meaning}")
    if peak is not None:
        session.say(f"the longest batch, {batch.slots:,} tokens with padding, was tried: {peak:.2f} GiB at the most")


def _names(names: Sequence[str]) -> str:
    more = len(names) - MOST_NAMES
    return ", ".join(names[:MOST_NAMES]) + (f" and {more} more" if more > 0 else "")

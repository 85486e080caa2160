"""The error that its own text explains to the user, and how to know that memory is used up."""

from __future__ import annotations

from engine.events import Advice


class UserError(ValueError):
    """A reason to stop that lies in the user's files, model, machine or settings.

    The message is one clear sentence: the place, what was found, what is allowed, what to do. `advice` holds config
    keys to try, `code` names the kind for alerts, and `has_alert` says that one has
    told of it already.
    """

    code = "RUN_FAILED"

    def __init__(
        self, message: str, advice: tuple[Advice, ...] = (), code: str | None = None, has_alert: bool = False
    ) -> None:
        super().__init__(message)
        self.advice = advice
        self.has_alert = has_alert
        if code is not None:
            self.code = code


def is_out_of_memory(error: BaseException) -> bool:
    """True for CUDA's and the CPU allocator's way of saying that memory is used up."""
    if isinstance(error, MemoryError) or type(error).__name__ == "OutOfMemoryError":
        return True
    text = str(error)
    return isinstance(error, RuntimeError) and ("out of memory" in text or "can't allocate memory" in text)

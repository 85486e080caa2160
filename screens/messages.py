"""What several screens report to the app alike. Each names its own, so that the app knows from whom a message comes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.message import Message

if TYPE_CHECKING:  # what the first frame does not need is imported after it
    from pgs_tui.serving.client import Answer, Ended


class LeavingMessage(Message):
    """The person wants to leave the program; `asking` that they be asked first."""

    def __init__(self, asking: bool = False) -> None:
        super().__init__()
        self.asking = asking


class RefusedMessage(Message):
    """There is nothing to show, and why."""

    def __init__(self, why: str, exit_code: int) -> None:
        super().__init__()
        self.why = why
        self.exit_code = exit_code


class ServerMessage(Message):
    """News from the server that the screen asks, from the thread that reads it."""

    def __init__(self, news: Answer | Ended) -> None:
        super().__init__()
        self.news = news

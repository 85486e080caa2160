"""Keys are taken one after the other, each by the screen that the one before it has led to.

Textual hands a key to the widget in focus as soon as it is read. What a key does, however, comes in messages: one that
opens a screen, or a line to write in, is at work for a while, on a busy machine for a second. Keys that were typed
meanwhile would still go to what was in focus before: letters would be lost, or do what they mean there.
"""

from __future__ import annotations

from collections import deque
from typing import Generic

from textual.app import App, ReturnType
from textual.await_complete import AwaitComplete
from textual.events import Event, Key, Paste
from textual.message import Message
from textual.timer import Timer

ROUNDS = 2
"""How often a mark goes the way of the keys: behind the key itself, then behind what its handler has sent."""
PATIENCE = 2.0
"""Seconds until a mark counts as lost, with the widget through which it went."""


class TypedKeys(App[ReturnType], Generic[ReturnType]):
    """An app that lets a key, or a pasted text, in when what the one before it has begun is done."""

    class Mark(Message, namespace="typed_keys"):
        """Comes to the app once all that was before it in the queues from the focus upwards has been done."""

        def __init__(self, number: int) -> None:
            super().__init__()
            self.number = number

    def __init__(self, *arguments: object, **options: object) -> None:
        self._typed: deque[Event] = deque()
        self._rounds = 0
        """How many more marks have to come before the next key is let in."""
        self._number = 0
        self._patience: Timer | None = None
        super().__init__(*arguments, **options)  # type: ignore[arg-type]

    async def on_event(self, event: Event) -> None:
        if not isinstance(event, Key | Paste) or event.is_forwarded:
            await super().on_event(event)
            return
        self._typed.append(event)
        if not self._rounds:
            await self._let_in()
        elif self._patience is None:
            self._patience = self.set_timer(PATIENCE, self._wait_no_longer)

    def pop_screen(self) -> AwaitComplete:
        """A mark that is on its way through the screen that is taken away does not come."""
        popped = super().pop_screen()
        if self._rounds:
            self._send_mark()
        return popped

    async def on_typed_keys_mark(self, mark: Mark) -> None:
        """What was at work is done, or has sent what is at work now."""
        if mark.number != self._number or not self._rounds:
            return
        self._rounds -= 1
        if self._rounds:
            self._send_mark()
        else:
            await self._let_in()

    async def _wait_no_longer(self) -> None:
        self._patience, self._rounds = None, 0
        await self._let_in()

    async def _let_in(self) -> None:
        if self._patience is not None:
            self._patience.stop()
            self._patience = None
        if not self.screen_stack:  # the app is leaving
            self._typed.clear()
        if not self._typed:
            return
        await super().on_event(self._typed.popleft())
        self._rounds = ROUNDS
        self._send_mark()
        if self._typed:
            self._patience = self.set_timer(PATIENCE, self._wait_no_longer)

    def _send_mark(self) -> None:
        self._number += 1
        mark = self.Mark(self._number)
        receiver = self.focused or self.screen
        if not receiver.post_message(mark):
            self.post_message(mark)

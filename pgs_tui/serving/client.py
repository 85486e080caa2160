"""A process that serves: started, asked line by line, and ended with the screen. No Textual here."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import threading
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import IO, Any

from pgs_tui.format import plain
from pgs_tui.runs.launcher import engine_environment
from pgs_tui.serving.wishes import Wish, Wishes

LAST_WORDS = 40
"""Lines of stderr that are kept for the case that the process ends."""
PATIENCE = 1.0
"""Seconds that the process may take to leave by itself."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What came of a wish: `result`, one of the shapes, or `error`."""

    wish: Wish
    result: Any = None
    error: str = ""


@dataclass(frozen=True, slots=True)
class Ended:
    """The process is gone although nobody asked it to go."""

    exit_code: int
    last_words: tuple[str, ...]
    name: str = "the process"
    """What people call it."""

    @property
    def reason(self) -> str:
        """Why, as the process put it to people; a fault that it did not expect is told in one sentence."""
        spoken = [place for place, words in enumerate(self.last_words) if words.startswith("pgs: ")]
        return "\n".join(self.last_words[spoken[0] :]) if spoken else self.sentence

    @property
    def sentence(self) -> str:
        """What happened, with the last that the process said."""
        words = f": {self.last_words[-1]}" if self.last_words else " without a word"
        return f"{self.name} ended with exit code {self.exit_code}{words}"


Deliver = Callable[[Answer | Ended], None]
Shape = Callable[[Any], Any]
"""Makes a value out of a method's result; raises KeyError, TypeError or ValueError for one of another shape."""


class Server:
    """`shapes` are those of the methods' results, by method. `name` is what people call the process.

    `deliver` is called from a thread of its own, with answers and, at most once, with the end.
    """

    def __init__(
        self,
        command: Sequence[str],
        shapes: Mapping[str, Shape],
        deliver: Deliver,
        environment: Mapping[str, str] | None = None,
        name: str = "the process",
    ) -> None:
        """Start it. Raises OSError when it cannot be started."""
        self._shapes = shapes
        self._deliver = deliver
        self._name = name
        self._wishes = Wishes()
        self._lock = threading.Lock()
        self._sent: dict[int, Wish] = {}
        self._count = 0
        self._closing = False
        self._last_words: deque[str] = deque(maxlen=LAST_WORDS)
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=engine_environment(os.environ if environment is None else environment),
            start_new_session=True,  # a Ctrl-C in the terminal is the screen's, not this process's
        )
        self._errors = threading.Thread(target=self._keep_last_words, daemon=True)
        self._errors.start()
        threading.Thread(target=self._read, daemon=True).start()

    @property
    def pid(self) -> int:
        """The process id."""
        return self._process.pid

    def want(self, topic: str, method: str, **params: Any) -> None:
        """Ask for something. A newer wish on the same topic replaces this one; its answer will not come then."""
        with self._lock:
            self._send(self._wishes.add(Wish(topic, method, params)))

    def forget(self, topic: str) -> None:
        """An answer on this topic is not wanted any more."""
        with self._lock:
            self._wishes.forget(topic)

    def close(self) -> None:
        """End the process; it only reads, so it has nothing to put in order. It is killed if it takes its time."""
        self._closing = True
        self._process.terminate()
        with contextlib.suppress(OSError):
            self._pipe(self._process.stdin).close()
        threading.Thread(target=self._end, daemon=False).start()

    def _end(self) -> None:
        try:
            self._process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def _send(self, wish: Wish | None) -> None:
        if wish is None:
            return
        self._count += 1
        self._sent[self._count] = wish
        request = {"id": self._count, "method": wish.method, "params": wish.params}
        with contextlib.suppress(OSError, ValueError):  # it is gone: the reading thread tells of that
            stdin = self._pipe(self._process.stdin)
            stdin.write(json.dumps(request).encode() + b"\n")
            stdin.flush()

    def _read(self) -> None:
        for text in self._pipe(self._process.stdout):
            answer = self._answer(text)
            if answer is not None:
                self._deliver(answer)
        code = self._process.wait()
        self._errors.join(PATIENCE)
        if not self._closing:
            self._deliver(Ended(code, tuple(self._last_words), self._name))

    def _answer(self, text: bytes) -> Answer | None:
        try:
            found = json.loads(text)
            number = found["id"]
        except (ValueError, TypeError, KeyError):  # a library that prints to stdout
            self._last_words.append(plain(text.decode(errors="replace").strip()))
            return None
        with self._lock:
            wish = self._sent.pop(number, None)
            if wish is None:
                return None
            wanted, following = self._wishes.answered(wish.topic)
            self._send(following)
        return self._judged(wish, found) if wanted else None

    def _judged(self, wish: Wish, found: Mapping[str, Any]) -> Answer:
        error = found.get("error")
        if error is not None:
            return Answer(wish, error=_sentence(error.get("message", error) if isinstance(error, dict) else error))
        try:
            return Answer(wish, self._shapes[wish.method](found["result"]))
        except (KeyError, TypeError, ValueError) as problem:
            return Answer(wish, error=f"the answer of {self._name} to {wish.method} makes no sense here: {problem!r}")

    def _keep_last_words(self) -> None:
        for text in self._pipe(self._process.stderr):
            words = plain(text.decode(errors="replace").rstrip())
            if words:
                self._last_words.append(words)

    @staticmethod
    def _pipe(pipe: IO[bytes] | None) -> IO[bytes]:
        assert pipe is not None
        return pipe


def _sentence(error: object) -> str:
    """The error as one harmless line."""
    return "; ".join(plain(line.strip()) for line in str(error).splitlines() if line.strip())

"""What the picker does beside its screen: looks for configs, reads them, asks for their memory, one thing at a time."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from pgs_tui.picking.checking import Checked, check
from pgs_tui.picking.collection import Collection, Entry
from pgs_tui.picking.discovery import Found, Tally, discover

if TYPE_CHECKING:
    from pgs_tui.picking.last_runs import LastRun
    from pgs_tui.profiling.shapes import GpuChoice, GpuRoom, Profile
    from pgs_tui.profiling.what_if import Target
    from pgs_tui.serving.client import Answer, Ended, Server

BATCH_SECONDS = 0.05
"""How long what was found waits for more before it is shown."""
CHECKED_AT_ONCE = 16
TOPIC, GPUS = "memory", "gpus"


@dataclass(frozen=True, slots=True)
class Discovered:
    """Configs that were found; `done` with the last ones."""

    number: int
    """Of the search, as there may be a newer one."""
    found: tuple[Found, ...]
    tally: Tally
    done: bool


@dataclass(frozen=True, slots=True)
class Read:
    """Configs that were read."""

    checked: tuple[tuple[Path, Checked], ...]


@dataclass(frozen=True, slots=True)
class Runs:
    """The last runs of the configs."""

    runs: dict[Path, LastRun]


News = Discovered | Read | Runs
Tell = Callable[[News], None]


class Picking:
    """`take` and `answer` bring news in; what is to be done next is told by `unread` and asked by `ask`."""

    def __init__(self, here: Path, shipped: Path, target: Target) -> None:
        self.here = here
        self.target = target
        """The GPU that memory is held against."""
        self.gpus: tuple[GpuChoice, ...] = ()
        self.shipped = shipped
        self.collection = Collection(here)
        self.tally = Tally()
        self._searching = Tally()
        self.searched = False
        """Whether the search has come to its end."""
        self.gpu: GpuRoom | None = None
        self.asked = False
        """Whether any answer about memory has come, so that no GPU means that there is none."""
        self.ended = ""
        """Why there is no profiler any more."""
        self.runs_known = False
        """Whether the registry of runs was looked up."""
        self.number = 0
        self._coming = self.collection
        """What the search that goes on has found; the collection itself, the first time."""
        self._server: Server | None = None
        self._waiting: Path | None = None
        self._reading = False
        self._has_answered = False

    def search_again(self) -> int:
        """Begin anew; what is known stays in sight until the end of it. Returns the number of the search."""
        if self.number:
            self._coming = Collection(self.here)
        self._searching.stop = True
        self.tally, self.searched = Tally(), False
        self.number += 1
        return self.number

    def search(self, number: int, tell: Tell) -> None:
        """Look for configs and tell what was found in batches. For a thread."""
        self._searching = tally = Tally()
        batch: list[Found] = []
        since = time.monotonic()
        for found in discover(self.here, self.shipped, tally):
            batch.append(found)
            if time.monotonic() - since >= BATCH_SECONDS:
                tell(Discovered(number, tuple(batch), tally, done=False))
                batch, since = [], time.monotonic()
        tell(Discovered(number, tuple(batch), tally, done=True))

    def take(self, news: News) -> None:
        """Make what a thread has found out known."""
        if isinstance(news, Read):
            self._reading = False
            for path, checked in news.checked:
                entry = self.collection.get(path)
                if entry is not None:
                    entry.take(checked)
        elif isinstance(news, Runs):
            self.collection.take_runs(news.runs)
            self.runs_known = True
        elif news.number == self.number:
            self._coming.add(news.found, self.collection)
            self.tally, self.searched = news.tally, news.done
            if news.done:
                self.collection = self._coming

    def unread(self, first: Sequence[Entry]) -> list[Path]:
        """The configs to read now, none while some are being read."""
        if self._reading:
            return []
        paths = [entry.path for entry in self.collection.to_check(first, CHECKED_AT_ONCE)]
        self._reading = bool(paths)
        return paths

    def ask(self, first: Sequence[Entry], open_server: Callable[[], Server]) -> None:
        """Ask for the memory of the next config, one after the other, so that what is in sight comes next."""
        entry = self.collection.to_estimate(first)
        if entry is None or self._waiting is not None or self.ended:
            return
        try:
            self._server = self._server or open_server()
        except OSError as error:
            self.ended = f"the profiler cannot be started: {error.strerror}"
            return
        self._waiting, entry.must_estimate = entry.path, False
        self._server.want(TOPIC, "estimate", config=str(entry.path), overrides={}, changes=False, **self.target.params)

    def answer(self, news: Answer | Ended) -> None:
        """Take an answer about memory, or that no more will come."""
        from pgs_tui.serving.client import Ended

        if not isinstance(news, Ended) and news.wish.topic == GPUS:
            self.gpus = news.result or ()
            return
        waiting, self._waiting = self._waiting, None
        entry = self.collection.get(waiting)
        if isinstance(news, Ended):
            self._take_end(news.sentence, entry)
            return
        self._has_answered = True
        if entry is None:
            return
        profile: Profile | None = news.result
        entry.estimate, entry.trouble = profile, news.error
        if profile is not None:
            self.gpu, self.asked = profile.gpu, True

    def is_judged(self, entry: Entry) -> bool:
        """Whether all is known of its memory that there is to know; also where there is nobody to ask any more."""
        return bool(self.ended) or not (entry.must_check or entry.must_estimate or self._waiting == entry.path)

    def want_gpus(self) -> bool:
        """Ask which GPUs there are to choose from; False when there is nobody to ask."""
        if self._server is not None:
            self._server.want(GPUS, "gpus")
        return self._server is not None

    def aim(self, target: Target) -> None:
        """Hold all configs against this GPU from now on; until they are answered the old answers stay."""
        if target == self.target:
            return
        self.target = target
        for entry in self.collection:
            entry.must_estimate = True

    def _take_end(self, sentence: str, entry: Entry | None) -> None:
        """A profiler that one config has killed is started again for the others; one that never answered is not."""
        self._server = None
        if entry is not None:
            entry.trouble = sentence
        if not self._has_answered:
            self.ended = sentence
        self._has_answered = False

    @property
    def is_idle(self) -> bool:
        """Whether no answer is waited for."""
        return self._waiting is None and not self._reading

    def start_again(self) -> None:
        """Ask a new profiler, after the old one has ended."""
        self.ended = ""

    def close(self) -> None:
        """Nothing more is wanted."""
        self._searching.stop = True
        if self._server is not None:
            self._server.close()


def read(paths: Sequence[Path]) -> Read:
    """Read configs. For a thread."""
    return Read(tuple((path, check(path)) for path in paths))


def runs_of(paths: Sequence[Path]) -> Runs:
    """Look up the last runs of configs. For a thread."""
    from pgs_tui.picking.last_runs import last_runs

    return Runs(last_runs(paths))

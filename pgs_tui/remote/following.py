"""Follows the mirror of a run on another machine: what is there is told at once, the rest as it comes."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace

from engine.events import Batch, EventReader
from engine.events.growing import FINGERPRINT_BYTES, Position
from pgs_tui.remote.fetching import Fetching
from pgs_tui.remote.first_look import FirstLook
from pgs_tui.remote.mirror import Mirror
from pgs_tui.runs.console import ConsoleTail
from pgs_tui.runs.follow import Follower, Update
from pgs_tui.runs.growing_arrays import keep_large_arrays_apart
from pgs_tui.runs.past import FOLLOWED_BYTES, Past, usual_workers

LOOK_SECONDS = 0.1
"""How long a poll waits for the first look."""


class RemoteFollower(Follower):
    """Until the first look has come it only tells how the link is; then the survey, and all else as of a run here."""

    def __init__(self, fetching: Fetching) -> None:
        self._fetching = fetching
        self._has_begun = False
        mirror = fetching.mirror
        super().__init__(
            _MirrorReader(fetching),
            ConsoleTail(mirror.run.console_log),
            lambda: (fetching.life, None),
            link=lambda: fetching.link.status,
        )

    def poll(self) -> Iterator[Update]:
        """What is new since the last poll, in slices; nothing when nothing is."""
        if not self._has_begun:
            look = self._fetching.wait_for_look(LOOK_SECONDS)
            if look is None:
                yield from self._news_of_link()
                return
            yield from self._first(look)
        if notes := self._fetching.take_notes():
            yield replace(self._now, notes=notes)
        if self._fetching.has_caught_up:
            yield from super().poll()
            return
        for update in super().poll():
            yield replace(update, loading=True)
        self._now = replace(self._now, loading=True)  # so that it is told when it is not so any more

    def _news_of_link(self) -> Iterator[Update]:
        before = self._now
        self._see_life()
        self.pause = 0.0 if self._fetching.link.status.state == "connecting" else LOOK_SECONDS
        if self._now != before:
            yield self._now

    def _first(self, look: FirstLook) -> Iterator[Update]:
        self._has_begun = True
        self._looked = None
        survey = look.survey()
        if survey is None:
            return
        keep_large_arrays_apart()
        mirror = self._fetching.mirror
        (begin, newest) = look.pieces[-1]
        end = begin + newest.find(b"\n", FINGERPRINT_BYTES) + 1
        descriptor = os.open(mirror.run.events, os.O_RDONLY)
        self._past = Past(mirror.run.events, descriptor, look.end, end, usual_workers(), lambda: mirror.complete)
        self._reader = _MirrorReader(self._fetching, self._past.reader())
        self._preview = EventReader(mirror.run.events, FOLLOWED_BYTES, _position_at(mirror, look.end))
        self._see_life()
        self._surveyed = True
        yield replace(self._now, columns=survey.blocks, survey=True, log=self._lines())


class _MirrorReader:
    """Reads the mirror; a log that is gone over there is trouble, as it would be here."""

    def __init__(self, fetching: Fetching, reader: EventReader | None = None) -> None:
        self._fetching = fetching
        self._reader = reader or EventReader(fetching.mirror.run.events, FOLLOWED_BYTES)

    def poll(self) -> Batch:
        """The events since the last poll. Raises OSError."""
        batch = self._reader.poll()
        if not batch and self._fetching.trouble:
            raise OSError(self._fetching.trouble)
        return batch


def _position_at(mirror: Mirror, offset: int) -> Position:
    inode = mirror.run.events.stat().st_ino
    head = mirror.read(0, FINGERPRINT_BYTES)
    return Position(offset, inode, head, mirror.read(offset - FINGERPRINT_BYTES, offset))

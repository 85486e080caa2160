"""Keeps the mirror of a run on another machine up to date, and comes back when the connection is lost."""

from __future__ import annotations

import time
from collections.abc import Callable
from threading import Condition, Event, Thread

from pgs_tui.format import plain
from pgs_tui.remote.console_copy import ConsoleCopy
from pgs_tui.remote.facts import Facts, FileFacts, facts_of, last_event_time
from pgs_tui.remote.far_shell import Answer, FarShell
from pgs_tui.remote.first_look import FirstLook, first_look
from pgs_tui.remote.link import Link
from pgs_tui.remote.log_copy import LogCopy
from pgs_tui.remote.lost import LinkLostError, LinkRefusedError, LinkSilentError
from pgs_tui.remote.mirror import Mirror
from pgs_tui.remote.programs import CHECK, Program
from pgs_tui.remote.ssh import Connection
from pgs_tui.runs.life import Life

CHECK_SECONDS = 5.0
"""Between two looks at the engine and at whether the log is the same one; its lines come without being asked for."""
SOON_SECONDS = 0.5
"""The same where something is about to happen: while there is no log yet, after the run's last event, and where the
live log ended at once."""
KEEP_SECONDS = 30.0
LEAVE_SECONDS = 2.0
"""How long leaving waits for a login that may be under way; nothing comes of it any more."""
_LAST_EVENT = b'"event":"end"'


class Fetching:
    """Works in a thread of its own from `start` to `close`. Everything may be asked from any thread.

    It has three channels: the desk, where questions are asked one after the other, the live log, and the backlog while
    there is one.
    """

    def __init__(
        self, connection: Connection, path: str, mirror: Mirror, link: Link, clock: Callable[[], float] = time.time
    ) -> None:
        self.mirror = mirror
        self.link = link
        self.look: FirstLook | None = None
        """The first look at the run, once it has come."""
        self.life: Life = "starting"
        """How the engine was when the log was as far as it has come."""
        self.has_caught_up = False
        """Whether all has come that the log held when it was first looked at, or can be fetched behind a survey."""
        self.spikes: frozenset[str] = frozenset()
        """The names of the recorded batches over there."""
        self.trouble: str | None = None
        """Why there is no log to follow over there."""
        self._connection = connection
        self._path = path
        self._clock = clock
        self._began = clock()
        self._desk: FarShell | None = None
        self._console: ConsoleCopy | None = None
        self._kept = time.monotonic()
        self._is_ending = False
        self._notes: list[str] = []
        self._wake = Event()
        self._log = LogCopy(connection, path, mirror, self._took, self._wake.set)
        self._looked = Condition()
        self._thread = Thread(target=self._run, name="fetching", daemon=True)

    def start(self) -> None:
        """Begin, with a connection that stands."""
        self._thread.start()

    def close(self) -> None:
        """Nobody looks at the run any more."""
        self.link.close()
        self._wake.set()
        if desk := self._desk:
            desk.close()
        if self._thread.is_alive():
            self._thread.join(LEAVE_SECONDS)
        self._connection.leave()

    def wait_for_look(self, timeout: float) -> FirstLook | None:
        """The first look at the run; None if it does not come within so many seconds, or never will."""
        with self._looked:
            self._looked.wait_for(lambda: self.look is not None or self.link.status.state == "refused", timeout)
        return self.look

    def take_notes(self) -> tuple[str, ...]:
        """Sentences for people, each once."""
        notes, self._notes = tuple(self._notes), []
        return notes

    def ask(self, program: Program, *words: str | int, limit: int) -> Answer:
        """Ask something at the desk, once it is free. Raises LinkLostError."""
        desk = self._desk
        if desk is None:
            raise LinkLostError(self.link.status.why or "there is no connection yet")
        return desk.ask(program, *words, limit=limit)

    def _run(self) -> None:
        stands = True
        while not self.link.closed:
            try:
                if not stands:
                    self.link.connecting()
                    self._connection.reopen()
                self._stay()
            except LinkLostError as error:
                self._lose(error)
            except OSError as error:  # this machine's disk
                self._lose(LinkLostError(f"what comes cannot be kept here: {error.strerror or error}"))
            stands = False
        self._leave_channels()

    def _lose(self, error: LinkLostError) -> None:
        self._leave_channels()
        if self.link.closed:
            return
        self.link.lost(error)
        with self._looked:
            self._looked.notify_all()
        if isinstance(error, LinkSilentError):
            self._connection.drop()  # it might be seconds until the master connection knows
        self.link.wait_to_try()

    def _leave_channels(self) -> None:
        desk, self._desk = self._desk, None
        if desk is not None:
            desk.close()
        self._log.leave()

    def _stay(self) -> None:
        """Follow the run as long as the connection holds. Raises LinkLostError."""
        if self.link.closed:
            return
        self._desk = desk = self._connection.shell()
        if self.look is not None:
            self._log.prepare()
        facts = self._check(desk) if self.look is not None else self._look_first(desk)
        while not self.link.closed:
            self._take(facts)
            if facts.log is not None:
                self._log.follow(desk)
            self.trouble = self._log.trouble or self._missing(facts)
            if facts.log is None or self._log.catch_up(self._size(facts.log), lambda: not self.link.closed):
                self._judge(facts)
            if self._console is not None:
                self._console.bring(desk)
            self._keep_mirror()
            self._wake.wait(self._pause(facts))
            self._wake.clear()
            if not self.link.closed:
                facts = self._check(desk)

    def _look_first(self, desk: FarShell) -> Facts:
        look = first_look(desk, self._path, self._clock())
        if noise := desk.noise.told_of(desk.host):
            self._notes.append(noise)
        if not look.is_run:
            where = plain(f"{desk.host}:{self._path}")
            raise LinkRefusedError(f"{where} is no run: there is neither run.json nor events.jsonl")
        self._log.begin(look)
        self.mirror.write(self.mirror.run.config_yaml, look.config)
        self.mirror.write(self.mirror.run.run_json, look.facts.run_json)
        self.spikes = look.spikes
        self._console = ConsoleCopy(self.mirror, self._path, look.console.size if look.console is not None else 0)
        if look.pieces or look.facts.log is None:
            self.link.heard(look.facts.skew)
            self._judge(look.facts)
        with self._looked:
            self.look = look
            self._looked.notify_all()
        return look.facts

    def _check(self, desk: FarShell) -> Facts:
        """Look at the engine, and whether the log is still the one that was fetched. Raises LinkLostError."""
        fetched = self._log.before_look()
        answer = desk.ask(CHECK, self._path, fetched)
        facts = facts_of(answer, self._clock())
        self.spikes = frozenset(answer.text("spikes").split())
        if facts.log is not None:
            self._log.judge(fetched, facts.log, answer)
        return facts

    def _take(self, facts: Facts) -> None:
        self.link.heard(facts.skew)
        run_json = self.mirror.run.run_json
        if facts.run_json and facts.run_json != run_json.read_bytes():
            self.mirror.write(run_json, facts.run_json)

    def _size(self, log: FileFacts) -> int | None:
        """What there is to wait for; where that is not known, nothing after the first time."""
        return 0 if log.size is None and self.has_caught_up else log.size

    def _missing(self, facts: Facts) -> str | None:
        is_gone = facts.log is None and self.mirror.size > 0
        return plain(f"No such file or directory: {self._path}/events.jsonl") if is_gone else None

    def _took(self, lines: bytes) -> None:
        self.link.heard()
        if _LAST_EVENT in lines:
            self._is_ending = True
            self._wake.set()

    def _judge(self, facts: Facts) -> None:
        """All has come that had been written: so this is how the run is."""
        now = self._clock()
        last = last_event_time(self.mirror)
        age = max(now + facts.skew - last, 0.0) if last is not None else None
        self.life = facts.life(now - self._began, age)
        self._is_ending = self._is_ending and self.life == "live"
        self.has_caught_up = True
        self.link.up()

    def _pause(self, facts: Facts) -> float:
        is_soon = facts.log is None or self._is_ending or not self._log.is_going
        return SOON_SECONDS if is_soon else CHECK_SECONDS

    def _keep_mirror(self) -> None:
        if time.monotonic() - self._kept >= KEEP_SECONDS:
            self._kept = time.monotonic()
            self.mirror.keep()

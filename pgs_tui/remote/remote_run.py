"""A run on another machine, as a screen sees it."""

from __future__ import annotations

import json
import posixpath
import shlex
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from engine.rundir import RunDir, read_run_info
from pgs_tui.remote.address import Address
from pgs_tui.remote.fetching import Fetching
from pgs_tui.remote.link import Link
from pgs_tui.remote.lost import LinkLostError, LinkRefusedError
from pgs_tui.remote.mirrors import OwnMirror
from pgs_tui.remote.programs import APPEND, SPIKE
from pgs_tui.remote.ssh import Connection
from pgs_tui.runs.link_status import LinkStatus
from pgs_tui.runs.source import Ability

if TYPE_CHECKING:  # what the first frame does not need is imported after it
    from engine.events.control_line import CommandName
    from pgs_tui.runs.follow import Follower

SEND_SECONDS = 30.0
"""How long a command is tried that nobody over there has confirmed."""
SPIKE_BYTES = 64 * 2**20
_SMALL = 4096
_REFUSALS = {
    "no run": "there is no run any more in {folder}",
    "link": "{folder}/control.jsonl is a link, which nobody writes through",
    "not a file": "{folder}/control.jsonl is not a file",
    "not yours": "{folder}/control.jsonl belongs to somebody else: only the owner's commands are obeyed",
}
_NOT_HERE: dict[Ability, str] = {
    "inspect": "its data is read by the Python of {host}: log in there for pgs-tui inspect {path}",
    "profile": "its memory is worked out by the Python of {host}: log in there for pgs-tui profile {path}",
}


class RemoteRun:
    """Follows the run from `start` on. `close` leaves the mirror to the next one; the run itself is not touched."""

    where: str
    abilities: frozenset[Ability] = frozenset(("control", "clock"))

    def __init__(
        self, address: Address, connection: Connection, mirror: OwnMirror, clock: Callable[[], float] = time.time
    ) -> None:
        self.where = address.target
        self.address = str(address)
        self._path = address.far_path
        self._own = mirror
        self._link = Link(clock)
        self._fetching = Fetching(connection, self._path, mirror.mirror, self._link, clock)

    @property
    def run(self) -> RunDir:
        """The mirror's folder."""
        return self._own.mirror.run

    @property
    def name(self) -> str:
        """As its `run.json` says, or the folder's name until that has come."""
        info = read_run_info(self.run)
        return info.name if info is not None else posixpath.basename(self._path.rstrip("/")) or self.where

    def start(self) -> None:
        """Ask for the first look now, with a connection that stands."""
        self._fetching.start()

    def wait_for_run(self, seconds: float) -> None:
        """Wait for the first look, for those that do without a screen. Raises LinkLostError where there is none."""
        if self._fetching.wait_for_look(seconds) is None:
            status = self._link.status
            kind = LinkRefusedError if status.state == "refused" else LinkLostError
            raise kind(status.why or f"{self.where} has not answered for {seconds:.0f} s")

    def why_not(self, ability: Ability) -> str:
        """What has to be done over there."""
        said = _NOT_HERE.get(ability, "")
        return said.format(host=self.where, path=shlex.quote(self._path))

    def follower(self) -> Follower:
        """It reads the mirror."""
        from pgs_tui.remote.following import RemoteFollower

        return RemoteFollower(self._fetching)

    def link(self) -> LinkStatus | None:
        """How the connection stands."""
        return self._link.status

    def try_now(self) -> None:
        """Do not wait for the next try."""
        self._link.try_now()

    def send(self, command: CommandName, **args: float) -> str:
        """Append to its control file over there, and return the command's id. Raises OSError.

        Where nobody knows whether the line arrived it is sent again: the engine does what has one id once.
        """
        from engine.events.control_line import encode_command, new_command

        wanted = new_command(command, **args)
        line = encode_command(wanted)
        end = time.monotonic() + SEND_SECONDS
        while True:
            try:
                answer = self._fetching.ask(APPEND, self._path, line, limit=_SMALL).text("result")
                break
            except LinkLostError as error:
                left = end - time.monotonic()
                if left <= 0 or not self._link.wait_until(lambda status: status.state == "up", left):
                    raise OSError(f"{command} was not confirmed by {self.where}: {error.why}") from error
        if answer != "written":
            why = _REFUSALS.get(answer, "{folder}/control.jsonl cannot be written")
            raise OSError(why.format(folder=f"{self.where}:{self._path}"))
        return wanted.id

    def has_spike(self, step: int) -> bool:
        """As far as the last look told."""
        record = self.run.spike(step)
        return record.name in self._fetching.spikes or record.is_file()

    def bring_spike(self, step: int) -> bool:
        """Fetch the record, if it is there. Raises OSError."""
        record = self.run.spike(step)
        if record.is_file():
            return True
        data = self._fetching.ask(SPIKE, self._path, step, limit=SPIKE_BYTES)["spike"]
        if not _is_whole(data):  # it may be written just now
            return False
        self._own.mirror.write(record, data)
        return True

    def close(self) -> None:
        """Leave the connection to others, and the mirror to the next time."""
        self._fetching.close()
        self._own.close()


def _is_whole(data: bytes) -> bool:
    try:
        return isinstance(json.loads(data), dict)
    except (ValueError, RecursionError):
        return False

"""Whatever happens to a log between two looks, what was told of it since its last new start is what it says."""

import itertools
import tempfile
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from engine.events import BadLineError, EventReader, Stamped, decode, encode
from pgs_tui.runs.follow import Follower, Update
from tests.pgs_tui.making import ScriptedEngine, ScriptedLog, step

WHAT = st.sampled_from(
    ["grow", "grow", "grow", "tear", "mend", "cut", "empty", "replace", "vanish", "junk", "look", "look"]
)


class Log:
    """A file that things happen to; no line of it is ever the same as another."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._numbers = itertools.count(1)
        self._torn = b""
        path.write_bytes(b"")

    def happen(self, what: str) -> None:
        match what:
            case "grow":
                self._append(self._torn + self._line() + self._line())
                self._torn = b""
            case "tear" if not self._torn:
                line = self._line()
                self._append(line[:-30])
                self._torn = line[-30:]
            case "mend" if self._torn:
                self._append(self._torn)
                self._torn = b""
            case "junk":
                self._append(self._torn + b'no event\n{"event":"news","t":1}\n\xff\n')
                self._torn = b""
            case "cut":
                data = self.path.read_bytes() if self.path.exists() else b""
                self.path.write_bytes(data[: len(data) // 2])
                self._torn = b"\n"
            case "empty":
                self.path.write_bytes(self._line() + b"x" * next(self._numbers) + b"\n")
                self._torn = b""
            case "replace":
                other = self.path.with_name("other")
                other.write_bytes(self._line())
                other.replace(self.path)
                self._torn = b""
            case "vanish":
                self.path.unlink(missing_ok=True)
                self._torn = b""

    def events(self) -> list[Stamped]:
        found = []
        data = self.path.read_bytes() if self.path.exists() else b""
        for line in data.split(b"\n")[:-1]:
            try:
                found.append(decode(line.decode()))
            except (BadLineError, UnicodeDecodeError):
                continue
        return [one for one in found if one is not None]

    def _line(self) -> bytes:
        number = next(self._numbers)
        return encode(step(number, rows=(number,) * (number % 5)), float(number)).encode() + b"\n"

    def _append(self, data: bytes) -> None:
        with self.path.open("ab") as file:
            file.write(data)


@settings(max_examples=80, deadline=None)
@given(st.lists(WHAT, max_size=30), st.integers(100, 2000))
def test_nothing_is_lost_doubled_or_invented(happenings: list[str], chunk_bytes: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        log = Log(Path(folder) / "events.jsonl")
        clock = itertools.count(0.0, 0.1)
        reader = EventReader(log.path, chunk_bytes)
        following = Follower(reader, ScriptedLog(), ScriptedEngine().look, lambda: next(clock))
        told: list[Stamped] = []
        for what in [*happenings, "grow", "look"]:
            log.happen(what)
            if what == "look":
                newest = look(following, told)
                if log.path.exists():
                    assert told == log.events()
                    assert newest is None or newest.trouble is None


def look(following: Follower, told: list[Stamped]) -> Update | None:
    """Poll until nothing is new."""
    newest: Update | None = None
    while (updates := list(following.poll())) or following.pause == 0.0:
        for update in updates:
            if update.restarted:
                told.clear()
            told.extend(update.events)
            newest = update
    return newest

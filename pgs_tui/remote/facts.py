"""What the other machine says of a run and its engine."""

from __future__ import annotations

import json
from dataclasses import dataclass

from engine.rundir import STARTING_SECONDS, Liveness, ProcessFacts, RunInfo, judged, run_info_of
from pgs_tui.remote.far_shell import Answer
from pgs_tui.remote.mirror import Mirror
from pgs_tui.runs.life import Life

_LIVES: dict[Liveness, Life] = {"live": "live", "killed": "gone", "elsewhere": "elsewhere", "lost": "lost"}
_LAST_BYTES = 16 * 1024
_SKEW_SECONDS = 2.0
"""Clocks are told in whole seconds and a while after they were looked at; a smaller difference is none."""
_MOST = 2**63 - 1
"""No file is longer, and no inode or time is larger."""
_MOST_DIGITS = len(str(_MOST))


@dataclass(frozen=True, slots=True)
class FileFacts:
    """A file over there, in bytes; None is what that machine has no way to tell."""

    size: int | None
    inode: int | None


@dataclass(frozen=True, slots=True)
class Facts:
    """One answer about a run. `log` is None while there is no log; `skew` is the other clock minus this one."""

    run_json: bytes
    process: ProcessFacts
    log: FileFacts | None
    skew: float

    @property
    def info(self) -> RunInfo | None:
        """Its `run.json`, None while there is none that can be read."""
        return run_info_of(self.run_json)

    def life(self, looked_for: float, last_event_age: float | None) -> Life:
        """How its engine is; `looked_for` is for how many seconds one has looked, `last_event_age` how old its news."""
        info = self.info
        if info is None:
            return "starting" if max(looked_for, last_event_age or 0.0) < STARTING_SECONDS else "gone"
        return _LIVES[judged(info, self.process, None, last_event_age)]


def facts_of(answer: Answer, now: float) -> Facts:
    """The facts of an answer that came at `now`."""
    process = ProcessFacts(answer.text("host"), answer.text("boot"), _start_of(answer.text("process")))
    return Facts(answer["run"], process, file_facts(answer.text("log")), _skew_of(answer.text("clock"), now))


def file_facts(text: str) -> FileFacts | None:
    """`SIZE INODE`, each a hyphen where it is not known; nothing for a file that is not there."""
    words = text.split()
    if len(words) != 2:
        return None
    return FileFacts(*map(_number, words))


def last_event_time(mirror: Mirror) -> float | None:
    """When the last event of the log was written, unix seconds of the other machine; None where that is not known."""
    end = mirror.size
    begin = max(end - _LAST_BYTES, 0)
    lines = mirror.read(begin, end).splitlines() if mirror.have(begin, end) else []
    try:
        return float(json.loads(lines[-1])["t"])
    except (IndexError, ValueError, KeyError, TypeError, OverflowError, RecursionError):
        return None


def _start_of(text: str) -> str | None:
    """When a process was started: the 22nd field of `/proc/PID/stat`, or what `ps` says."""
    if ")" not in text:
        return text or None
    fields = text.rpartition(")")[2].split()
    return None if len(fields) < 20 or fields[0] in "ZX" else fields[19]


def _skew_of(text: str, now: float) -> float:
    clock = _number(text)
    skew = clock - now if clock is not None else 0.0
    return skew if abs(skew) >= _SKEW_SECONDS else 0.0


def _number(word: str) -> int | None:
    """A size, an inode, a time; None for a hyphen, and for what no machine means."""
    return number if word.isdecimal() and len(word) <= _MOST_DIGITS and (number := int(word)) <= _MOST else None

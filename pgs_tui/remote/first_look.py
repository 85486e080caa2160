"""The first answer about a run on another machine: all that is drawn before its log has been fetched."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from engine.events.columns import Portion
from engine.events.stretches import whole_lines
from engine.events.survey import survey_from
from pgs_tui.remote.facts import Facts, FileFacts, facts_of, file_facts
from pgs_tui.remote.far_shell import Answer, FarShell
from pgs_tui.remote.programs import SURVEY

HEAD_BYTES = 64 * 1024
PLACES = 120
PLACE_BYTES = 4096
TAIL_BYTES = 128 * 1024
"""As much as comes within half a second over 100 ms round trips, and more places than most charts have columns."""
LIMIT_BYTES = 4 * 2**20


@dataclass(frozen=True, slots=True)
class FirstLook:
    """`pieces` are bytes of the log by their offsets, up to a line's end; `survey` is None where they are all of it."""

    folder: str
    """The run's folder in full; empty where there is none."""
    facts: Facts
    config: bytes
    spikes: frozenset[str]
    """The names of the recorded batches."""
    pieces: tuple[tuple[int, bytes], ...]
    samples: tuple[bytes, ...]
    console: FileFacts | None

    @property
    def is_run(self) -> bool:
        """Whether there is a run in the folder."""
        return bool(self.folder) and (bool(self.facts.run_json) or self.facts.log is not None)

    @property
    def end(self) -> int:
        """Up to where the log was told, whole lines."""
        return max((offset + len(data) for offset, data in self.pieces), default=0)

    def survey(self) -> Portion | None:
        """What can be drawn of a long log at once; None where all of it is there."""
        if len(self.pieces) < 2:
            return None
        (_, first), (_, last) = self.pieces
        return survey_from(whole_lines(first), self.samples, last[last.find(b"\n") + 1 :], self.end)


def first_look(shell: FarShell, path: str, now: float) -> FirstLook:
    """Ask for it, in one exchange; `now` is when that was. Raises LinkLostError."""
    answer = shell.ask(SURVEY, path, HEAD_BYTES, PLACES, PLACE_BYTES, TAIL_BYTES, limit=LIMIT_BYTES)
    facts = facts_of(answer, now)
    samples = tuple(_cut(answer["places"], PLACE_BYTES))
    return FirstLook(
        answer.text("folder"),
        facts,
        answer["config"],
        frozenset(answer.text("spikes").split()),
        _pieces(answer, facts),
        samples,
        file_facts(answer.text("console")),
    )


def _pieces(answer: Answer, facts: Facts) -> tuple[tuple[int, bytes], ...]:
    if "whole" in answer:
        return ((0, whole_lines(answer["whole"])),)
    if "tail" not in answer or facts.log is None or facts.log.size is None:
        return ()
    begin = facts.log.size - TAIL_BYTES
    return ((0, answer["head"]), (begin, whole_lines(answer["tail"])))


def _cut(data: bytes, length: int) -> Iterator[bytes]:
    return (data[start : start + length] for start in range(0, len(data), length))

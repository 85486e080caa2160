"""What the end of a log tells, where all of it is too long to be read."""

from __future__ import annotations

from engine.events.summary import RunSummary


def with_its_end(summary: RunSummary | None, tail: bytes) -> RunSummary | None:
    """The summary with what the end of the log says of the last step and how it ended: that counts nothing."""
    end = RunSummary()
    fold(end, tail[tail.find(b"\n") + 1 :])
    if end.last_t is None:
        return summary
    summary = summary or RunSummary()
    if end.step is not None:
        summary.step, summary.loss = end.step, end.loss
    summary.status, summary.reason, summary.exit_code = end.status, end.reason, end.exit_code
    summary.last_t, summary.phase = end.last_t, end.phase or summary.phase
    summary.checkpoint = end.checkpoint or summary.checkpoint
    return summary


def fold(summary: RunSummary, data: bytes) -> int:
    """Take in the whole lines, and return how many bytes they are."""
    from engine.events.portions import portion_of
    from engine.events.stretches import whole_lines

    lines = whole_lines(data)
    for block in portion_of(lines).blocks:
        summary.fold(block)
    return len(lines)

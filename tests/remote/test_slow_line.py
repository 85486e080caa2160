"""A line of few bytes a second is slow, and not silent."""

from __future__ import annotations

import time

import pytest

from pgs_tui.remote.backlog import FIRST_BYTES, LEAST_BYTES, MOST_BYTES, next_count
from pgs_tui.remote.channel import Channel, LineSigns
from pgs_tui.remote.lost import LinkSilentError


class AlwaysHeard(LineSigns):
    """Bytes of another channel come all the time."""

    last = property(lambda self: time.monotonic(), lambda self, at: None)


def test_an_answer_behind_the_bytes_of_another_channel_is_waited_for() -> None:
    command = ("sh", "-c", "read line; sleep 0.1; echo late")
    channel = Channel(command, "box", signs=AlwaysHeard())
    channel.write(b"go\n", 1.0)
    assert channel.read(0.02) == b"late\n"
    channel.close()
    alone = Channel(("cat",), "box")
    with pytest.raises(LinkSilentError):
        alone.read(0.02)
    alone.close()


def test_the_past_is_fetched_in_stretches_of_about_the_same_time() -> None:
    fast = slow = FIRST_BYTES
    for _ in range(9):
        fast = next_count(fast, 0.01)
        slow = next_count(slow, 30.0)
    assert (slow, fast) == (LEAST_BYTES, MOST_BYTES)
    assert next_count(100_000, 0.35) == 200_000 and next_count(100_000, 1.4) == 50_000

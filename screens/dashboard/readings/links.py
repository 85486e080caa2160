"""What stands between the screen and a run: a disk that cannot be read, or a connection to another machine."""

from __future__ import annotations

from math import ceil

from pgs_tui.format import duration, plain
from pgs_tui.runs.link_status import LinkStatus
from screens.dashboard.readings.age import age_of
from screens.dashboard.readings.situation import Situation
from screens.dashboard.readings.state import State


def cut_off(situation: Situation) -> State | None:
    """Why nobody here knows what the run does now; None while it is seen."""
    link = situation.link
    if link is not None and link.state != "up" and not _comes_first_time(situation, link):
        return _without_link(situation, link)
    return _unreadable(situation) if situation.trouble else None


def _comes_first_time(situation: Situation, link: LinkStatus) -> bool:
    """True where the run is being fetched for the first time, and some of it is there."""
    return link.state == "connecting" and not link.why and situation.history.last_t is not None


def _unreadable(situation: Situation) -> State:
    return State(
        sign="?",
        word="disconnected" if situation.history.last_t is not None else "unreadable",
        role="bad",
        sentence=f"? the log cannot be read: {plain(situation.trouble or '')}",
        more=f"{_shown(situation)}; it is tried again",
    )


def _without_link(situation: Situation, link: LinkStatus) -> State:
    where = plain(situation.where or "the other machine")
    host = where.rpartition("@")[2]
    why = f": {plain(link.why).removeprefix(f'{host}: ')}" if link.why else ""
    if link.state == "connecting":
        if situation.history.last_t is None:
            return State(
                "◐", "connecting", "accent", f"◐ connecting to {where}{why}", "what the run has written comes then"
            )
        return State("?", "reconnecting", "warn", f"? trying to reach {where} again{why}", _shown(situation))
    if link.state == "refused":
        again = "R tries again; if it has something to ask, leave and attach again"
        return State("?", "refused", "bad", f"? {where} cannot be reached{why}", f"{_shown(situation)}; {again}")
    word = f"lost, {_countdown(situation, link)}"
    sentence = f"? the connection to {where} is lost{why}"
    return State("?", word, "bad", sentence, f"{_shown(situation)}; {_countdown(situation, link)}, R tries now")


def _countdown(situation: Situation, link: LinkStatus) -> str:
    left = ceil(link.retry_at - situation.clock) if link.retry_at is not None else 0
    return f"again in {duration(left)}" if left > 0 else "trying"


def _shown(situation: Situation) -> str:
    known = situation.history.last_t
    return f"what is shown is {age_of(situation.now - known)} old" if known is not None else "nothing is known yet"

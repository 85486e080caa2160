"""How things stand with the machine where a run is, when that is another one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

LinkState = Literal["connecting", "up", "lost", "refused"]


@dataclass(frozen=True, slots=True)
class LinkStatus:
    """Times are unix seconds of this machine.

    `up` only while all that the run had written when it was last looked at has arrived: what is silent then is the run.
    `lost` is tried again; `refused` is not, until somebody asks for it.
    """

    state: LinkState = "connecting"
    since: float = 0.0
    """When this state began."""
    heard: float = 0.0
    """When the other machine was last heard of: what is shown is as old as that."""
    retry_at: float | None = None
    """When it is tried again, while `lost`."""
    why: str = ""
    """What is wrong, in ssh's words or ours."""
    skew: float = 0.0
    """How many seconds the other machine's clock is ahead of this one's."""

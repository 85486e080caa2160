"""What the readings of the GPUs and the machine tell of the time since the last step."""

from __future__ import annotations

from engine.events.types import Gpu, Host, Step
from engine.health.remedies import GO_ON
from engine.health.symptom import Symptom

SYMPTOMS = {
    "GPU_LOST": Symptom(
        "critical",
        "a GPU does not answer any more: it has fallen off the bus, and training on it cannot go on",
        (GO_ON,),
        beyond="the driver's messages (dmesg, Xid) say why, and the machine needs a restart",
    ),
    "MONITOR_FAILED": Symptom(
        "warning",
        "readings of a GPU or of the machine fail; the training is not affected",
        (),
        beyond="`pgs doctor` says what the driver answers",
    ),
}

SLOWING = frozenset({"hardware slowdown", "too hot (software)", "too hot (hardware)", "power brake"})
"""Reasons for lower clocks that something is wrong with; a GPU at full work meets its power cap all the time."""
OF_A_SCREEN = 1.0
"""GiB: what a desktop takes of a GPU slows no training."""
STALE_SECONDS = 10.0
"""A card without a reading for so long is none of the training's."""


class Machine:
    """The newest readings, and what has slowed a card since the last step. Not for two threads at once."""

    def __init__(self) -> None:
        self._cards: dict[str, tuple[float, Gpu]] = {}
        self.host: Host | None = None
        self.slowed_by: tuple[str, ...] = ()
        """Why a card's clocks were low at some moment since the last step."""
        self.io_pressure, self._cpu_pressure = 0.0, 0.0
        """The highest since the last step, percent."""

    def take(self, t: float, reading: Gpu | Host) -> None:
        """Take in a reading of the moment `t`."""
        if isinstance(reading, Host):
            self.host = reading
            self.io_pressure = max(self.io_pressure, reading.io_pressure or 0.0)
            self._cpu_pressure = max(self._cpu_pressure, reading.cpu_pressure or 0.0)
            return
        self._cards[reading.uuid] = (t, reading)
        self._cards = {uuid: kept for uuid, kept in self._cards.items() if kept[0] >= t - STALE_SECONDS}
        if reading.error is None or reading.total is not None:
            slowed = SLOWING.intersection(reading.throttle)
            self.slowed_by = tuple(sorted(slowed.union(self.slowed_by)))

    def step_is_over(self) -> None:
        """What was, belongs to the step before."""
        self.slowed_by, self.io_pressure, self._cpu_pressure = (), 0.0, 0.0

    @property
    def has_told(self) -> bool:
        """Whether there was a reading at all: plain logs have none."""
        return self.host is not None or bool(self._cards)

    @property
    def cpu_pressure(self) -> float:
        """The highest since the last step, percent; 0 beside a GPU, whose machine may have many cores and users."""
        return 0.0 if self._cards else self._cpu_pressure

    @property
    def card(self) -> Gpu | None:
        """The training's card, the first of several; None where none is read."""
        if not self._cards:
            return None
        cards = [card for _, card in self._cards.values()]
        return min(cards, key=lambda card: card.index)

    @property
    def neighbours_gib(self) -> float:
        """What other processes hold of the card, GiB; 0 where that is no more than a screen takes, or not known."""
        card = self.card
        if card is None or card.used_by_us is None or (card.used_by_others or 0.0) < OF_A_SCREEN:
            return 0.0
        return card.used_by_others or 0.0

    def room_for(self, step: Step) -> float | None:
        """What torch may hold of the card's memory, GiB: all but what others hold and the driver's own for us.

        None where the card does not say, or not which of it is ours; a MIG slice says its own.
        """
        card = self.card
        if card is None or card.total is None or card.used_by_us is None:
            return None
        driver = max(0.0, card.used_by_us - step.mem.reserved) if step.mem.reserved else 0.0
        return card.total - (card.used_by_others or 0.0) - driver

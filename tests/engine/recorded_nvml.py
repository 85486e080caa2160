"""An NVML that plays recordings: cards, slices and faults of machines that are not here."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field

from engine.monitor import Card, NvmlError

GIB = 2**30
MIB = 2**20
NOT_SUPPORTED = NvmlError("not supported", "Not Supported")
NO_PERMISSION = NvmlError("no permission", "Insufficient Permissions")
LOST = NvmlError("lost", "GPU is lost")
ME = os.getpid()


@dataclass
class RecordedCard:
    """A card that answers with what was recorded; a recorded error is raised."""

    index: int = 0
    uuid: str = "GPU-aaaa"
    name: str = "NVIDIA A100-SXM4-80GB"
    used: float | NvmlError = 1.0
    total: float = 80.0
    pids: dict[int, float | None] | NvmlError = field(default_factory=dict)
    busy: float | NvmlError = 97.0
    watts: float | NvmlError = 301.5
    instance: tuple[int, int] | None = None
    lost_from_poll: int | None = None
    polls: int = 0

    def memory(self) -> tuple[int, int]:
        self.polls += 1
        self._check()
        if isinstance(self.used, NvmlError):
            raise self.used
        return int(self.used * GIB), int(self.total * GIB)

    def processes(self) -> dict[int, int | None]:
        self._check()
        if isinstance(self.pids, NvmlError):
            raise self.pids
        return {pid: None if size is None else int(size * GIB) for pid, size in self.pids.items()}

    def utilisation(self) -> float:
        self._check()
        if isinstance(self.busy, NvmlError):
            raise self.busy
        return self.busy

    def temperature(self) -> float:
        self._check()
        return 61.0

    def power(self) -> float:
        self._check()
        if isinstance(self.watts, NvmlError):
            raise self.watts
        return self.watts

    def throttle_reasons(self) -> tuple[str, ...]:
        self._check()
        return ("power cap",)

    def _check(self) -> None:
        if self.lost_from_poll is not None and self.polls >= self.lost_from_poll:
            raise LOST


@dataclass
class Recording:
    """An NVML with these cards, and the slices of the card with this index."""

    whole: Sequence[Card]
    parts: dict[int, Sequence[Card]] = field(default_factory=dict)
    closed: bool = False

    def cards(self) -> Sequence[Card]:
        return self.whole

    def slices(self, card: Card) -> Sequence[Card]:
        return self.parts.get(card.index, []) if card.instance is None else []

    def close(self) -> None:
        self.closed = True


def slice_of(index: int, uuid: str = "MIG-1111-2222", **recorded: object) -> RecordedCard:
    return RecordedCard(
        index=index,
        uuid=uuid,
        used=3.0,
        total=20.0,
        busy=NOT_SUPPORTED,
        watts=NOT_SUPPORTED,
        instance=(7, 0),
        **recorded,  # type: ignore[arg-type]
    )


def four_cards(names: Sequence[str] = ("H100",) * 4) -> list[RecordedCard]:
    return [
        RecordedCard(index=index, uuid=f"GPU-{letter * 4}", name=names[index], used=used)
        for index, (letter, used) in enumerate(zip("abcd", (70.0, 1.0, 20.0, 5.0), strict=True))
    ]

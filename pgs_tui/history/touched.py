"""Which steps incidents touched, in order."""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right


class Touched:
    """Steps that incidents touched, ascending, and the incident of each; a step can have several."""

    def __init__(self) -> None:
        self.steps = array("q")
        self._ids: list[str] = []

    def add(self, step: int, incident_id: str) -> None:
        """An incident touched a step."""
        if incident_id not in self.at(step):
            place = bisect_right(self.steps, step)
            self.steps.insert(place, step)
            self._ids.insert(place, incident_id)

    def at(self, step: int) -> list[str]:
        """The incidents of that very step, in the order in which they touched it."""
        return self._ids[bisect_left(self.steps, step) : bisect_right(self.steps, step)]

    def forget(self, incident_id: str) -> None:
        """The incident is told otherwise by now."""
        kept = [(step, one) for step, one in zip(self.steps, self._ids, strict=True) if one != incident_id]
        self.steps, self._ids = array("q", [step for step, _ in kept]), [one for _, one in kept]

    def rewind(self, from_step: int) -> None:
        """Forget the steps after that one."""
        keep = bisect_right(self.steps, from_step)
        del self.steps[keep:], self._ids[keep:]

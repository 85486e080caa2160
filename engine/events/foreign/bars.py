"""The progress bar of a training loop, which alone tells the step where the lines beside it do not."""

from __future__ import annotations

import re

_BAR = re.compile(r"^\s*\d{1,3}%\|[^|]*\|\s*(?P<done>\d{1,15})/(?P<total>\d{1,15})\s+\[")


class TrainingBar:
    """`take` pieces of lines; the first bar without a name of its own is that of the training.

    Bars of evaluations have another total, those of downloads and of saving have a name in front.
    """

    def __init__(self) -> None:
        self.step: int | None = None
        """As the bar told last."""
        self.total: int | None = None

    def take(self, text: str) -> bool:
        """Whether this is the bar of the training, which has told its step."""
        found = _BAR.match(text)
        if found is None:
            return False
        total = int(found["total"])
        if self.total is None:
            self.total = total
        if total != self.total:
            return False
        self.step = int(found["done"])
        return True

"""A change that would help in few words, for where its sentence has no room."""

from __future__ import annotations

from pgs_tui.profiling.settings import SETTINGS, shown_value
from pgs_tui.profiling.shapes import Change

_NAMES = {setting.key: setting.short_name for setting in SETTINGS}


def in_short(change: Change) -> str:
    """`slices 2, offload on: 1.2 GiB less, 9 % slower`."""
    keys = ", ".join(
        f"{_NAMES.get(key, key.partition('.')[2])} {shown_value(value)}" for key, value in change.keys.items()
    )
    amount = f"{abs(change.saves):.1f} GiB {'less' if change.saves > 0 else 'more'}"
    percent = round(abs(change.speed - 1) * 100)
    speed = f"{percent} % {'slower' if change.speed < 1 else 'quicker'}" if percent else "as quick"
    return f"{keys}: {amount}, {speed}"

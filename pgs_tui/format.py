"""Numbers, durations and foreign text as a person reads them. Widths are steady, so that nothing jumps."""

from __future__ import annotations

import re
from math import floor, isfinite, isinf, log10

_SIZES = ("bytes", "KB", "MB", "GB", "TB")
_ESCAPES = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-Z\\-_])")
_TURNING = (*range(0x202A, 0x202F), *range(0x2066, 0x206A))
"""They turn the direction of what follows, be it text of ours."""
_UNDRAWABLE = (*range(0x80, 0xA0), *range(0xD800, 0xE000), 0x2028, 0x2029, *_TURNING)
_CONTROLS: dict[int, int | str] = {
    **dict.fromkeys(_UNDRAWABLE, 0xFFFD),
    **{code: 0x2400 + code for code in range(32)},
    9: "    ",
    127: 0x2421,
}


def plain(text: str) -> str:
    """Text from outside as one harmless line: colours and cursor moves dropped, control characters made visible."""
    return _ESCAPES.sub("", text).translate(_CONTROLS)


def plain_lines(text: str) -> str:
    """The same of text of several lines."""
    return "\n".join(map(plain, text.split("\n")))


def whole(number: float) -> str:
    """1240 as `1 240`."""
    return f"{number:,.0f}".replace(",", " ")


def counted(number: int, one: str) -> str:
    """`1 run`, `1 240 runs`."""
    return f"{whole(number)} {one}{'' if number == 1 else 's'}"


def value(number: float | None, digits: int = 4) -> str:
    """A measurement: 1.672, 12.04, 6 180, 0.291, 0.0212, 2.1e-05, NaN, inf; `–` without one.

    `digits` digits from 1 on; below 1 the decimals of 1, so that a value that moves around it keeps its width.
    """
    if number is None:
        return "–"
    if not isfinite(number):
        return _not_finite(number)
    size = abs(number)
    if size and not 1e-3 <= size < 1e6:
        return f"{number:.{max(digits - 3, 1)}e}"
    decimals = (
        digits - 1 - (floor(log10(size)) if size >= 1 else 0 if size >= 0.1 or not size else floor(log10(size)) + 1)
    )
    return whole(number) if decimals <= 0 else f"{number:.{decimals}f}"


def seconds(number: float | None) -> str:
    """The length of a step: `1.20 s`, `43 ms`, `12.3 s`."""
    if number is None:
        return "–"
    if not isfinite(number):
        return _not_finite(number)
    if abs(number) < 1:
        return f"{number * 1000:.0f} ms" if abs(number) >= 0.01 else f"{number * 1000:.1f} ms"
    return f"{number:.2f} s" if abs(number) < 10 else f"{number:.1f} s"


def duration(number: float | None) -> str:
    """A span of time in its two largest units: `1 h 52 m`, `3 m 05 s`, `2 d 4 h`."""
    if number is None or not isfinite(number):
        return "–"
    total = max(round(number), 0)
    days, hours, minutes = total // 86400, total // 3600 % 24, total // 60 % 60
    if days:
        return f"{days} d {hours} h"
    if hours:
        return f"{hours} h {minutes:02} m"
    return f"{minutes} m {total % 60:02} s" if minutes else f"{total} s"


def gib(number: float | None) -> str:
    """Memory in GiB, without its unit: `15.7`."""
    if number is None:
        return "–"
    return f"{number:.1f}" if abs(number) >= 0.95 or not number else f"{number:.2f}"


def of_bytes(done: int, total: int) -> str:
    """Of how many bytes how many are done: `1.2 of 3.4 GB`."""
    size, power = max(done, total), 0
    while size >= 1000 and power < len(_SIZES) - 1:
        size, power = size // 1000, power + 1
    counted, in_all = (f"{amount / 1000**power:.{1 if power else 0}f}" for amount in (done, total))
    return f"{counted} of {in_all} {_SIZES[power]}" if total else f"{counted} {_SIZES[power]}"


def percent(share: float | None) -> str:
    """0.214 as `21 %`; `–` without one."""
    return "–" if share is None or not isfinite(share) else f"{share * 100:.0f} %"


def rows(numbers: tuple[int, ...], shown: int = 3) -> str:
    """Row ids: `8812, 8813, 8814, 5 more`."""
    named = ", ".join(str(number) for number in numbers[:shown])
    more = len(numbers) - shown
    return f"{named}, {more} more" if more > 0 else named


def _not_finite(number: float) -> str:
    return ("inf" if number > 0 else "-inf") if isinf(number) else "NaN"

"""Numbers as console lines write them: with thousands apart, with units, not finite."""

from __future__ import annotations

import re

_DIGITS_OF_A_STEP = 15
_THOUSANDS = re.compile(r"[+-]?\d{1,3}(?:,\d{3})+(?:\.\d+)?")
_DECIMAL_COMMA = re.compile(r"[+-]?\d+,\d+(?:[eE][+-]?\d+)?")
_AMOUNT = re.compile(
    r"(?P<number>[+-]?[\d.,]+(?:[eE][+-]?\d+)?|[+-]?nan|[+-]?inf(?:inity)?)(?P<unit>[A-Za-zµμ/]*)", re.I
)
_SECONDS = {
    "": 1.0,
    "s": 1.0,
    "sec": 1.0,
    "ms": 1e-3,
    "us": 1e-6,
    "µs": 1e-6,
    "μs": 1e-6,
    "m": 60.0,
    "min": 60.0,
    "h": 3600.0,
}
_RATES = {"": 1.0, "k": 1e3, "m": 1e6, "tok/s": 1.0, "ktok/s": 1e3, "/s": 1.0, "k/s": 1e3}


def whole(text: str) -> int | None:
    """A count from 0 on, as in 1240, 1,240 or 1_240; None for anything else."""
    digits = text.replace(",", "").replace("_", "")
    return int(digits) if digits.isdecimal() and len(digits) <= _DIGITS_OF_A_STEP else None


def read_number(text: str) -> float | None:
    """A number, not finite ones too; None where it is none."""
    try:
        return float(text)
    except ValueError:
        pass
    if _THOUSANDS.fullmatch(text):
        return float(text.replace(",", ""))
    return float(text.replace(",", ".")) if _DECIMAL_COMMA.fullmatch(text) else None


def seconds(text: str) -> float | None:
    """A duration in seconds, as in 1.2s, 900ms, 2min or 1m02s."""
    return _with_units(text, _SECONDS)


def rate(text: str) -> float | None:
    """Tokens a second, as in 6102, 6,102 or 6.1k."""
    return _with_units(text, _RATES)


def _with_units(text: str, units: dict[str, float]) -> float | None:
    """The sum of amounts such as `1m` and `02s`."""
    if text.isascii() and text.removesuffix("s").replace(".", "", 1).isdigit():  # as nearly every line has it
        return float(text.removesuffix("s")) if text[-1] != "s" or "s" in units else None
    place, total = 0, 0.0
    while place < len(text):
        amount = _AMOUNT.match(text, place)
        factor = units.get(amount["unit"].lower()) if amount else None
        number = read_number(amount["number"]) if amount else None
        if amount is None or factor is None or number is None:
            return None
        total += number * factor
        place = amount.end()
    return total if text else None

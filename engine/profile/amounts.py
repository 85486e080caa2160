"""Sizes, times and sums of money in words."""

from __future__ import annotations

_POWERS = ((1e18, "E"), (1e15, "P"), (1e12, "T"), (1e9, "G"), (1e6, "M"))
_MINUTE, _HOUR, _DAY = 60, 3600, 86_400
_UNITS = ((_DAY, "d", _HOUR, "h"), (_HOUR, "h", _MINUTE, "min"), (_MINUTE, "min", 1, "s"))


def operations(count: float) -> str:
    """`0.21 PFLOP`, `845 TFLOP`."""
    factor, letter = next(((factor, letter) for factor, letter in _POWERS if count >= factor / 2), (1e3, "k"))
    return f"{count / factor:.3g} {letter}FLOP"


def duration(seconds: float) -> str:
    """`0.31 s`, `4 min 10 s`, `2 h 5 min`, `3 d 4 h`."""
    whole = round(seconds)
    if whole < _MINUTE:
        return f"{seconds:.2g} s" if whole < 10 else f"{whole} s"
    for unit, name, part, part_name in (
        (_DAY, "d", _HOUR, "h"),
        (_HOUR, "h", _MINUTE, "min"),
        (_MINUTE, "min", 1, "s"),
    ):
        if whole >= unit:
            rest = whole % unit // part
            return f"{whole // unit} {name} {rest} {part_name}" if rest else f"{whole // unit} {name}"
    raise AssertionError(seconds)


def dollars(sum_of_money: float) -> str:
    """`$0.42`, `$1,234`."""
    return f"${sum_of_money:,.2f}" if sum_of_money < 100 else f"${sum_of_money:,.0f}"


def setting(value: object) -> str:
    """A value as a config has it: `true`, `null`, `full`."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return "null" if value is None else str(value)

"""How values are written in messages."""

from __future__ import annotations

import math

from pydantic import BaseModel

_SMALLEST_PLAIN = 1e-3
_LARGEST_PLAIN = 1e5


def short_number(value: float) -> str:
    """Three digits at most, in a form that any YAML reader takes as a number: 0.3, 6.0e-5, 12."""
    if not math.isfinite(value):
        return f"{'-' if value < 0 else ''}.{'nan' if math.isnan(value) else 'inf'}"
    if value == 0 or _SMALLEST_PLAIN <= abs(value) < _LARGEST_PLAIN:
        return f"{value:.3g}"
    mantissa, exponent = f"{value:.2e}".split("e")
    digits = mantissa.rstrip("0")
    return f"{digits}{'0' if digits.endswith('.') else ''}e{int(exponent)}"


def yaml_text(value: object) -> str:
    """A value as one would write it in the YAML file, on one line."""
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case float():
            return short_number(value)
        case tuple() | list():
            return f"[{', '.join(yaml_text(item) for item in value)}]"
        case BaseModel():
            return yaml_text(value.model_dump())
        case dict():
            return f"{{{', '.join(f'{key}: {yaml_text(item)}' for key, item in value.items())}}}"
        case _:
            return str(value)

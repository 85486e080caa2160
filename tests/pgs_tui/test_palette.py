"""Colours that say something different look different, to people who see no red, no green or no blue too."""

from itertools import combinations
from typing import get_args

import pytest

from pgs_tui.appearance.look import ThemeName
from pgs_tui.appearance.palette import PALETTES
from pgs_tui.drawing.lines import ROLES, SeriesRole

Triple = tuple[float, float, float]

SIGHTS: dict[str, tuple[Triple, Triple, Triple]] = {
    "usual": ((1, 0, 0), (0, 1, 0), (0, 0, 1)),
    "no red": ((0.152286, 1.052583, -0.204868), (0.114503, 0.786281, 0.099216), (-0.003882, -0.048116, 1.051998)),
    "no green": ((0.367322, 0.860646, -0.227968), (0.280085, 0.672501, 0.047413), (-0.011820, 0.042940, 0.968881)),
    "no blue": ((1.255528, -0.076749, -0.178779), (-0.078411, 0.930809, 0.147602), (0.004733, 0.691367, 0.303900)),
}
"""On linear RGB: Machado, Oliveira and Fernandes 2009, "A Physiologically-based Model for Simulation of Color Vision
Deficiency", full severity."""

STATES = ("good", "warn", "bad", "accent")
FAR, APART = 25, 20
"""Distances in CIELAB: 2 is seen side by side, 10 at a glance."""
READABLE, VISIBLE = 4.5, 2.0
"""Contrast of text (WCAG AA), and of areas, with the background."""


def linear(colour: str) -> Triple:
    parts = (int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5))
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return red, green, blue


def lab(rgb: Triple) -> Triple:
    red, green, blue = rgb
    x = (0.4124 * red + 0.3576 * green + 0.1805 * blue) / 0.9505
    y = 0.2126 * red + 0.7152 * green + 0.0722 * blue
    z = (0.0193 * red + 0.1192 * green + 0.9505 * blue) / 1.089
    a, b, c = (part ** (1 / 3) if part > 0.008856 else 7.787 * part + 16 / 116 for part in (x, y, z))
    return 116 * b - 16, 500 * (a - b), 200 * (b - c)


def seen(colour: str, sight: str) -> Triple:
    rgb = linear(colour)
    parts = (sum(weight * part for weight, part in zip(row, rgb, strict=True)) for row in SIGHTS[sight])
    red, green, blue = (min(max(part, 0.0), 1.0) for part in parts)
    return lab((red, green, blue))


def distance(one: str, other: str, sight: str) -> float:
    return sum((a - b) ** 2 for a, b in zip(seen(one, sight), seen(other, sight), strict=True)) ** 0.5


def contrast(one: str, other: str) -> float:
    low, high = sorted(0.2126 * red + 0.7152 * green + 0.0722 * blue for red, green, blue in map(linear, (one, other)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("sight", SIGHTS)
@pytest.mark.parametrize("theme", ["dark", "light"])
def test_states_and_series_can_be_told_apart(theme: ThemeName, sight: str) -> None:
    inks = PALETTES[theme]
    for roles, far in ((STATES, FAR), (get_args(SeriesRole), APART), (("accent", "raw"), APART)):
        for one, other in combinations(roles, 2):
            found = distance(inks[f"ink-{one}"], inks[f"ink-{other}"], sight)
            assert found >= far, f"{one} and {other}: {found:.0f}"


@pytest.mark.parametrize("theme", ["dark", "light"])
def test_states_can_be_read_and_series_be_seen(theme: ThemeName) -> None:
    inks = PALETTES[theme]
    for roles, least in ((("text", "value", "title", *STATES), READABLE), (get_args(SeriesRole), VISIBLE)):
        for role in roles:
            found = contrast(inks[f"ink-{role}"], inks["background"])
            assert found >= least, f"{role}: {found:.1f}"


@pytest.mark.parametrize("theme", PALETTES)
def test_every_role_has_an_ink(theme: ThemeName) -> None:
    assert {f"ink-{role}" for role in ROLES} <= set(PALETTES[theme])


def test_the_measure_sees_what_it_should() -> None:
    assert distance("#ff0000", "#7f7f00", "no green") < distance("#ff0000", "#7f7f00", "usual") / 2
    assert contrast("#000000", "#ffffff") == pytest.approx(21)

"""Two configs side by side: which keys differ, and what that does to memory and speed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from pgs_tui.format import gib, plain, seconds, whole
from pgs_tui.picking.collection import Entry
from pgs_tui.profiling.shapes import Profile

Row = tuple[str, str, str]
"""What is compared, and how it is with each of the two."""
_UNKNOWN, _NONE = "…", "–"
ALIKE_GIB = 0.005
"""Below it two sizes look the same."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """`keys` are the differing keys, `effects` what they come to, `sentence` all of it in a line."""

    keys: tuple[Row, ...]
    effects: tuple[Row, ...]
    sentence: str


def compared(one: Entry, other: Entry) -> Comparison:
    """What is known of the two by now. Both must be valid."""
    from engine.config.differences import differing_keys

    assert one.checked and other.checked and one.checked.config and other.checked.config, "two valid configs"
    differences = differing_keys(one.checked.config, other.checked.config)
    keys = tuple((d.key, plain(_written(d.one)), plain(_written(d.other))) for d in differences)
    effects = tuple(_effects(one, other))
    return Comparison(keys, effects, _sentence(len(keys), one, other))


def _effects(one: Entry, other: Entry) -> Iterator[Row]:
    for label, told in _TOLD:
        sides = [told(e.estimate) or _NONE if e.estimate else _NONE if e.trouble else _UNKNOWN for e in (one, other)]
        if sides != [_NONE, _NONE]:
            yield label, sides[0], sides[1]
    yield from _components(one.estimate, other.estimate)


def _components(one: Profile | None, other: Profile | None) -> Iterator[Row]:
    """The parts of the peak that differ."""
    if one is None or other is None:
        return
    for name in dict.fromkeys((*one.components, *other.components)):
        left, right = gib(one.components.get(name, 0.0)), gib(other.components.get(name, 0.0))
        if left != right:
            yield f"  {plain(name)}", f"{left} GiB", f"{right} GiB"


def _written(value: object) -> str:
    """A value as YAML has it, more or less."""
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, tuple | list):
        return f"[{', '.join(map(_written, value))}]"
    return str(value)


def _rate(profile: Profile) -> str:
    return "" if profile.work.tok_s is None else f"{whole(profile.work.tok_s)} tok/s"


def _tokens(profile: Profile) -> str:
    return "" if profile.work.tokens_per_step is None else whole(profile.work.tokens_per_step)


def _step(profile: Profile) -> str:
    return "" if profile.work.seconds_per_step is None else seconds(profile.work.seconds_per_step)


def _fit(profile: Profile) -> str:
    return plain(profile.verdict.word) if profile.gpu else ""


_TOLD = (
    ("memory", lambda profile: f"{gib(profile.total)} GiB"),
    ("on the GPU", _fit),
    ("speed", _rate),
    ("time of a step", _step),
    ("tokens a step", _tokens),
    ("weights trained", lambda profile: whole(profile.trained)),
    ("most memory in", lambda profile: plain(profile.decides)),
)


def _sentence(keys: int, one: Entry, other: Entry) -> str:
    differing = "no key differs" if not keys else f"{keys} {'key differs' if keys == 1 else 'keys differ'}"
    first, second = one.estimate, other.estimate
    if first is None or second is None:
        return differing
    more = second.total - first.total
    size = f"{gib(abs(more))} GiB {'more' if more > 0 else 'less'}" if abs(more) >= ALIKE_GIB else "as much memory"
    told = [differing, f"{plain(other.shown)} takes {size}"]
    if first.work.tok_s and second.work.tok_s:
        factor = second.work.tok_s / first.work.tok_s
        told.append(f"and computes {factor:.2f} times as many tokens a second")
    return ", ".join(told[:2]) + "".join(f" {more_told}" for more_told in told[2:])

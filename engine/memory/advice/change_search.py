"""Searches the plans that make a config fit, or that use the room there is, and tells the cheapest of them.

Every lever at its end shows whether a kind of change can do at all; moving them back, one after another, leaves what
it takes. That is tens of estimates where all combinations would be thousands.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache

from engine.config import Config
from engine.errors import UserError
from engine.memory.advice.effects import Effect, effects
from engine.memory.advice.levers import Lever, Plan, changed, differences, saving_levers, spending_levers, with_values
from engine.memory.advice.room import Room
from engine.memory.advice.verdict import Needs, judge, what_it_cannot
from engine.model.float8.available import float8_problem

Estimator = Callable[[Config], Needs]
Speed = Callable[[Config], float]
"""Tokens a second."""

MOST_CHANGES = 3
PRICE = {
    Effect.SAME: 0.0,
    Effect.ROUNDED: 0.1,
    Effect.FLOAT8: 0.15,
    Effect.SMALLER_STEP: 0.25,
    Effect.LESS_TRAINED: 0.7,
    Effect.SHORTER: 1.0,
}
"""What an effect on the result counts beside the logarithm of the time: 0.1 is as bad as a tenth more time (chosen)."""
PRICE_OF_A_KEY = 0.02
"""Of two changes with the same effect the simpler one."""
SPEED_WITH_AN_EFFECT = 0.1
"""What speed counts that is won by training something else: hardly a reason to do so."""
LEAST_GAIN = 0.03
"""No change is proposed to use the room for less speed than this."""
AS_SMALL = 0.01
"""By so little a total may be above the smallest, where that takes fewer changes."""
FEW_LEVERS = 2
"""Where a combination has more, it is looked for a simpler one."""
ALTERNATIVES = 2
"""How often the dearest part of a combination is forbidden, to find another one."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A plan carried out; `price` orders candidates."""

    plan: Plan
    config: Config
    speed: float
    price: float

    @property
    def levers(self) -> frozenset[str]:
        return frozenset(self.plan)


_IsEnough = Callable[[Candidate], bool]


class Search:
    """Carries out plans, each once, and estimates their memory only where it is asked for."""

    def __init__(self, config: Config, room: Room, estimator: Estimator, speed: Speed) -> None:
        self._config, self._room = config, room
        self._speed = cache(speed)
        self._needs = cache(_where_it_can_be(estimator))
        cannot = what_it_cannot(config, room) is not None
        self.start = with_values(config, {"memory.float8_training": False}) if cannot else config
        """What changes begin with: the config, without what this GPU cannot do."""
        has_float8 = room.capability is not None and float8_problem(room.name, room.capability, torchao="any") is None
        self._savers = saving_levers(self.start, has_float8=has_float8)

    def that_fit(self, words: tuple[str, ...]) -> list[Candidate]:
        """Single changes and combinations after which the verdict is one of the `words`."""

        def is_enough(candidate: Candidate) -> bool:
            return self._word(candidate) in words

        if self.start != self._config and (able := self._try({})) and is_enough(able):
            return [able]
        found: list[Candidate] = []
        for effect in Effect:
            if len(best := _distinct(found)) == MOST_CHANGES and best[-1].price <= PRICE[effect]:
                break  # what is still to come costs more than all of these
            found += self._singles(effect, is_enough)
            if len(_distinct(found)) < MOST_CHANGES:
                found += self._combinations(effect, is_enough)
        return _distinct(found)

    def that_use_the_room(self) -> list[Candidate]:
        """Changes that make steps quicker while it still fits, the quickest first."""
        levers = spending_levers(self.start)

        def is_worth_it(candidate: Candidate) -> bool:
            return self.speed(candidate) > 1 + LEAST_GAIN and self._word(candidate) == "fits"

        plans = ({lever.name: n} for lever in levers for n in range(1, len(lever.notches) + 1))
        found = [one for plan in plans if (one := self._try(plan, levers)) and is_worth_it(one)]
        found.sort(key=_price)
        if found:
            together = found[0]
            for other in found[1:]:
                both = self._try({**other.plan, **together.plan}, levers)
                if both and both.price < together.price and is_worth_it(both):
                    together = both
            found.append(together)
        return _distinct(found)

    def smallest(self) -> Candidate | None:
        """The one with the least memory that can be had."""
        total = self._total
        plans = self._fullest(Effect.SHORTER, frozenset())
        smallest = min((one for plan in plans if (one := self._try(plan))), key=total, default=None)
        if smallest is None or math.isinf(least := total(smallest)):
            return None
        ways = self._simplest_ways(smallest, lambda one: total(one) <= least * (1 + AS_SMALL))
        return min(ways, key=_price)

    def needs(self, candidate: Candidate) -> Needs | None:
        """Its estimate; None where this model does not go that way."""
        return self._needs(candidate.config)

    def speed(self, candidate: Candidate) -> float:
        """Its tokens a second as a multiple of those at the start."""
        return candidate.speed / self._speed(self.start)

    def _word(self, candidate: Candidate) -> str:
        needs = self.needs(candidate)
        return judge(needs, self._room).word if needs else "unknown"

    def _total(self, candidate: Candidate) -> float:
        needs = self.needs(candidate)
        return needs.total_gib if needs else math.inf

    def _singles(self, effect: Effect, is_enough: _IsEnough) -> Iterator[Candidate]:
        """Of each lever with this effect the smallest notch that will do."""
        for lever in self._savers:
            notches = (self._try({lever.name: notch}) for notch in range(1, len(lever.notches) + 1))
            same = [one for one in notches if one and effects(self.start, one.config).worst == effect]
            if same and is_enough(same[-1]):
                yield next(one for one in same if is_enough(one))

    def _combinations(self, effect: Effect, is_enough: _IsEnough) -> Iterator[Candidate]:
        """The simplest combinations with at most this effect, each without the dearest lever of the one before."""
        banned: frozenset[str] = frozenset()
        for _ in range(1 + ALTERNATIVES):
            full = [one for plan in self._fullest(effect, banned) if (one := self._try(plan)) and is_enough(one)]
            if not full:
                return
            found = min((one for most in full for one in self._simplest_ways(most, is_enough)), key=_price)
            yield found
            banned |= {self._dearest_first(found)[0]}

    def _fullest(self, effect: Effect, banned: frozenset[str]) -> Iterator[Plan]:
        """All that is possible with at most this effect. Smaller passes and release hinder each other there."""
        plan = {lever.name: len(lever.notches) for lever in self._savers if lever.name not in banned}
        seen: list[Plan] = []
        for without in ((), ("release", "tiles"), ("batch",)):
            kept = self._within(effect, {name: notch for name, notch in plan.items() if name not in without})
            if kept and kept not in seen:
                seen.append(kept)
                yield kept

    def _within(self, effect: Effect, plan: Plan) -> Plan:
        """Without the levers that, on top of those before them, do more to the result or do not go with them."""
        kept: dict[str, int] = {}
        for name, notch in plan.items():
            config = changed(self.start, self._savers, {**kept, name: notch})
            if config is not None and effects(self.start, config).worst <= effect:
                kept[name] = notch
        return kept

    def _simplest_ways(self, candidate: Candidate, is_enough: _IsEnough) -> Iterator[Candidate]:
        """The same with each lever moved as little as will do: the dearest moved back first, else the cheapest."""
        order = self._dearest_first(candidate)
        found = self._simplest(candidate, order, is_enough)
        yield found
        if len(found.plan) > FEW_LEVERS:
            yield self._simplest(candidate, order[::-1], is_enough)

    def _simplest(self, candidate: Candidate, order: list[str], is_enough: _IsEnough) -> Candidate:
        """Moves levers back, one after another, as long as that is enough; what makes it cheaper stays."""
        for name in order:
            for notch in range(candidate.plan[name] - 1, -1, -1):
                less = self._try({**candidate.plan, name: notch} if notch else _without(candidate.plan, name))
                if less is None or less.price > candidate.price or not is_enough(less):
                    break
                candidate = less
        return candidate

    def _dearest_first(self, candidate: Candidate) -> list[str]:
        """Its levers by what each does to the result, then by the time it costs."""

        def cost(name: str) -> tuple[Effect, float]:
            less = self._try(_without(candidate.plan, name))
            if less is None:
                return Effect.SAME, 0.0
            return effects(less.config, candidate.config).worst, candidate.price - less.price

        return sorted(candidate.plan, key=cost, reverse=True)

    def _try(self, plan: Plan, levers: tuple[Lever, ...] | None = None) -> Candidate | None:
        """None where the keys do not go together, or nothing is changed."""
        config = changed(self.start, self._savers if levers is None else levers, plan)
        if config is None or not (keys := differences(self._config, config)):
            return None
        speed, done = self._speed(config), effects(self.start, config)
        time = math.log(self._speed(self.start) / speed)
        if done.worst > Effect.SAME and time < 0:
            time *= SPEED_WITH_AN_EFFECT
        price = time + sum(PRICE[effect] for effect, _ in done.found) + PRICE_OF_A_KEY * len(keys)
        return Candidate(plan, config, speed, price)


def _where_it_can_be(estimator: Estimator) -> Callable[[Config], Needs | None]:
    """None for a way to train that this model does not go: then the change is not proposed."""

    def estimate(config: Config) -> Needs | None:
        try:
            return estimator(config)
        except UserError:
            return None

    return estimate


def _price(candidate: Candidate) -> float:
    return candidate.price


def _without(plan: Plan, name: str) -> Plan:
    return {other: notch for other, notch in plan.items() if other != name}


def _distinct(candidates: Iterable[Candidate]) -> list[Candidate]:
    """The cheapest of each kind: none that moves only levers of a cheaper one, or all of them and others besides."""
    best: list[Candidate] = []
    for candidate in sorted(candidates, key=_price):
        if not any(one.levers <= candidate.levers or candidate.levers <= one.levers for one in best):
            best.append(candidate)
    return best[:MOST_CHANGES]

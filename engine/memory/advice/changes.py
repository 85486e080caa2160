"""The cheapest changes of a config that make it fit a GPU, or that use the room there is.

A change costs time, by the speed computed for it, and something of the result: nothing where the mathematics stay the
same, most where lines get shorter. Both are added up, and the cheapest changes come first.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from engine.config import Config
from engine.memory.advice.change_search import Candidate, Estimator, Search, Speed
from engine.memory.advice.change_words import Words, explain, explain_nothing
from engine.memory.advice.levers import differences
from engine.memory.advice.room import Room
from engine.memory.advice.verdict import Needs, judge

if TYPE_CHECKING:
    from transformers import PreTrainedModel

    from engine.memory.estimate.model_shape import ModelShape
    from engine.model.flops import Products


@dataclass(frozen=True, slots=True)
class Change:
    """Other values for some keys, and what they bring."""

    keys: Mapping[str, object]
    peak_gib: float
    """The estimated peak with them."""
    saves_gib: float
    """How much lower that is than without; negative where a change uses room."""
    speed: float
    """Tokens a second, as a multiple of those without: computed as in `engine.memory.advice.throughput`."""
    sentence: str


def cheapest_changes(
    config: Config, shape: ModelShape, room: Room | None, estimate: Needs, estimator: Estimator | None = None
) -> tuple[Change, ...]:
    """At most three changes, the cheapest first. `estimate` is that of `config`; without a GPU there are none.

    `estimator` is what made the estimate: `estimate_memory` unless given. Where nothing makes it fit there is one
    change, whose sentence says how far the smallest one is from it.
    """
    from engine.memory.advice.gpus import gpu_named
    from engine.memory.advice.throughput import throughput
    from engine.memory.estimate import estimate_memory
    from engine.model.flops import products_of

    gpu = room.gpu if room and room.gpu else gpu_named("H200")  # where the shares of its rate were measured

    @cache
    def work(model: PreTrainedModel) -> tuple[Products, int]:
        return products_of(model), sum(one.numel() for one in model.parameters() if one.requires_grad)

    def speed(new: Config) -> float:
        products, trained = work(shape.model_for(new))
        return throughput(products, new, trained, gpu).tok_s

    return find_changes(config, room, estimate, estimator or (lambda new: estimate_memory(new, shape)), speed)


def find_changes(
    config: Config, room: Room | None, estimate: Needs, estimator: Estimator, speed: Speed
) -> tuple[Change, ...]:
    """The same with `estimator` for the memory and `speed` for the tokens a second of a config."""
    if room is None:
        return ()
    search = Search(config, room, estimator, speed)

    def as_change(candidate: Candidate, words: Words = explain) -> Change:
        needs, factor = search.needs(candidate), search.speed(candidate)
        assert needs is not None, "what cannot be estimated is no candidate"
        return Change(
            keys=differences(config, candidate.config),
            peak_gib=needs.peak_gib,
            saves_gib=estimate.peak_gib - needs.peak_gib,
            speed=factor,
            sentence=words(config, candidate.config, estimate, needs, factor, room),
        )

    word = judge(estimate, room).word
    if word == "fits" and search.start == config:
        return tuple(as_change(found) for found in search.that_use_the_room())
    found = search.that_fit(("fits",))
    if not found and word == "does not fit":
        found = search.that_fit(("fits", "tight"))
        if not found and (smallest := search.smallest()):
            return (as_change(smallest, explain_nothing),)
    return tuple(as_change(one) for one in found)

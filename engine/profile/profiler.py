"""From a config to its profile: the estimate against a GPU, what to change, and what the run takes."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING

from engine.config import Config, Loaded
from engine.memory.advice.gpus import gpus
from engine.memory.advice.room import Room, room_of
from engine.memory.advice.verdict import Verdict, judge, what_it_cannot
from engine.profile.document import Fitting, Measured, Profile

if TYPE_CHECKING:
    from transformers import PreTrainedModel

    from engine.memory.advice.changes import Change
    from engine.memory.advice.work import RunLength, Work
    from engine.memory.estimate import Estimate
    from engine.memory.estimate.model_shape import ModelShape
    from engine.model.flops import Products
    from engine.profile.calibration import Calibration

LengthOf = Callable[[Config], "RunLength"]


@dataclass(frozen=True, slots=True)
class Wishes:
    """What is to be found out besides the estimate. `price` is that of an hour, in dollars."""

    room: Room | None
    why_no_room: str = ""
    changes: bool = True
    price: float | None = None
    measured: Measured | None = None
    is_calibrated: bool = True
    """Whether what was measured on this machine before may correct the estimate."""


def profile_of(
    loaded: Loaded, wishes: Wishes, length_of: LengthOf, between: Callable[[], None] = lambda: None
) -> Profile:
    """The profile of a config. Seconds for the first one of a model (torch is imported), then milliseconds.

    `between` is called again and again while changes are looked for, which may take seconds too.
    Raises UserError where the model has no shape that is known here, or cannot be trained so.
    """
    from engine.memory.estimate.model_shape import model_shape

    import_libraries()
    config, room = loaded.config, wishes.room
    shape = model_shape(config)
    known = _calibration(room) if wishes.is_calibrated else None
    estimate = _estimated(config, shape, known)
    return Profile(
        model=shape.name,
        config=str(loaded.path),
        room=room,
        why_no_room=wishes.why_no_room,
        estimate=estimate,
        verdict=_verdict(config, shape, estimate, room, known),
        changes=_changes(config, shape, estimate, room, known, between) if wishes.changes else (),
        work=_work(config, shape, estimate, room, known, length_of(config), wishes.price),
        sizes=_sizes(estimate) if room is None else (),
        measured=wishes.measured,
        price=wishes.price,
    )


def import_libraries() -> None:
    """What the first estimate would have to wait for, without the lines that libraries print for those who train."""
    from engine.model.quiet import quiet_import

    with _nothing_collected(), quiet_import():
        import transformers.modeling_utils  # noqa: F401
        from transformers.utils import logging

        import engine.memory.advice.work
        import engine.memory.estimate  # noqa: F401

    logging.set_verbosity_error()


@contextmanager
def _nothing_collected() -> Iterator[None]:
    """Imports leave nothing to collect; looking for it again and again takes a quarter of their time."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def _calibration(room: Room | None) -> Calibration | None:
    """What was measured on this very GPU before."""
    from engine.profile.calibration import calibration_of

    if room is None or room.index is None:
        return None
    return calibration_of(f"{room.name}, a slice of {room.total_gib:.0f} GiB" if room.is_slice else room.name)


def _estimated(config: Config, shape: ModelShape, known: Calibration | None) -> Estimate:
    from engine.memory.estimate import estimate_memory

    estimate = estimate_memory(config, shape)
    return estimate if known is None else known.applied(config, estimate)


def _verdict(
    config: Config, shape: ModelShape, estimate: Estimate, room: Room | None, known: Calibration | None
) -> Verdict:
    """Of this machine's own GPUs also whether main memory has room for what is offloaded."""
    from engine.profile.main_memory import main_memory_warnings

    verdict = judge(estimate, room, config)
    if room is None or room.index is None:
        return verdict
    beside = main_memory_warnings(config, estimate, lambda other: _estimated(other, shape, known))
    return replace(verdict, warnings=(*verdict.warnings, *beside))


def _changes(
    config: Config,
    shape: ModelShape,
    estimate: Estimate,
    room: Room | None,
    known: Calibration | None,
    between: Callable[[], None],
) -> tuple[Change, ...]:
    """Each judged by an estimate that was made in the same way."""
    from engine.memory.advice.changes import cheapest_changes

    def estimator(other: Config) -> Estimate:
        between()
        return _estimated(other, shape, known)

    return cheapest_changes(config, shape, room, estimate, estimator)


def _sizes(estimate: Estimate) -> tuple[Fitting, ...]:
    """Each GPU of the table, the smallest first, with nothing else on it."""
    table = sorted(gpus(), key=lambda gpu: gpu.memory_gib)
    return tuple(Fitting(gpu.name, gpu.memory_gib, judge(estimate, room_of(gpu)).word) for gpu in table)


def _work(
    config: Config,
    shape: ModelShape,
    estimate: Estimate,
    room: Room | None,
    known: Calibration | None,
    length: RunLength,
    price: float | None,
) -> Work:
    from engine.memory.advice.levers import with_values
    from engine.memory.advice.work import work_of

    gpu = room.gpu if room is not None else None
    if room is not None and what_it_cannot(config, room):  # as changes are compared: with what it can do
        config = with_values(config, {"memory.float8_training": False})
        length = replace(length, notes=(*length.notes, f"speed: without float8, which {room.name} cannot do"))
    speed = known.speed(config, estimate) if known is not None else None
    return work_of(config, _products(shape.model_for(config)), estimate.trained, length, gpu, speed, price)


@lru_cache(maxsize=8)
def _products(model: PreTrainedModel) -> Products:
    from engine.model.flops import products_of

    return products_of(model)

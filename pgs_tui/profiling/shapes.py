"""What the profiler's process answers (docs/json.md), as frozen values; memory in GiB. Unknown fields are skipped."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import Any

Json = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Holder:
    """A process of somebody else that holds memory of the GPU."""

    pid: int | None
    name: str
    gib: float

    @classmethod
    def of(cls, found: Json) -> Holder:
        pid = found.get("pid")
        return cls(None if pid is None else int(pid), str(found.get("name") or ""), float(found["gib"]))


@dataclass(frozen=True, slots=True)
class GpuRoom:
    """The GPU that is meant: how large it is and how much of it is free now."""

    name: str
    total: float
    free: float
    others: tuple[Holder, ...] = ()
    note: str = ""

    @classmethod
    def of(cls, found: Json) -> GpuRoom:
        total = float(found["total_gib"])
        free = _number(found.get("free_gib"))
        others = tuple(Holder.of(one) for one in found.get("others") or ())
        return cls(str(found["name"]), total, total if free is None else free, others, str(found.get("note") or ""))

    @property
    def held(self) -> float:
        """What others hold, or what is not free for another reason."""
        return max(self.total - self.free, 0.0)


@dataclass(frozen=True, slots=True)
class Phase:
    """A part of a step, and what its highest moment consists of."""

    name: str
    peak: float
    parts: Mapping[str, float]

    @classmethod
    def of(cls, found: Json) -> Phase:
        return cls(str(found["name"]), float(found["peak_gib"]), _amounts(found["parts"]))


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether it fits, in a word and in a sentence; `headroom` is negative where it does not."""

    word: str
    sentence: str
    headroom: float | None = None
    warnings: tuple[str, ...] = ()

    @classmethod
    def of(cls, found: Json) -> Verdict:
        return cls(
            str(found["word"]), str(found["sentence"]), _number(found.get("headroom_gib")), _texts(found, "warnings")
        )


@dataclass(frozen=True, slots=True)
class Change:
    """Keys of the config with other values, and what they would do: `saves` is negative where they use room, `speed` a
    multiple of the tokens a second without them."""

    keys: Mapping[str, Any]
    saves: float
    speed: float
    sentence: str

    @classmethod
    def of(cls, found: Json) -> Change:
        return cls(dict(found["keys"]), float(found["saves_gib"]), float(found["speed"]), str(found["sentence"]))


@dataclass(frozen=True, slots=True)
class Work:
    """What a step and the whole run take; None for what cannot be known."""

    tokens_per_step: float | None = None
    flops_per_step: float | None = None
    steps_per_epoch: float | None = None
    total_steps: float | None = None
    tok_s: float | None = None
    seconds_per_step: float | None = None
    seconds: float | None = None
    dollars: float | None = None
    assumptions: tuple[str, ...] = ()

    @classmethod
    def of(cls, found: Json) -> Work:
        numbers = {one.name: _number(found.get(one.name)) for one in fields(cls) if one.name != "assumptions"}
        return cls(**numbers, assumptions=_texts(found, "assumptions"))


@dataclass(frozen=True, slots=True)
class Measured:
    """The same on a real GPU: a few steps of the engine. `fits` is False where they ran out of memory."""

    peak: float | None
    reserved: float | None
    components: Mapping[str, float]
    fits: bool = True
    sentence: str = ""

    @classmethod
    def of(cls, found: Json) -> Measured:
        return cls(
            _number(found.get("peak_gib")),
            _number(found.get("reserved_gib")),
            _amounts(found.get("components") or {}),
            bool(found.get("fits", True)),
            str(found.get("sentence") or ""),
        )


@dataclass(frozen=True, slots=True)
class Fitting:
    """A GPU of the table, and whether the config fits it, in a word."""

    name: str
    memory: float
    word: str

    @classmethod
    def of(cls, found: Json) -> Fitting:
        return cls(str(found["name"]), float(found["memory_gib"]), str(found["word"]))


@dataclass(frozen=True, slots=True)
class Profile:
    """The estimate of one config on one GPU, or on none that is known.

    `peak` is what the tensors take at the worst moment, which lies in the phase `decides`; `reserved` what the
    allocator takes for it; `total` that and the GPU's context. `components` are the parts of that phase. Where no GPU
    is known, `sizes` are those that one could have, from the smallest on.
    """

    model: str
    gpu: GpuRoom | None
    peak: float
    reserved: float
    total: float
    decides: str
    phases: tuple[Phase, ...]
    components: Mapping[str, float]
    trained: int
    parameters: int
    verdict: Verdict
    changes: tuple[Change, ...] = ()
    assumptions: tuple[str, ...] = ()
    work: Work = Work()
    measured: Measured | None = None
    sizes: tuple[Fitting, ...] = ()

    @classmethod
    def of(cls, found: Json) -> Profile:
        gpu, measured = found.get("gpu"), found.get("measured")
        return cls(
            model=str(found["model"]),
            gpu=GpuRoom.of(gpu) if gpu else None,
            peak=float(found["peak_gib"]),
            reserved=float(found["reserved_gib"]),
            total=float(found["total_gib"]),
            decides=str(found["decides"]),
            phases=tuple(Phase.of(phase) for phase in found["phases"]),
            components=_amounts(found["components"]),
            trained=int(found["trained"]),
            parameters=int(found["parameters"]),
            verdict=Verdict.of(found["verdict"]),
            changes=tuple(Change.of(change) for change in found.get("changes") or ()),
            assumptions=_texts(found, "assumptions"),
            work=Work.of(found.get("work") or {}),
            measured=Measured.of(measured) if measured else None,
            sizes=tuple(Fitting.of(one) for one in found.get("sizes") or ()),
        )


@dataclass(frozen=True, slots=True)
class GpuChoice:
    """A GPU that can be asked about: one of the table, or a card of this machine."""

    name: str
    memory: float
    here: bool = False

    @classmethod
    def of(cls, found: Json) -> GpuChoice:
        return cls(str(found["name"]), float(found["memory_gib"]), bool(found.get("here")))


@dataclass(frozen=True, slots=True)
class Measuring:
    """How far the measurement is: idle, running, done, failed."""

    state: str
    what: str = ""
    done: int = 0
    total: int = 0
    result: Measured | None = None
    error: str = ""

    @classmethod
    def of(cls, found: Json) -> Measuring:
        result = found.get("result")
        return cls(
            str(found["state"]),
            str(found.get("what") or ""),
            int(found.get("done") or 0),
            int(found.get("total") or 0),
            Measured.of(result) if result else None,
            str(found.get("error") or ""),
        )

    @property
    def share(self) -> float | None:
        """How much of it is done, if that can be told."""
        return self.done / self.total if self.total else None


def gpu_choices(found: list[Json]) -> tuple[GpuChoice, ...]:
    """The GPUs to choose from, this machine's own first."""
    return tuple(GpuChoice.of(one) for one in found)


SHAPES: dict[str, Callable[[Any], Any]] = {
    "estimate": Profile.of,
    "gpus": gpu_choices,
    "measure": Measuring.of,
    "measuring": Measuring.of,
    "stop_measuring": Measuring.of,
}
"""The shape of every method's result."""


def _amounts(found: Json) -> dict[str, float]:
    return {str(name): float(amount) for name, amount in found.items() if amount is not None}


def _texts(found: Json, name: str) -> tuple[str, ...]:
    return tuple(str(text) for text in found.get(name) or ())


def _number(found: Any) -> float | None:
    return None if found is None else float(found)

"""What the inspector's process answers (docs/json.md), as frozen values. Unknown fields are skipped."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

Json = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class OpeningState:
    """What is being done before there are rows, and of how many bytes; 0 where there are none to count."""

    name: str
    done: int = 0
    total: int = 0

    @classmethod
    def of(cls, found: Json) -> OpeningState:
        return cls(str(found["name"]), int(found["done"]), int(found["total"]))

    @property
    def share(self) -> float | None:
        """How much of it is done, if that can be told."""
        return self.done / self.total if self.total else None


@dataclass(frozen=True, slots=True)
class Hello:
    """What is inspected. `limit` is `data.max_seq_length` in tokens."""

    config: str
    model: str
    limit: int
    rows: int

    @classmethod
    def of(cls, found: Json) -> Hello:
        return cls(str(found["config"]), str(found["model"]), int(found["limit"]), int(found["rows"]))


@dataclass(frozen=True, slots=True)
class Flag:
    """One finding. `count` and `rows` are those of the whole data set where it speaks of that."""

    code: str
    severity: str
    message: str
    count: int = 1
    rows: tuple[int, ...] = ()

    @classmethod
    def of(cls, found: Json) -> Flag:
        rows = tuple(int(row) for row in found.get("first_rows") or ())
        count = int(found.get("count", 1))
        return cls(str(found["code"]), str(found["severity"]), str(found.get("message") or ""), count, rows)


@dataclass(frozen=True, slots=True)
class AuditState:
    """The audit over all rows, as far as it has come. `roles`: tokens and trained tokens by role; `lengths`: rows by
    the length that they do not exceed; `fill`: the share of the packs' slots that holds tokens."""

    done: int = 0
    total: int = 0
    finished: bool = False
    flags: tuple[Flag, ...] = ()
    roles: tuple[tuple[str, int, int], ...] = ()
    lengths: tuple[tuple[int, int], ...] = ()
    fill: float | None = None
    error: str = ""

    @classmethod
    def of(cls, found: Json) -> AuditState:
        roles = found.get("roles") or {}
        return cls(
            done=int(found["done"]),
            total=int(found["total"]),
            finished=bool(found["finished"]),
            flags=tuple(Flag.of(flag) for flag in found.get("flags") or ()),
            roles=tuple((role, int(of["tokens"]), int(of["loss_tokens"])) for role, of in roles.items()),
            lengths=tuple((int(one["up_to"]), int(one["rows"])) for one in found.get("lengths") or ()),
            fill=_share(found.get("fill")),
            error=str(found.get("error") or ""),
        )


@dataclass(frozen=True, slots=True)
class RowSummary:
    """A row of the list. `num_tokens` is None until the audit has come there; `mean_loss` belongs to a spike."""

    row: int
    file: str
    line: int
    num_tokens: int | None
    loss_tokens: int | None
    severity: str | None = None
    flags: tuple[str, ...] = ()
    truncated: bool = False
    preview: str = ""
    mean_loss: float | None = None
    index: int | None = None

    @classmethod
    def of(cls, found: Json) -> RowSummary:
        return cls(
            row=int(found["row"]),
            file=str(found["file"]),
            line=int(found["line"]),
            num_tokens=found["num_tokens"],
            loss_tokens=found["loss_tokens"],
            severity=found.get("severity"),
            flags=tuple(found.get("flags") or ()),
            truncated=bool(found.get("truncated")),
            preview=str(found.get("preview") or "") or _worst(found.get("worst") or ()),
            mean_loss=_number(found.get("mean_loss")),
            index=found.get("index"),
        )


@dataclass(frozen=True, slots=True)
class RowsWindow:
    """Some of the rows that match, from the place `start` among them; `scanned` of `total` rows were looked at."""

    total: int
    matched: int
    scanned: int
    rows: tuple[RowSummary, ...]

    @classmethod
    def of(cls, found: Json) -> RowsWindow:
        rows = tuple(RowSummary.of(row) for row in found["rows"])
        return cls(int(found["total"]), int(found["matched"]), int(found.get("scanned", found["total"])), rows)


@dataclass(frozen=True, slots=True)
class Stretch:
    """Characters `start` up to `stop` of the text: whose they are, and why they are trained or not."""

    start: int
    stop: int
    turn: int | None
    role: str | None
    why: str
    loss: bool


@dataclass(frozen=True, slots=True)
class Sample:
    """The text of a row, before it is tokenized. A row that cannot be used has no text and a flag that says why."""

    row: int
    file: str
    line: int
    text: str
    stretches: tuple[Stretch, ...]
    flags: tuple[Flag, ...] = ()

    @classmethod
    def of(cls, found: Json) -> Sample:
        stretches = tuple(Stretch(*stretch) for stretch in found["segments"])
        flags = tuple(Flag.of(flag) for flag in found.get("flags") or ())
        return cls(int(found["row"]), str(found["file"]), int(found["line"]), str(found["text"]), stretches, flags)


@dataclass(frozen=True, slots=True)
class Tokens:
    """A window of the tokens, and what all of them together say. `starts` are places in the text."""

    row: int
    num_tokens: int
    loss_tokens: int
    kept_stop: int | None
    lit: tuple[tuple[int, int], ...]
    start: int
    ids: tuple[int, ...]
    starts: tuple[int, ...]
    flags: tuple[Flag, ...] = ()
    losses: tuple[float | None, ...] = ()

    @classmethod
    def of(cls, found: Json) -> Tokens:
        return cls(
            row=int(found["row"]),
            num_tokens=int(found["num_tokens"]),
            loss_tokens=int(found["loss_tokens"]),
            kept_stop=found.get("kept_stop"),
            lit=tuple((int(start), int(stop)) for start, stop in found["lit"]),
            start=int(found["start"]),
            ids=tuple(found["ids"]),
            starts=tuple(found["starts"]),
            flags=tuple(Flag.of(flag) for flag in found.get("flags") or ()),
            losses=tuple(_number(loss) for loss in found.get("losses") or ()),
        )


@dataclass(frozen=True, slots=True)
class TokenFacts:
    """One token in full. `octets` are its own bytes; `source` names the field of the turn that it came from."""

    position: int
    id: int
    octets: bytes
    loss: bool
    turn: int | None
    role: str | None
    why: str
    source: str = ""

    @classmethod
    def of(cls, found: Json) -> TokenFacts:
        source = found.get("source") or {}
        return cls(
            position=int(found["position"]),
            id=int(found["id"]),
            octets=bytes.fromhex(found["bytes"]),
            loss=bool(found["loss"]),
            turn=found.get("turn"),
            role=found.get("role"),
            why=str(found.get("why") or ""),
            source=str(source.get("field") or ""),
        )


@dataclass(frozen=True, slots=True)
class Spike:
    """A recorded batch, its worst row first."""

    step: int
    loss: float | None
    grad_norm: float | None
    rows: tuple[RowSummary, ...]

    @classmethod
    def of(cls, found: Json) -> Spike:
        rows = tuple(RowSummary.of(row) for row in found["rows"])
        return cls(int(found["step"]), _number(found["loss"]), _number(found["grad_norm"]), rows)


@dataclass(frozen=True, slots=True)
class SpikeSample:
    """A row of a recorded batch: its text, and its tokens with the loss of each."""

    sample: Sample
    tokens: Tokens

    @classmethod
    def of(cls, found: Json) -> SpikeSample:
        return cls(Sample.of(found), Tokens.of(found))


@dataclass(frozen=True, slots=True)
class Found:
    """The next row that matches, and its place among those that match; None where there is none so far."""

    row: int | None
    position: int | None

    @classmethod
    def of(cls, found: Json) -> Found:
        return cls(found["row"], found["position"])


SHAPES: dict[str, Callable[[Json], Any]] = {
    "opening": OpeningState.of,
    "hello": Hello.of,
    "audit": AuditState.of,
    "rows": RowsWindow.of,
    "next": Found.of,
    "sample": Sample.of,
    "tokens": Tokens.of,
    "token": TokenFacts.of,
    "spike": Spike.of,
    "spike_sample": SpikeSample.of,
}
"""The shape of every method's result."""


def _worst(tokens: Iterable[Json]) -> str:
    """The tokens with the highest losses of a recorded row, which say most about it."""
    return "  ".join(f"{token['text']!s} {float(token['loss']):.1f}" for token in tokens)


def _number(found: Any) -> float | None:
    """Not-finite numbers are written as text: `NaN`, `Infinity`."""
    return None if found is None else float(found)


def _share(found: Any) -> float | None:
    if isinstance(found, Mapping):
        found = found.get("share")
    return _number(found)

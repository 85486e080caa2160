"""What a key takes, read off its type in the schema and put into words."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cache
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from annotated_types import Ge, Gt, Le, Lt
from pydantic.fields import FieldInfo

from engine.config.schema import INFINITY_IS_NONE, SECTIONS, Section

_COUNT_WORDS = {2: "two", 3: "three"}


@dataclass(frozen=True, slots=True)
class Bounds:
    """The range of a number; None is no bound on that side."""

    above: float | None = None
    least: float | None = None
    below: float | None = None
    most: float | None = None

    def contain(self, value: float) -> bool:
        """Whether the number lies inside; NaN lies nowhere."""
        return (
            value == value
            and (self.above is None or value > self.above)
            and (self.least is None or value >= self.least)
            and (self.below is None or value < self.below)
            and (self.most is None or value <= self.most)
        )

    def __str__(self) -> str:
        sides = (("above", self.above), ("at least", self.least), ("below", self.below), ("at most", self.most))
        return " and ".join(f"{word} {limit}" for word, limit in sides if limit is not None)


@dataclass(frozen=True, slots=True)
class Kind:
    """What may be written for a key: any of the alternatives that are switched on."""

    choices: tuple[str, ...] = ()
    boolean: bool = False
    whole: bool = False
    number: bool = False
    text: bool = False
    nullable: bool = False
    infinity_is_none: bool = False
    item: Kind | None = None
    section: type[Section] | None = None
    length: int | None = None
    bounds: Bounds = Bounds()

    def __str__(self) -> str:
        parts = list(self._alternatives())
        return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} or {parts[-1]}"

    def _alternatives(self) -> Iterable[str]:
        yield from self.choices
        if self.boolean:
            yield from ("true", "false")
        if self.whole or self.number:
            noun = "a number" if self.number else "a whole number"
            yield f"{noun} {self.bounds}".rstrip()
        if self.text:
            yield "a text"
        if self.item and self.length:
            yield f"a list of {_COUNT_WORDS.get(self.length, self.length)} numbers {self.item.bounds}"
        elif self.item and self.item.section:
            yield f"a list of mappings, each with the keys {', '.join(self.item.section.model_fields)}"
        elif self.item:
            yield from ("a text", "a list")
        if self.nullable:
            yield "null"


@cache
def kinds() -> dict[str, Kind]:
    """The kind of every key, by its full path, in the order of the schema."""
    return {
        f"{section}.{name}": kind_of(field)
        for section, model in SECTIONS.items()
        for name, field in model.model_fields.items()
    }


def kind_of(field: FieldInfo) -> Kind:
    """The kind of one field of the schema."""
    kind = _from_annotation(field.annotation, field.metadata)
    return replace(kind, infinity_is_none=INFINITY_IS_NONE in field.metadata)


def _from_annotation(annotation: Any, metadata: Iterable[Any] = ()) -> Kind:
    origin = get_origin(annotation)
    if origin is Annotated:
        inner, *extra = get_args(annotation)
        return _from_annotation(inner, [*metadata, *extra])
    if origin in (Union, UnionType):
        return _merge(_from_annotation(part) for part in get_args(annotation))
    if origin is Literal:
        return Kind(choices=get_args(annotation))
    if origin is tuple:
        first, *rest = get_args(annotation)
        length = None if rest == [Ellipsis] else 1 + len(rest)
        return Kind(item=_from_annotation(first), length=length)
    if isinstance(annotation, type) and issubclass(annotation, Section):
        return Kind(section=annotation)
    bounds = _bounds_of(metadata)
    simple = {
        bool: Kind(boolean=True),
        int: Kind(whole=True, bounds=bounds),
        float: Kind(number=True, bounds=bounds),
        str: Kind(text=True),
        NoneType: Kind(nullable=True),
    }
    return simple[annotation]


def _merge(kinds: Iterable[Kind]) -> Kind:
    merged = Kind()
    for kind in kinds:
        changes = {
            name: value for name in Kind.__dataclass_fields__ if (value := getattr(kind, name)) != _NOTHING[name]
        }
        merged = replace(merged, **changes)
    return merged


def _bounds_of(metadata: Iterable[Any]) -> Bounds:
    found: dict[str, float] = {}
    for item in metadata:
        for limit in getattr(item, "metadata", (item,)):
            match limit:
                case Gt(gt=int() | float() as value):
                    found["above"] = value
                case Ge(ge=int() | float() as value):
                    found["least"] = value
                case Lt(lt=int() | float() as value):
                    found["below"] = value
                case Le(le=int() | float() as value):
                    found["most"] = value
                case _:
                    pass
    return Bounds(**found)


_NOTHING = {name: getattr(Kind(), name) for name in Kind.__dataclass_fields__}

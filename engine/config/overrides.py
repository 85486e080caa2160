"""Reads overrides from the command line: `--train.learning_rate 1e-5`, `--data.packing=false`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from engine.config.errors import ConfigError, Note, Place, Problem
from engine.config.kinds import kinds
from engine.config.nearest import nearest_key
from engine.config.nodes import Node, Scalar
from engine.config.yaml_source import parse_value

_FLAG = "--"
_STARTS_OF_YAML = ("[", "{", '"', "'")


@dataclass(frozen=True, slots=True)
class Overrides:
    """The values of the known flags, by key, in the order given; and what is wrong with the rest."""

    values: dict[str, Node]
    problems: tuple[Problem, ...]
    notes: tuple[Note, ...]


def read_overrides(arguments: Sequence[str]) -> Overrides:
    """Reads arguments such as `["--train.learning_rate", "1e-5", "--data.packing=false"]`.

    A value follows the rules of YAML. A flag given twice counts with its last value, with a note.
    """
    values: dict[str, Node] = {}
    problems: list[Problem] = []
    notes: list[Note] = []
    waiting = list(arguments)
    while waiting:
        argument = waiting.pop(0)
        flag, equals, value = argument.partition("=")
        place = Place(flag)
        key = flag.removeprefix(_FLAG)
        if not flag.startswith(_FLAG) or not key:
            allowed = "--section.key value"
            problems.append(Problem("", "this is not a flag", found=argument, allowed=allowed, place=place))
            continue
        if not equals:
            if not waiting or waiting[0].startswith(_FLAG):
                problems.append(_problem_without_value(key, place))
                continue
            value = waiting.pop(0)
        if key not in kinds():
            problems.append(_unknown_flag(key, place))
            continue
        if key in values:
            notes.append(Note(key, f"given twice, the last value counts: {value}", place))
        try:
            values[key] = read_value_of_flag(value, place)
        except ConfigError as error:
            problems += (Problem(key, problem.reason, advice=problem.advice, place=place) for problem in error.problems)
    return Overrides(values, tuple(problems), tuple(notes))


def read_value_of_flag(text: str, place: Place) -> Node:
    """One value; lists, mappings and quotes are YAML, anything else is the plain text as it stands."""
    text = text.strip()
    if text.startswith(_STARTS_OF_YAML):
        return parse_value(text, place.source)
    return Scalar(text, quoted=False, place=place)


def _problem_without_value(key: str, place: Place) -> Problem:
    if key not in kinds():
        return _unknown_flag(key, place)
    return Problem(key, "a value must follow", allowed=str(kinds()[key]), place=place)


def _unknown_flag(key: str, place: Place) -> Problem:
    nearest = nearest_key(key)
    if nearest == key:
        return Problem(key, "this is a section; a flag sets one key of it", allowed=f"--{key}.key value", place=place)
    allowed = None if nearest else "--section.key value, with a key of the config"
    return Problem(key, "unknown key", found=key, allowed=allowed, nearest=nearest and _FLAG + nearest, place=place)

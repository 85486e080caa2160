"""Jinja for watched strings: nothing may look into a string of the data past its methods."""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection
from types import MethodType
from typing import Any

from jinja2 import nodes
from jinja2.compiler import Frame, operators
from jinja2.runtime import Context, Macro

from engine.data.template.environment import TemplateDict, TemplateNamespace, TracedCodeGenerator, TracedEnvironment
from engine.data.template.traced import TracedStr
from engine.data.template.watched import Haystack, UnwatchableError, holds_watched

_SCOPES = ("_loop_vars", "_block_vars")
"""What jinja passes along with each call, for functions that ask for the context."""

_HARMLESS_FILTERS = {"trim", "string", "safe", "default", "d", "length", "count", "first", "last", "list", "items"}
_HARMLESS_FILTERS |= {"join", "upper", "lower"}
"""Filters that use a string by its methods alone, which are watched."""

_HARMLESS_TESTS = {"string", "defined", "undefined", "none", "mapping", "boolean", "number", "integer", "float"}
_HARMLESS_TESTS |= {"true", "false", "eq", "equalto", "==", "ne", "!="}

_TRUE_OF_ANY_STRING = {"sequence", "iterable"}
"""Tests that would try out what a string can do, although that is the same for every string."""


class WatchedCodeGenerator(TracedCodeGenerator):
    """Compiles `a in b` so that a plain string `b` does not look into `a` unseen."""

    def visit_Operand(self, node: nodes.Operand, frame: Frame) -> None:  # noqa: N802 (jinja looks it up by this name)
        if node.op not in ("in", "notin"):
            super().visit_Operand(node, frame)
            return
        self.write(f" {operators[node.op]} environment.haystack(")
        self.visit(node.expr, frame)
        self.write(")")


class WatchedEnvironment(TracedEnvironment):
    """Lets a template do what the watch can describe, and raises `UnwatchableError` at anything else."""

    code_generator_class = WatchedCodeGenerator

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        of_strings = {name: _true_of_strings(self.tests[name]) for name in _TRUE_OF_ANY_STRING}
        self.tests = _with_closed(self.tests, _HARMLESS_TESTS) | of_strings

    def from_string(self, *args: Any, **kwargs: Any) -> Any:
        self.filters = _with_closed(self.filters, _HARMLESS_FILTERS)
        return super().from_string(*args, **kwargs)

    def haystack(self, value: Any) -> Any:
        """What `in` looks through."""
        return Haystack(value) if type(value) in (str, TracedStr) else value

    def getitem(self, obj: Any, argument: Any) -> Any:
        if holds_watched(argument):  # as a key, or as the name of an attribute
            raise UnwatchableError("[]")
        return super().getitem(obj, argument)

    def call(__self, __context: Context, __obj: Any, *args: Any, **kwargs: Any) -> Any:  # noqa: N805 (as in jinja)
        given = [*args, *(value for name, value in kwargs.items() if name not in _SCOPES)]
        if not _takes_anything(__obj) and holds_watched(given):
            raise UnwatchableError(repr(__obj))
        return super().call(__context, __obj, *args, **kwargs)

    def call_binop(self, context: Context, operator: str, left: Any, right: Any) -> Any:
        if holds_watched(left) or holds_watched(right):
            raise UnwatchableError(operator)
        return super().call_binop(context, operator, left, right)


def _takes_anything(function: Any) -> bool:
    """Macros are template code, which is watched; the others put strings together or away."""
    if isinstance(function, Macro | TemplateDict) or function is TemplateNamespace:
        return True
    is_method = isinstance(function, MethodType) and isinstance(function.__self__, TracedStr)
    return is_method and (function.__name__ == "join" or function.__self__.is_watched)


def _true_of_strings(test: Any) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, str) or bool(test(value))


def _with_closed(functions: Any, harmless: Collection[str]) -> Any:
    """The functions by name, all but the harmless ones closed."""
    return {name: function if name in harmless else _closed(function) for name, function in functions.items()}


def _closed(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function for everything but strings of the data."""

    @functools.wraps(function)
    def closed(*args: Any, **kwargs: Any) -> Any:
        if holds_watched(args) or holds_watched(kwargs):
            raise UnwatchableError(getattr(function, "__name__", "filter"))
        return function(*args, **kwargs)

    return closed

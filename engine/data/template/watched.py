"""Strings that watch what a chat template asks of the data, so that its work for one chat can be reused for the next.

Most templates only join the data's strings with text of their own, after a few questions: is there any, does it begin
with a tool tag, has it a think tag, is there white space to strip. A `WatchedStr` answers and takes note. Another chat
with the same roles and keys whose strings give the same answers takes the same way through the template, so its text
is made of the same pieces. Whatever else a template does with a string of the data (its length, its characters, any
filter or function not known to be harmless) raises `UnwatchableError`, and the chat is rendered the long way.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Never

from jinja2 import Undefined
from jinja2.environment import Environment
from jinja2.nodes import EvalContext
from jinja2.runtime import Context, Macro

from engine.data.template.traced import ROLE, Origin, Run, TracedStr

QUESTIONS = ("__contains__", "__eq__", "__ne__", "startswith", "endswith", "find", "count", "isspace", "isdigit")
"""Methods whose answer is a guard: a chat that gives the same answer goes the same way."""
CHANGES = ("strip", "lstrip", "rstrip", "removeprefix", "removesuffix")
"""Methods that are a guard where they change nothing; a changed string is not followed."""
CUTS = ("split", "rsplit", "partition", "rpartition", "replace")
"""Methods that are a guard where what they look for is not there."""


class UnwatchableError(Exception):
    """The template does something with the data that no guard describes."""


class Guard(NamedTuple):
    """`str.<method>(text, *arguments) == answer` for the string under `field` of a turn; both as in `Origin`."""

    turn: int
    field: str
    method: Callable[..., Any]
    arguments: tuple[Any, ...]
    answer: Any

    def holds(self, text: str) -> bool:
        """Whether another string gives the same answer."""
        return bool(self.method(text, *self.arguments) == self.answer)


@dataclass(slots=True)
class Watch:
    """The questions that a rendering asked, each once and in order.

    `is_lost` after a use that no guard describes: jinja's own functions catch errors, so raising one is not enough.
    """

    guards: dict[Guard, None] = field(default_factory=dict)
    is_lost: bool = False

    def string(self, text: str, origin: Origin) -> TracedStr:
        """A string of the data that is watched. Names of roles are not: chats that share a plan have the same."""
        if origin.field == ROLE:
            return TracedStr.from_data(text, origin)
        return WatchedStr.watched(text, (Run(len(text), origin, 0),) if text else (), self, origin)

    def lose(self, use: str) -> Never:
        """Give up on this rendering."""
        self.is_lost = True
        raise UnwatchableError(use)


class WatchedStr(TracedStr):
    """A traced string whose every use is noted or refused. Joining is free: it depends on no character."""

    is_watched = True
    _watch: Watch
    _source: Origin | None  # where the whole string stands in the data; None for strings joined from several

    @classmethod
    def watched(cls, text: str, runs: Iterable[Run], watch: Watch, source: Origin | None) -> WatchedStr:
        """`text` with its origins."""
        made = str.__new__(cls, text)
        made._runs = tuple(runs)
        made._watch = watch
        made._source = source
        return made

    def joined(self, text: str, runs: Iterable[Run]) -> WatchedStr:
        """A string with this one in it; with nothing else in it, it is still this one."""
        runs = tuple(runs)
        return WatchedStr.watched(text, runs, self._watch, self._source if runs == self._runs else None)

    def __str__(self) -> str:
        return self

    def __bool__(self) -> bool:
        return not self._answer("__eq__", ("",))

    def _ask(self, name: str, arguments: tuple[Any, ...]) -> Any:
        """The answer of a question, which may be anything that says little enough to be met again."""
        answer = self._answer(name, arguments)
        if answer is not NotImplemented and answer not in (True, False, -1):
            self._watch.lose(name)
        return answer

    def _unchanged(self, name: str, arguments: tuple[Any, ...]) -> WatchedStr:
        plain = str.__getitem__(self, slice(None))
        if any(map(holds_watched, arguments)) or getattr(str, name)(plain, *arguments) != plain:
            self._watch.lose(name)
        if not self._is_known():
            self._note(_UNCHANGED[name], arguments, True)
        return self

    def _uncut(self, name: str, arguments: tuple[Any, ...]) -> Any:
        if not arguments or arguments[0] is None or self._answer("__contains__", arguments[:1]):
            self._watch.lose(name)
        if name == "replace":
            return self
        if name in ("split", "rsplit"):
            return [self]
        return (self, "", "") if name == "partition" else ("", "", self)

    def _answer(self, name: str, arguments: tuple[Any, ...]) -> Any:
        method = getattr(str, name)
        if any(map(holds_watched, arguments)):
            self._watch.lose(name)
        arguments = tuple(str.__getitem__(a, slice(None)) if isinstance(a, str) else a for a in arguments)
        answer = method(str.__getitem__(self, slice(None)), *arguments)
        if not self._is_known():
            self._note(method, arguments, answer)
        return answer

    def _is_known(self) -> bool:
        """Made of the template's own text and names of roles, which every chat of one shape has in common."""
        return all(run.origin is None or run.origin.field == ROLE for run in self._runs) and (
            self._source is None or self._source.field == ROLE
        )

    def _note(self, method: Callable[..., Any], arguments: tuple[Any, ...], answer: Any) -> None:
        if self._source is None or self._source.turn is None:
            self._watch.lose(method.__name__)
        try:
            self._watch.guards[Guard(self._source.turn, self._source.field, method, arguments, answer)] = None
        except TypeError:  # arguments that cannot be told apart by their hash
            self._watch.lose(method.__name__)


def _refuse(name: str) -> Callable[..., Never]:
    def refused(self: WatchedStr, *_: Any, **__: Any) -> Never:
        self._watch.lose(name)

    return refused


def _plain_call(kind: Callable[[WatchedStr, str, tuple[Any, ...]], Any], name: str) -> Callable[..., Any]:
    def call(self: WatchedStr, *arguments: Any) -> Any:
        return kind(self, name, arguments)

    return call


def _unchanged_by(name: str) -> Callable[..., bool]:
    method = getattr(str, name)

    def is_unchanged(text: str, *arguments: Any) -> bool:
        return bool(method(text, *arguments) == text)

    return is_unchanged


_UNCHANGED = {name: _unchanged_by(name) for name in CHANGES}
_FREE = {"__new__", "__init__", "__class__", "__getattribute__", "__setattr__", "__delattr__", "__doc__", "__dir__"}
_FREE |= {"__str__", "__add__", "__init_subclass__", "__subclasshook__", "__reduce__", "__reduce_ex__"}
_FREE |= {"__getnewargs__", "__getstate__"}

# every method that str has, or will have in a later Python: what no line above lets through is refused
for _name in dir(str):
    if _name in QUESTIONS:
        setattr(WatchedStr, _name, _plain_call(WatchedStr._ask, _name))
    elif _name in CHANGES:
        setattr(WatchedStr, _name, _plain_call(WatchedStr._unchanged, _name))
    elif _name in CUTS:
        setattr(WatchedStr, _name, _plain_call(WatchedStr._uncut, _name))
    elif _name not in _FREE:
        setattr(WatchedStr, _name, _refuse(_name))


class Haystack:
    """What a plain string is to `in`: looking for a string of the data in it depends on that string."""

    def __init__(self, text: str) -> None:
        self._text = text

    def __contains__(self, item: Any) -> bool:
        if isinstance(item, WatchedStr) and not item._is_known():
            item._watch.lose("in")
        return str.__contains__(self._text, item)


def holds_watched(value: Any) -> bool:
    """Whether a string of the data is in there; true of anything that cannot be looked into."""
    if isinstance(value, WatchedStr):
        return not value._is_known()
    if value is None or isinstance(value, str | bool | int | float | Undefined):
        return False
    if isinstance(value, Environment | Context | EvalContext | Macro):  # the template itself, and not what it works on
        return False
    if isinstance(value, Mapping):
        return any(holds_watched(item) for pair in value.items() for item in pair)
    if isinstance(value, list | tuple):
        return any(map(holds_watched, value))
    return True
